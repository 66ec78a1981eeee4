"""What a training tells others: its run in W&B, from one process alone, and the card in its folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from offline_wandb import read_offline_run
from training_rows import sft_row, write_rows

ROOT = Path(__file__).parents[3]


def arguments(model: str, data: Path, output: Path) -> list[str]:
    return [
        *("--config", "configs/train/smollm2_sft.yaml", "--model_name_or_path", model, "--dataset_name", str(data)),
        *("--output_dir", str(output), "--max_steps", "2", "--report_to", "wandb"),
    ]


@pytest.mark.slow
def test_two_processes_are_one_run_in_wandb(tiny_model: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "sft.jsonl", [sft_row(n) for n in range(30)])
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    launch = ["-m", "accelerate.commands.launch", "--config_file", "configs/accelerate/cpu.yaml"]
    places = {name: str(tmp_path) for name in ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR")}
    done = subprocess.run(
        [sys.executable, *launch, "--main_process_port", "0", "-m", "rltpf.train.sft",
         *arguments(str(tiny_model), data, tmp_path / "demo" / "sft")],
        cwd=ROOT,
        env={**os.environ, **places, "WANDB_MODE": "offline", "OMP_NUM_THREADS": "1"},
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
    assert (artifact.name, json.loads(artifact.metadata)) == (
        "demo-sft-data",
        {"path": str(data), "rows": 30, "sha256": digest, "generated": None},
    )
    card = (tmp_path / "demo/sft/README.md").read_text()
    assert f"\n| SHA-256 | `{digest}` |\n" in card
    assert "a LoRA adapter of rank 8, alpha 16, dropout 0.0, on k_proj o_proj q_proj v_proj, trained" in card
    assert "accelerate launch --num_processes 2 -m rltpf.train.sft --config training_config.yaml" in card
    assert "Model Card for" not in card


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
        "error: report_to wandb: wandb is not installed: `pip install 'rltpf[wandb]'`, or --report_to none\n"
    )
    assert not (tmp_path / "out").exists()


def test_a_token_of_the_hub_is_not_written_down(tmp_path: Path) -> None:
    from rltpf.train.folder import RunFolder
    from rltpf.train.options import Options

    RunFolder(Options("sft", {"output_dir": str(tmp_path), "seed": 1, "hub_token": "hf_secret"}, [])).start()
    assert all("hf_secret" not in path.read_text() for path in tmp_path.iterdir())
    assert (tmp_path / "training_config.yaml").read_text() == f"output_dir: {tmp_path}\nseed: 1\n"
