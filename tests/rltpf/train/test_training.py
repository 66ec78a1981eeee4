"""Real training of a tiny model: SFT, DPO from its adapter, resume, two processes."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training_rows import dpo_row, kto_row, sft_row, write_rows

from rltpf.runs import held
from rltpf.train import dpo, kto, launch, sft
from rltpf.train.trainers import Guard

pytestmark = pytest.mark.slow
MAIN: dict[str, Callable[[list[str]], int]] = {"sft": sft.main, "dpo": dpo.main, "kto": kto.main}
ROOT = Path(__file__).parents[3]


def arguments(kind: str, model: Path, folder: Path, output: str, **options: Any) -> list[str]:
    """The recipe of the demo, made shorter: 8 rows in batches of 2, 2 epochs, a checkpoint every 2 steps."""
    row = {"sft": sft_row, "dpo": dpo_row, "kto": kto_row}[kind]
    rows = [row(n) for n in range(8)]
    values = {
        "config": ROOT / f"configs/train/smollm2_{kind}.yaml",
        "model_name_or_path": model,
        "dataset_name": write_rows(folder / f"{kind}.jsonl", rows),
        "output_dir": folder / output,
        "per_device_train_batch_size": 2,
        "num_train_epochs": 2,
        "learning_rate": 1e-2,
        "save_strategy": "steps",
        "save_steps": 2,
        **options,
    }
    return [str(word) for key, value in values.items() for word in (f"--{key}", value)]


def adapter(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "adapter_model.safetensors")


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log_history.jsonl").read_text().splitlines()]


def assert_same(first: Path, second: Path) -> None:
    import torch

    one, two = adapter(first), adapter(second)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)
    steps = [[(row["step"], row["loss"]) for row in history(path) if "loss" in row] for path in (first, second)]
    assert steps[0] == steps[1]


@pytest.fixture(scope="module")
def trained(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `sft` and, from its adapter, `dpo` and `kto`, all undisturbed."""
    folder = tmp_path_factory.mktemp("trained")
    before = (tiny_model / "model.safetensors").read_bytes()
    assert sft.main(arguments("sft", tiny_model, folder, "sft")) == 0
    assert dpo.main(arguments("dpo", tiny_model, folder, "dpo", adapter_name_or_path=folder / "sft")) == 0
    assert kto.main(arguments("kto", tiny_model, folder, "kto", adapter_name_or_path=folder / "sft")) == 0
    assert (tiny_model / "model.safetensors").read_bytes() == before
    return folder


def test_sft_learns_and_leaves_its_results(trained: Path) -> None:
    losses = [row["loss"] for row in history(trained / "sft") if "loss" in row]
    assert len(losses) == 8
    assert losses[-1] < losses[0] - 0.1
    names = {path.name for path in (trained / "sft").iterdir()}
    assert names >= {
        "adapter_config.json", "adapter_model.safetensors", "trainer_state.json", "train_results.json",
        "all_results.json", "log_history.jsonl", "training_config.yaml", "run.json", "tokenizer.json",
    }  # fmt: skip
    results = json.loads((trained / "sft" / "train_results.json").read_text())
    assert results["train_loss"] == pytest.approx(sum(losses) / 8)


def test_fewer_steps_than_are_logged_have_a_mean_loss(tiny_model: Path, tmp_path: Path) -> None:
    """A hardly trained model guesses among its tokens: the loss is near the logarithm of their number."""
    options = {"max_steps": 1, "learning_rate": 1e-6, "logging_steps": 10}
    assert sft.main(arguments("sft", tiny_model, tmp_path, "few", **options)) == 0
    tokens = json.loads((tiny_model / "config.json").read_text())["vocab_size"]
    results = json.loads((tmp_path / "few" / "train_results.json").read_text())
    assert results["train_loss"] == pytest.approx(math.log(tokens), abs=0.2)


def test_dpo_starts_at_the_sft_policy_and_widens_the_margin(trained: Path) -> None:
    rows = [row for row in history(trained / "dpo") if "loss" in row]
    assert rows[0]["loss"] == pytest.approx(math.log(2), abs=1e-3)
    assert rows[0]["rewards/margins"] == pytest.approx(0.0, abs=1e-3)
    assert rows[-1]["rewards/margins"] > 0.05
    assert not (trained / "dpo" / "ref").exists()
    assert any((adapter(trained / "dpo")[name] != weight).any() for name, weight in adapter(trained / "sft").items())


