"""SFT, then DPO as one job: its config, its stages, and that it goes on where it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from training_rows import dpo_row, kto_row, sft_row, write_rows

from rltpf.errors import InputError
from rltpf.train import rltpf
from rltpf.train.job import examine, read_job

ROOT = Path(__file__).parents[3]


def stages(*argv: str) -> dict[str, dict[str, Any]]:
    return {Path(options.get("output_dir")).name: options.values for options in read_job(argv)}


def faults(*argv: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read_job(argv)
    return list(error.value.faults)


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A job with a recipe for SFT, in a file."""
    (tmp_path / "sft.yaml").write_text("learning_rate: 1e-3\nseed: 1\nlora_r: 4\noutput_dir: x\ndataset_name: y\n")
    path = tmp_path / "job.yaml"
    path.write_text(
        f"model_name_or_path: m\noutput_dir: out\nseed: 2\nuse_peft: true\n"
        f"sft: {{config: {tmp_path}/sft.yaml, dataset_name: s.jsonl, lora_r: 16}}\n"
        "sft_all: {dataset_name: u.jsonl}\n"
        "dpo: {dataset_name: d.jsonl, beta: 0.2}\n"
    )
    return str(path)


def test_dpo_goes_on_from_the_adapter_of_the_job(config: str) -> None:
    assert stages("--config", config, "--dpo.beta", "0.3", "--max_length=64") == {
        "sft": {
            "model_name_or_path": "m", "output_dir": "out/sft", "dataset_name": "s.jsonl", "learning_rate": 1e-3,
            "seed": 2, "use_peft": True, "lora_r": 16, "max_length": 64,
        },
        "dpo": {
            "model_name_or_path": "m", "output_dir": "out/dpo", "dataset_name": "d.jsonl", "beta": 0.3, "seed": 2,
            "adapter_name_or_path": "out/sft", "max_length": 64,
        },
    }  # fmt: skip


def test_dpo_goes_on_from_the_whole_model_without_lora(config: str) -> None:
    dpo = stages("--config", config, "--use_peft", "false")["dpo"]
    assert dpo["model_name_or_path"] == "out/sft"
    assert "adapter_name_or_path" not in dpo


def test_ablations_are_one_flag(config: str) -> None:
    assert list(stages("--config", config, "--variant", "sft_verified")) == ["sft"]
    everything = stages("--config", config, "--variant", "sft_all")
    verified = stages("--config", config)["sft"]
    assert everything == {"sft_all": {**verified, "output_dir": "out/sft_all", "dataset_name": "u.jsonl"}}


def test_the_folder_of_a_generate_run_serves_every_stage(tmp_path: Path) -> None:
    base = ["--model_name_or_path", "m", "--output_dir", "o", "--dataset_name", str(tmp_path)]
    assert {name: values["dataset_name"] for name, values in stages(*base).items()} == {
        "sft": f"{tmp_path}/sft.jsonl",
        "dpo": f"{tmp_path}/dpo.jsonl",
    }
    assert stages(*base, "--variant", "sft_all")["sft_all"]["dataset_name"] == f"{tmp_path}/unpaired.jsonl"
    assert faults(*base[:4], "--dataset_name", "d.jsonl") == [
        "dataset_name d.jsonl: is no folder: give the output_dir of `rltpf generate`, or a data set to each stage "
        "(--sft.dataset_name, --dpo.dataset_name)"
    ]


