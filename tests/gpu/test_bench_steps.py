"""The GPU's script runs without a GPU too, at the size of a toy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_row_for_each_kind_length_and_batch() -> None:
    script = Path(__file__).with_name("bench_steps.py")
    options = ["--size", "toy", "--lengths", "16", "32", "--batches", "2", "--steps", "1", "--peak", "1"]
    done = subprocess.run(
        [sys.executable, script, *options],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    assert [row[:3] for row in rows] == [[kind, length, "2"] for kind in ("sft", "dpo") for length in ("16", "32")]
    assert all(float(row[3]) > 0 and float(row[4]) > 0 and 0 <= float(row[5]) < 100 for row in rows)
