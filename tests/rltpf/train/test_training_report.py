"""What a training tells others: its run in W&B, from one process alone, and the card in its folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from offline_wandb import read_offline_run, read_offline_runs
from training_rows import dpo_row, kto_row, sft_row, write_rows

from rltpf.records import content_id
from rltpf.weights import digests

ROOT = Path(__file__).parents[3]


def arguments(model: str, data: Path, output: Path) -> list[str]:
    return [
        *("--config", "configs/train/smollm2_sft.yaml", "--model_name_or_path", model, "--dataset_name", str(data)),
        *("--output_dir", str(output), "--max_steps", "2", "--report_to", "wandb"),
    ]


def offline(folder: Path) -> dict[str, str]:
    """An environment in which W&B writes into the folder and asks nobody."""
    places = ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR")
    return {**os.environ, **dict.fromkeys(places, str(folder)), "WANDB_MODE": "offline"}


@pytest.mark.slow
def test_two_processes_are_one_run_in_wandb(tiny_model: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "sft.jsonl", [sft_row(n) for n in range(30)])
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    launch = ["-m", "accelerate.commands.launch", "--config_file", "configs/accelerate/cpu.yaml"]
    done = subprocess.run(
        [sys.executable, *launch, "--main_process_port", "0", "-m", "rltpf.train.sft",
         *arguments(str(tiny_model), data, tmp_path / "demo" / "sft")],
        cwd=ROOT,
        env={**offline(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = read_offline_run(tmp_path)  # which is one
    assert (found.run.project, found.run.run_group, found.run.job_type) == ("rltpf", "demo", "sft")
    assert (found.run.display_name, found.exit_code) == (f"{tiny_model.name}-sft-lora", 0)
    # Given in the recipe, and a default of TRL's that nobody gave.
    assert (found.config["learning_rate"], found.config["packing"], found.config["lora_r"]) == (5e-4, False, 8)
    losses = [json.loads(line) for line in (tmp_path / "demo/sft/log_history.jsonl").read_text().splitlines()]
    assert [row["train/loss"] for row in found.history if "train/loss" in row] == [
        row["loss"] for row in losses if "loss" in row
    ]
    names = {name for row in found.history for name in row if not name.startswith("_")}
    assert {name.partition("/")[0] for name in names} == {"train", "samples"}
    table = found.table("samples/train")
    assert (table["columns"], len(table["data"])) == (["prompt", "completion"], 20)
    assert table["data"][3] == ["user: What is 3 + 1?", "assistant: It is 4."]
    (artifact,) = (artifact for artifact in found.artifacts if artifact.type == "dataset")
    assert artifact.name == "dataset-" + content_id({"sha256": digest})
    assert json.loads(artifact.metadata) == {"path": str(data), "rows": 30, "sha256": digest, "generated": None}
    (model,) = (artifact for artifact in found.artifacts if artifact.type == "model")
    assert model.name == "model-" + content_id(digests(tmp_path / "demo/sft"))
    card = (tmp_path / "demo/sft/README.md").read_text()
    assert f"\n| SHA-256 | `{digest}` |\n" in card
    assert "a LoRA adapter of rank 8, alpha 16, dropout 0.0, on k_proj o_proj q_proj v_proj, trained" in card
    assert "accelerate launch --num_processes 2 -m rltpf.train.sft --config training_config.yaml" in card
    assert "Model Card for" not in card


@pytest.mark.slow
def test_every_stage_is_a_run_of_its_own_in_one_group(tiny_model: Path, tmp_path: Path) -> None:
    rows = {"sft": sft_row, "dpo": dpo_row, "unpaired": kto_row}
    for name, row in rows.items():
        write_rows(tmp_path / f"{name}.jsonl", [row(n) for n in range(8)])
    common = [f"--model_name_or_path={tiny_model}", "--report_to=wandb", "--max_steps=2"]
    job = ["--config=configs/train/smollm2_rltpf.yaml", f"--dataset_name={tmp_path}", f"--output_dir={tmp_path}/demo"]
    kto = [
        "--config=configs/train/smollm2_kto.yaml",
        f"--dataset_name={tmp_path}/unpaired.jsonl",
        f"--output_dir={tmp_path}/demo/kto",
        f"--adapter_name_or_path={tmp_path}/demo/sft",
    ]
    code = (
        "from rltpf.train import kto, rltpf\n"
        f"for argv in {[*common, *job]!r}, {[*common, *job, '--variant=sft_all']!r}: assert rltpf.main(argv) == 0\n"
        f"assert kto.main({[*common, *kto]!r}) == 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=offline(tmp_path), capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = read_offline_runs(tmp_path)
    assert [(run.run.run_group, run.run.job_type, run.run.display_name, run.exit_code) for run in found] == [
        ("demo", "sft", f"{tiny_model.name}-sft-lora", 0),
        ("demo", "dpo", f"{tiny_model.name}-dpo-lora", 0),
        ("demo", "sft", f"{tiny_model.name}-sft_all-lora", 0),
        ("demo", "kto", f"{tiny_model.name}-kto-lora", 0),
    ]
    for run, stage, file in zip(
        found, ("sft", "dpo", "sft_all", "kto"), ("sft", "dpo", "unpaired", "unpaired"), strict=True
    ):
        assert [row["train/global_step"] for row in run.history if "train/loss" in row] == [1, 2]
        assert len(run.table("samples/train")["data"]) == 8
        digest = hashlib.sha256((tmp_path / f"{file}.jsonl").read_bytes()).hexdigest()
        assert run.config["dataset"]["sha256"] == digest
        card = (tmp_path / "demo" / stage / "README.md").read_text()
        assert f"\n| SHA-256 | `{digest}` |\n" in card
        assert f"rltpf train {run.run.job_type} --config training_config.yaml" in card
    assert {"train/rewards/margins", "train/kl"} <= {name for row in found[3].history for name in row}


def test_without_wandb_nothing_is_loaded(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "sft.jsonl", [sft_row(1)])
    code = (
        "import sys; sys.modules['wandb'] = None\n"
        "from rltpf.train import launch, sft\n"
        f"code = launch.run(sft.main, {arguments('m', data, tmp_path / 'out')!r})\n"
        "print(code, [m for m in ('torch', 'transformers', 'trl', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "2 []\n"
    assert done.stderr == (
        "report_to wandb: wandb is not installed: `pip install 'rltpf[wandb]'`, or --report_to none\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_token_of_the_hub_is_not_written_down(tmp_path: Path) -> None:
    from rltpf.train.folder import RunFolder
    from rltpf.train.options import Options

    RunFolder(Options("sft", {"output_dir": str(tmp_path), "seed": 1, "hub_token": "hf_secret"}, [])).start()
    assert all("hf_secret" not in path.read_text() for path in tmp_path.iterdir())
    assert (tmp_path / "training_config.yaml").read_text() == f"output_dir: {tmp_path}\nseed: 1\n"