def test_the_data_set_folder_of_a_generate_run_serves_too(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text("{}")
    argv = ["--model_name_or_path", "m", "--output_dir", "o", "--dataset_name", str(tmp_path), "--variant", "sft_all"]
    assert stages(*argv)["sft_all"]["dataset_name"] == f"{tmp_path}/unpaired"


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("learning_rat: 1\nbeta: 0.1\nvariant: dpo\nsft: {beta: 1, output_dir: o}\ndpo: [1]\n")
    assert faults(
        "--config", str(path), "--foo.seed", "1", "--dpo.seed", "x", "--dpo.bet", "1", "--resume_from_checkpoint", "c"
    ) == [
        f"{path}: key `dpo` must map options of that stage to values",
        "argument `foo.seed` is unknown: the sections are sft, sft_all, dpo",
        f"{path}: key `learning_rat` is unknown: did you mean `learning_rate`?",
        f"{path}: key `beta` is an option of DPO alone: write it into the section `dpo`",
        f"{path}: key `variant`: 'dpo' is none of rltpf, sft_verified, sft_all",
        f"{path}: key `sft.beta` is unknown: TRL's SFTConfig has no such option",
        f"{path}: key `sft.output_dir`: the job decides it, leave it out",
        "argument `resume_from_checkpoint` is of one stage: write it into its section, such as "
        "`sft.resume_from_checkpoint`",
        "argument `dpo.seed`: 'x' does not fit: input should be a valid integer, unable to parse string as an integer",
        "argument `dpo.bet` is unknown: did you mean `dpo.beta`?",
    ]


def test_what_a_stage_lacks_is_named_with_the_stage() -> None:
    assert faults("--output_dir", "o", "--model_name_or_path", "m", "--sft.dataset_name", "s") == [
        "dpo: `dataset_name` is missing: pass --dataset_name with a .jsonl file, a folder or a hub id"
    ]
    assert faults("--model_name_or_path", "m", "--variant", "sft_verified") == [
        "`output_dir` is missing: pass --output_dir",
        "sft: `dataset_name` is missing: pass --dataset_name with a .jsonl file, a folder or a hub id",
    ]


def test_a_file_is_examined_without_its_command_line() -> None:
    found = examine({"seed": "x", "sft": {"config": "none.yaml"}}, "c.yaml")
    assert found.faults == [
        "c.yaml: key `seed`: 'x' does not fit: input should be a valid integer, unable to parse string as an integer"
    ]
    assert found.left == ["output_dir"]


def job(model: Path, folder: Path, output: str, *more: str) -> list[str]:
    """The demo's recipes made shorter: 8 rows in batches of 2, 2 epochs, a checkpoint every 2 steps."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    write_rows(data / "sft.jsonl", [sft_row(n) for n in range(8)])
    write_rows(data / "dpo.jsonl", [dpo_row(n) for n in range(8)])
    write_rows(data / "unpaired.jsonl", [kto_row(n) for n in range(8)])
    values = {
        "config": ROOT / "configs/train/smollm2_rltpf.yaml",
        "model_name_or_path": model,
        "dataset_name": data,
        "output_dir": folder / output,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-2,
        "save_strategy": "steps",
        "save_steps": 2,
        "save_total_limit": 3,
    }
    return [*(str(word) for key, value in values.items() for word in (f"--{key}", value)), *more]


def losses(folder: Path) -> list[tuple[int, float]]:
    rows = [json.loads(line) for line in (folder / "log_history.jsonl").read_text().splitlines()]
    return [(row["step"], row["loss"]) for row in rows if "loss" in row]


@pytest.fixture(scope="module")
def trained(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    assert rltpf.main(job(tiny_model, folder, "out")) == 0
    return folder


@pytest.mark.slow
def test_both_stages_are_trained_and_then_skipped(
    trained: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dpo = json.loads((trained / "out/dpo/run.json").read_text())
    assert dpo["config"]["adapter_name_or_path"] == str(trained / "out/sft")
    assert losses(trained / "out/dpo")[0][1] == pytest.approx(0.6931, abs=1e-3)
    assert rltpf.main(job(tiny_model, trained, "out")) == 0
    assert capsys.readouterr().err.count("is finished already") == 2


@pytest.mark.slow
def test_the_ablation_on_all_answers_lies_beside_them(trained: Path, tiny_model: Path) -> None:
    assert rltpf.main(job(tiny_model, trained, "out", "--variant", "sft_all")) == 0
    state = json.loads((trained / "out/sft_all/run.json").read_text())
    assert (state["kind"], state["finished"]) == ("sft", True)
    assert state["config"]["dataset_name"].endswith("unpaired.jsonl")


@pytest.mark.slow
def test_data_of_the_second_stage_is_checked_before_the_first_is_trained(tiny_model: Path, tmp_path: Path) -> None:
    argv = job(tiny_model, tmp_path, "out")
    row = dpo_row(1)
    write_rows(tmp_path / "data/dpo.jsonl", [{**row, "rejected": row["chosen"]}])
    with pytest.raises(InputError, match="are the same text"):
        rltpf.main(argv)
    write_rows(tmp_path / "data/dpo.jsonl", [row])
    with pytest.raises(InputError, match="max_length 9 cuts an answer of every pair"):
        rltpf.main([*argv, "--dpo.max_length", "9"])
    with pytest.raises(InputError, match="loss_type `sigmod` is none of"):
        rltpf.main([*argv, "--dpo.loss_type", "sigmod"])
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sft", "dpo"])
def test_a_job_killed_in_a_stage_ends_with_the_same_weights(
    stage: str, trained: Path, tiny_model: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "rltpf.train.rltpf", *job(tiny_model, tmp_path, "out")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not list((tmp_path / "out" / stage).glob("checkpoint-*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not json.loads((tmp_path / "out" / stage / "run.json").read_text())["finished"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    for name in ("sft", "dpo"):
        one, two = (folder / "out" / name / "adapter_model.safetensors" for folder in (trained, tmp_path))
        assert one.read_bytes() == two.read_bytes()
        assert losses(trained / "out" / name) == losses(tmp_path / "out" / name)


@pytest.mark.slow
def test_two_processes_run_the_whole_job(tiny_model: Path, tmp_path: Path) -> None:
    """8 rows / (2 rows x 2 processes) = 2 steps an epoch, 2 epochs."""
    launch = ["-m", "accelerate.commands.launch", "--config_file", "configs/accelerate/cpu.yaml"]
    argv = job(tiny_model, tmp_path, "out", "--dpo.precompute_ref_log_probs", "false")
    done = subprocess.run(
        ["timeout", "280", sys.executable, *launch, "--main_process_port", "0", "-m", "rltpf.train.rltpf", *argv],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("sft", "dpo"):
        state = json.loads((tmp_path / "out" / name / "run.json").read_text())
        assert (state["world_size"], state["finished"]) == (2, True)
        assert [step for step, _ in losses(tmp_path / "out" / name)] == [1, 2, 3, 4]
