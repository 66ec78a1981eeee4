"""A pipeline as jobs: what waits for what, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltpf.submit import PipelineConfig, jobs, preview, submit

FOLDER = Path(__file__).parents[2] / "slurm"


def pipeline(root: Path, shards: int = 2) -> PipelineConfig:
    return PipelineConfig.model_validate(
        {
            "output_dir": root,
            "sbatch": ["--partition=p"],
            "generate": {"config": Path("g.yaml"), "shards": shards, "arguments": ["--seed=7"]},
            "train": {"config": Path("t.yaml"), "sbatch": ["--gres=gpu:8"]},
            "evaluate": {"config": Path("e.yaml"), "models": {"base": "m", "dpo": "r/dpo"}},
        }
    )


def finish_run(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    start = {"finished": "2026-01-01T00:00:00Z"}
    (folder / "manifest.json").write_text(json.dumps({"format": "rltpf run", "starts": [start]}))


def finish_training(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"finished": true}')


def submitted(config: PipelineConfig) -> tuple[list[str], list[str]]:
    """The commands that are started, each answered with the next number from 11, and the lines that are said."""
    commands: list[str] = []

    def start(command: list[str]) -> str:
        commands.append(" ".join(command))
        return f"{10 + len(commands)};cluster\n"

    return commands, submit(jobs(config), Path("slurm"), start)


def test_each_job_waits_for_the_one_before(tmp_path: Path) -> None:
    commands, lines = submitted(pipeline(Path("r")))
    wait = "--kill-on-invalid-dep=yes --dependency=afterok:"
    assert commands == [
        "sbatch --parsable --partition=p --array=0-1 slurm/generate.sbatch --config g.yaml --output_dir r/data "
        "--seed=7",
        f"sbatch --parsable {wait}11 --partition=p slurm/merge.sbatch r/data",
        f"sbatch --parsable {wait}12 --partition=p --gres=gpu:8 slurm/train.sbatch rltpf --config t.yaml "
        "--dataset_name r/data --output_dir r --variant rltpf",
        f"sbatch --parsable {wait}13 --partition=p --array=0-1 slurm/evaluate.sbatch r/eval base=m dpo=r/dpo "
        "-- --config e.yaml",
        f"sbatch --parsable {wait}14 --partition=p slurm/report.sbatch r",
    ]
    assert lines[1] == f"merge: job 12: {commands[1]}"


def test_one_shard_is_no_array_and_needs_no_joining() -> None:
    commands, _ = submitted(pipeline(Path("r"), shards=1))
    assert [command.split(".sbatch")[0].split("/")[-1] for command in commands] == [
        "generate",
        "train",
        "evaluate",
        "report",
    ]
    assert "--array" not in commands[0]


def test_what_is_finished_is_left_out(tmp_path: Path) -> None:
    finish_run(tmp_path / "data" / "shards" / "0-of-2")
    assert len(submitted(pipeline(tmp_path))[0]) == 5
    finish_run(tmp_path / "data" / "shards" / "1-of-2")
    commands, lines = submitted(pipeline(tmp_path))
    assert lines[0] == "generate: is finished, not submitted"
    assert commands[0] == f"sbatch --parsable --partition=p slurm/merge.sbatch {tmp_path}/data"
    finish_run(tmp_path / "data")
    finish_training(tmp_path / "sft")
    assert submitted(pipeline(tmp_path))[0][0].startswith("sbatch --parsable --partition=p --gres=gpu:8 slurm/train")
    finish_training(tmp_path / "dpo")
    finish_run(tmp_path / "eval" / "base")
    commands, _ = submitted(pipeline(tmp_path))
    assert "--array=0-0 slurm/evaluate.sbatch" in commands[0]
    assert "base=m" not in commands[0]
    finish_run(tmp_path / "eval" / "dpo")
    assert len(submitted(pipeline(tmp_path))[0]) == 1
    (tmp_path / "report.md").touch()
    assert submitted(pipeline(tmp_path)) == (
        [],
        [f"{stage}: is finished, not submitted" for stage in ("generate", "merge", "train", "evaluate", "report")],
    )


@pytest.mark.parametrize("name", ["generate", "merge", "train", "evaluate", "report"])
def test_the_preview_has_the_commands_and_the_files(name: str) -> None:
    text = preview(jobs(pipeline(Path("r"))), FOLDER)
    assert (
        "merge: job $MERGE_JOB: sbatch --parsable --kill-on-invalid-dep=yes '--dependency=afterok:$GENERATE_JOB'"
        in text
    )
    assert f"\n== {FOLDER}/{name}.sbatch\n{(FOLDER / f'{name}.sbatch').read_text()}" in text
