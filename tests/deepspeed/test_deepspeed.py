"""SFT and DPO under DeepSpeed ZeRO-2 and ZeRO-3, two processes on the CPU: `make test-deepspeed`.

The first run compiles an operation of DeepSpeed, which takes a minute.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from training_rows import dpo_row, sft_row, write_rows

pytest.importorskip("deepspeed")

ROOT = Path(__file__).parents[2]


def train(stage: int, model: Path, folder: Path) -> str:
    """The whole job: 8 rows / (2 rows x 2 processes) = 2 steps an epoch, 2 epochs; what it says."""
    values = {
        "config": "configs/train/smollm2_rltpf.yaml",
        "model_name_or_path": model,
        "dataset_name": folder,
        "output_dir": folder / "out",
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-2,
        "save_strategy": "steps",
        "save_steps": 2,
        "save_total_limit": 3,
        "dpo.precompute_ref_log_probs": "false",
    }
    launch = ["-m", "accelerate.commands.launch", "--config_file", f"configs/accelerate/zero{stage}.yaml"]
    cpu = ["--num_processes", "2", "--mixed_precision", "no", "--main_process_port", "0"]
    done = subprocess.run(
        ["timeout", "500", sys.executable, *launch, *cpu, "-m", "rltpf.train.rltpf"]
        + [f"--{key}={value}" for key, value in values.items()],
        cwd=ROOT,
        env={**os.environ, "DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def result(folder: Path) -> tuple[list[tuple[int, float]], bytes]:
    """Step and loss of every step, and the adapter's weights."""
    rows = [json.loads(line) for line in (folder / "log_history.jsonl").read_text().splitlines()]
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    return losses, (folder / "adapter_model.safetensors").read_bytes()


def undo(folder: Path) -> None:
    """The folder as a kill after the checkpoint of step 2 leaves it."""
    shutil.rmtree(folder / "checkpoint-4")
    (folder / "adapter_model.safetensors").unlink()
    state: dict[str, Any] = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**state, "finished": False}))


@pytest.mark.parametrize("stage", [2, 3])
def test_sft_then_dpo_and_both_resumed(stage: int, tiny_model: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "sft.jsonl", [sft_row(n) for n in range(8)])
    write_rows(tmp_path / "dpo.jsonl", [dpo_row(n) for n in range(8)])
    train(stage, tiny_model, tmp_path)
    folders = [tmp_path / "out" / name for name in ("sft", "dpo")]
    before = [result(folder) for folder in folders]
    for folder, (losses, _) in zip(folders, before, strict=True):
        assert json.loads((folder / "run.json").read_text())["world_size"] == 2
        assert list((folder / "checkpoint-4").glob("global_step4/*optim_states.pt")), "not a checkpoint of DeepSpeed"
        assert [step for step, _ in losses] == [1, 2, 3, 4]
    assert before[1][0][0][1] == pytest.approx(0.6931, abs=1e-3)
    assert before[0][0][-1][1] < before[0][0][0][1]

    undo(folders[1])
    assert train(stage, tiny_model, tmp_path).count("continues from") == 1
    undo(folders[0])  # DPO notices if its adapter comes out otherwise
    said = train(stage, tiny_model, tmp_path)
    assert said.count("continues from") == 1
    assert said.count("is finished already") == 1
    assert [result(folder) for folder in folders] == before
