"""`rltpf evaluate` and `rltpf report`."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add `evaluate` and `report` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments

    evaluate = subparsers.add_parser(
        "evaluate",
        help="score a model on a benchmark",
        description="Greedy pass@1, or pass@k, maj@k and averages of several samples, with standard errors, read by a "
        "strict and a lenient extractor side by side. Writes samples.jsonl, samples.html (a page to read and filter "
        "them), metrics.json and results_TIME.json to output_dir.",
        epilog="example: rltpf evaluate --config configs/evaluate/gsm8k.yaml --llm.model NAME --dataset.limit 100",
    )
    evaluate.add_argument("--list", action="store_true", help="print the benchmarks, their versions and columns")
    add_config_arguments(evaluate, "eval.settings:EvaluateConfig")
    evaluate.set_defaults(run=run_evaluate)
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

    if args.list:
        from eval import markdown
        from eval.benchmarks import listing

        print(markdown.table(("benchmark", "version", "columns of its rows"), listing()))
        return 0
    settings = config.load(EvaluateConfig, args.config, overrides)
    if args.dry_run:
        print(evaluate.preview(settings))
        return 0
    metrics = evaluate.evaluate(settings, overwrite=args.overwrite)
    print(evaluate.summary_table(metrics))
    return 1 if metrics["failed"] else 0


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