def test_kto_tells_right_answers_from_wrong_ones(trained: Path) -> None:
    rows = [row for row in history(trained / "kto") if "loss" in row]
    assert rows[0]["loss"] == pytest.approx(0.5, abs=1e-3)  # 1 - sigmoid(0) of either label
    assert rows[-1]["loss"] < 0.49
    assert not (trained / "kto" / "ref").exists()


def test_a_finished_run_is_not_trained_again(
    trained: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (trained / "sft" / "adapter_model.safetensors").stat().st_mtime_ns
    assert sft.main(arguments("sft", tiny_model, trained, "sft")) == 0
    assert "finished already" in capsys.readouterr().err
    assert (trained / "sft" / "adapter_model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["sft", "dpo", "kto"])
def test_a_resumed_run_equals_the_undisturbed_one(
    kind: str, trained: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in step 5, with the checkpoint of step 4 torn: it goes on from step 2 and ends with the same weights."""
    start = {"adapter_name_or_path": trained / "sft"} if kind != "sft" else {}
    argv = arguments(kind, tiny_model, tmp_path, "out", save_total_limit=3, **start)
    check = Guard.check

    def stop(self: Guard, step: int, logs: dict[str, float]) -> None:
        if step == 5:
            raise KeyboardInterrupt
        check(self, step, logs)

    monkeypatch.setattr(Guard, "check", stop)
    with pytest.raises(KeyboardInterrupt):
        MAIN[kind](argv)
    monkeypatch.undo()
    (tmp_path / "out" / "checkpoint-4" / "trainer_state.json").unlink()
    assert MAIN[kind](argv) == 0
    assert_same(trained / kind, tmp_path / "out")


def test_a_killed_process_goes_on(trained: Path, tiny_model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rltpf.train.sft", *arguments("sft", tiny_model, tmp_path, "out")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while not list((tmp_path / "out").glob("checkpoint-*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not json.loads((tmp_path / "out" / "run.json").read_text())["finished"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    assert_same(trained / "sft", tmp_path / "out")


def test_a_full_disk_is_one_line_and_the_run_goes_on(trained: Path, tiny_model: Path, tmp_path: Path) -> None:
    """No file of the process may grow beyond so many bytes; torch and safetensors have words of their own for it."""
    words = arguments("sft", tiny_model, tmp_path, "out")

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))

    command = [sys.executable, "-m", "rltpf.train.sft", *words]
    full = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=small_disk)
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert full.stderr.splitlines()[-1] == (
        f"{tmp_path / 'out'}: File too large: make room and start the same command again"
    )
    assert sft.main(words) == 0
    assert_same(tmp_path / "out", trained / "sft")


def test_a_second_start_in_the_same_folder_is_refused(
    trained: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = arguments("sft", tiny_model, tmp_path, "out")
    with held(tmp_path / "out"):
        assert launch.run(sft.main, argv) == 2
    owner = f"process {os.getpid()} on {socket.gethostname()}"
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"{tmp_path / 'out'}: is being written by {owner}: wait for it, or choose another output_dir"
    )
    assert not (tmp_path / "out").exists()
    assert launch.run(sft.main, argv) == 0
    assert_same(trained / "sft", tmp_path / "out")
    assert not (tmp_path / "out" / ".lock").exists()


def test_two_processes_share_the_rows(tiny_model: Path, tmp_path: Path) -> None:
    """8 rows / (2 rows x 2 processes) = 2 steps an epoch: with one process there would be 4."""
    launch = ["-m", "accelerate.commands.launch", "--config_file", "configs/accelerate/cpu.yaml"]
    for kind in ("sft", "dpo"):
        start = {"adapter_name_or_path": tmp_path / "sft", "precompute_ref_log_probs": "false"} if kind == "dpo" else {}
        argv = arguments(kind, tiny_model, tmp_path, kind, **start)
        done = subprocess.run(
            ["timeout", "280", sys.executable, *launch, "--main_process_port", "0", "-m", f"rltpf.train.{kind}", *argv],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads((tmp_path / kind / "run.json").read_text())["world_size"] == 2
        assert [row["step"] for row in history(tmp_path / kind) if "loss" in row] == [1, 2, 3, 4]
        assert done.stderr.count(f"{kind}: step 1/4") == 1
    first = next(row for row in history(tmp_path / "dpo") if "loss" in row)
    assert first["loss"] == pytest.approx(math.log(2), abs=1e-3)
