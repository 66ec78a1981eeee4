"""What is told to W&B, written offline by the real library and read back."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sample_run
from offline_wandb import read_offline_runs

from rltpf.records import content_id


def report(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    places = {name: str(folder) for name in ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR")}
    return subprocess.run(
        [sys.executable, "-m", "rltpf", "report", *arguments, "--report_to", "wandb"],
        env={**kept, **places, "NETRC": str(folder / "netrc"), **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.slow
def test_parts_are_runs_of_one_group_linked_by_what_they_made(tmp_path: Path) -> None:
    run = sample_run.build(tmp_path / "duck_run")
    for part in ("eval/sft", "eval/dpo", "rewritten"):
        for path in sorted(run.glob(f"{part}/**/*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    (run / "data" / "sft.jsonl").write_text('{"messages": []}\n')
    (run / "eval" / "base" / "weights.json").write_text('{"adapter_model.safetensors": "6e"}')
    done = report(tmp_path, str(run), WANDB_MODE="offline")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("W&B: ")] == [
        "W&B: duck_run/data",
        "W&B: duck_run/rewrite",
        "W&B: duck_run/eval-base",
    ]
    data, rewriting, evaluation = read_offline_runs(tmp_path)
    assert [(found.run.run_group, found.run.job_type, found.exit_code) for found in (data, rewriting, evaluation)] == [
        ("duck_run", "generate", 0),
        ("duck_run", "rewrite", 0),
        ("duck_run", "evaluate", 0),
    ]
    assert {name: data.summary[name] for name in ("data/questions_kept", "data/answers_false", "data/sft_rows")} == {
        "data/questions_kept": 25,
        "data/answers_false": 14,
        "data/sft_rows": 20,
    }
    assert (data.summary["data/execution_rate_first"], data.summary["data/execution_rate_last"]) == (0.66, 0.92)
    assert len(data.table("samples/answers")["data"]) == 4
    (made,) = (artifact for artifact in data.artifacts if artifact.type == "dataset")
    assert made.name == "dataset-" + content_id({"sha256": hashlib.sha256(b'{"messages": []}\n').hexdigest()})
    assert (rewriting.summary["rewrite/retained"], rewriting.summary["rewrite/ended/prove:no_proof"]) == (10, 2)
    assert (evaluation.summary["eval/strict"], evaluation.summary["eval/rows"]) == (0.125, 8)
    (used,) = (artifact for artifact in evaluation.artifacts if artifact.type == "model")
    assert used.name == "model-" + content_id({"adapter_model.safetensors": "6e"})
    identity = json.loads((run / "data" / "wandb.json").read_text())
    assert identity["id"] == data.run.run_id


@pytest.mark.slow
def test_variants_in_one_group_are_columns_of_one_table(tmp_path: Path) -> None:
    """As docs/wandb.md has it; the second report brings the same runs up to date."""
    variants = [sample_run.build(tmp_path / name) / "eval" for name in ("rltpf", "sft_verified")]
    for run in variants:
        (run / "base").rename(run / "final")
    runs = [str(run / "final") for run in variants]
    environment = {"WANDB_MODE": "offline", "WANDB_RUN_GROUP": "gsm8k_ablations"}
    first, second = report(tmp_path, *runs, **environment), report(tmp_path, *runs, **environment)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    lines = first.stdout.splitlines()
    assert lines[:2] == ["W&B: gsm8k_ablations/final", "W&B: gsm8k_ablations/final"]
    assert lines[2] == f"|  | `{runs[0]}` | `{runs[1]}` |"
    assert "| strict, % | 12.5 ± 12.5 (2.2 to 47.1) | 12.5 ± 12.5 (2.2 to 47.1) |" in lines
    found = read_offline_runs(tmp_path)
    assert {run.run.run_group for run in found} == {"gsm8k_ablations"}
    ids = [run.run.run_id for run in found]
    assert ids == [ids[0], ids[1], ids[0], ids[1]]
    assert ids[0] != ids[1]


def test_a_missing_key_is_one_line(tmp_path: Path) -> None:
    run = sample_run.build(tmp_path / "run")
    done = report(tmp_path, str(run / "eval" / "base"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no key for W&B here" in done.stderr
