"""`rltpf evaluate`, `rltpf rpe` and `rltpf report`."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add `evaluate`, `rpe` and `report` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments
    from rltpf.prover.commands import add_row_options

    evaluate = subparsers.add_parser(
        "evaluate",
        help="score a model on a benchmark",
        description="Greedy pass@1 with standard errors, read by a strict and a lenient extractor side by side. Writes "
        "samples.jsonl, metrics.json and results_TIME.json to output_dir.",
        epilog="example: rltpf evaluate --config configs/evaluate/gsm8k.yaml --llm.model NAME --dataset.limit 100",
    )
    add_config_arguments(evaluate, "eval.settings:EvaluateConfig")
    evaluate.set_defaults(run=run_evaluate)
    rpe = subparsers.add_parser(
        "rpe",
        help="is each row's formal answer the known one?",
        description="Reads JSON lines with id, answer_type, intros, header (Lean's `open` lines, or null; trusted), "
        "submission (a term, or `answer = term`) and formal_answer (a proposition about `answer`), and writes each row "
        "with equivalent, closed_by, reason, detail, seconds and toolchain added, in the order of the input. Verdicts "
        "are kept in the cache folder, so a command that was stopped is started again and soon where it was.",
    )
    add_row_options(rpe)
    rpe.set_defaults(run=run_rpe)
    report = subparsers.add_parser(
        "report",
        help="one page with plots about a run",
        description="Reads data/, sft/, dpo/ and eval/NAME/ of a run folder, whichever are there, and writes report.md "
        "and plots/*.png into it.",
        epilog="example: rltpf report runs/demo",
    )
    report.add_argument("run_dir", metavar="RUN_DIR", help="folder of the run")
    report.set_defaults(run=run_report)


def run_evaluate(args: argparse.Namespace, overrides: list[str]) -> int:
    """Score the model; the exit code."""
    from eval import evaluate
    from eval.settings import EvaluateConfig
    from rltpf import config

    settings = config.load(EvaluateConfig, args.config, overrides)
    if args.dry_run:
        print(evaluate.preview(settings))
        return 0
    metrics = evaluate.evaluate(settings, overwrite=args.overwrite)
    print(evaluate.summary_table(metrics))
    return 1 if metrics["failed"] else 0


def run_rpe(args: argparse.Namespace, overrides: list[str]) -> int:
    """Judge every row's submission and print the summary; the exit code. A row at fault says so in its `reason`."""
    import asyncio
    import sys

    from eval.rpe_rows import judge_rows, read_rows
    from rltpf.cli import refuse_overrides
    from rltpf.prover import build_prover
    from rltpf.prover.commands import input_path, open_output, prover_config

    refuse_overrides(overrides)
    rows = read_rows(input_path(args.input))
    prover = build_prover(prover_config(args, cache=not args.no_cache))
    with open_output(args.output) as output:
        print(asyncio.run(judge_rows(prover, rows, output, args.workers)), file=sys.stderr)
    return 0


def run_report(args: argparse.Namespace, overrides: list[str]) -> int:
    """Write the report and print its summary and place; the exit code."""
    from pathlib import Path

    from eval.report import write_report
    from rltpf.cli import refuse_overrides

    refuse_overrides(overrides)
    path = write_report(Path(args.run_dir))
    print(path.read_text(encoding="utf-8").partition("\n## ")[0].rstrip())
    print(f"\nreport: {path}")
    return 0
