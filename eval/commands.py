"""`rltpf evaluate`, `rltpf sensitivity`, `rltpf rpe` and `rltpf report`."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add `evaluate`, `sensitivity`, `rpe` and `report` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments
    from rltpf.prover.commands import add_row_options

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
    sensitivity = subparsers.add_parser(
        "sensitivity",
        help="how scores change from original to rewritten problems",
        description="Compares evaluations of the same models on the originals and on the rewritings of a set, pair by "
        "pair: accuracies and their change by level with a bootstrap interval and McNemar's test, four heat maps, and "
        "Spearman's rho of eleven confounds. Writes sensitivity.json, sensitivity.md and sensitivity.png.",
        epilog="example: rltpf sensitivity rewritten.jsonl --scores sft=runs/ori/sft,runs/rew/sft --output runs/sens",
    )
    sensitivity.add_argument(
        "set",
        metavar="SET",
        help="JSONL with original_question, rewritten_question and optionally lean_proof and level",
    )
    sensitivity.add_argument(
        "--scores",
        metavar="NAME=ORIGINALS,REWRITINGS",
        nargs="+",
        required=True,
        help="a model and the folders of its two evaluations",
    )
    sensitivity.add_argument(
        "--verdict",
        choices=("strict", "lenient", "math_verify"),
        default="math_verify",
        help="what counts as right (default: math_verify)",
    )
    sensitivity.add_argument("--output", metavar="DIR", required=True, help="where the results go")
    sensitivity.set_defaults(run=run_sensitivity)
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
        help="one page with plots about a run, or a table and plots that compare several",
        description="Reads data/, sft/, dpo/, eval/NAME/, rewrite/, rewritten/NAME/ and sensitivity/ of a run folder, "
        "whichever are there, and writes report.md and plots/*.png into it. Of several folders, and of the run of one "
        "command (generate, train, ...), it prints one table, and writes it with plots where --output says so.",
        epilog="example: rltpf report runs/demo; rltpf report runs/gsm8k/base runs/gsm8k/sft --output runs/gsm8k",
    )
    report.add_argument("run_dirs", metavar="RUN_DIR", nargs="+", help="folder of a run")
    report.add_argument("--output", metavar="DIR", help="of a table: where comparison.md and its plots go")
    report.add_argument(
        "--report_to",
        choices=("none", "wandb"),
        default="none",
        help="wandb: report data, evaluations and rewritings to Weights & Biases, linked to their trainings "
        "(default: none)",
    )
    report.set_defaults(run=run_report)


def run_evaluate(args: argparse.Namespace, overrides: list[str]) -> int:
    """Score the model; the exit code."""
    from eval import evaluate
    from eval.settings import EvaluateConfig
    from rltpf import config
    from rltpf.llm import refuse_missing_models

    if args.list:
        from eval.benchmarks import listing
        from rltpf import markdown

        print(markdown.table(("benchmark", "version", "columns of its rows"), listing()))
        return 0
    settings = config.load(EvaluateConfig, args.config, overrides)
    refuse_missing_models(settings.llm)
    if args.dry_run:
        print(evaluate.preview(settings))
        return 0
    metrics = evaluate.evaluate(settings, overwrite=args.overwrite)
    print(evaluate.summary_table(metrics))
    return 1 if metrics["failed"] else 0


def run_sensitivity(args: argparse.Namespace, overrides: list[str]) -> int:
    """Compare and write; the exit code."""
    from pathlib import Path

    from eval.sensitivity_page import write
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError

    refuse_overrides(overrides)
    scores = {}
    for given in args.scores:
        name, equals, folders = given.partition("=")
        parts = folders.split(",")
        if not name or not equals or len(parts) != 2 or name in scores:
            raise InputError(f"--scores {given}: has to be NAME=ORIGINALS,REWRITINGS, with a name for each model")
        scores[name] = (Path(parts[0]), Path(parts[1]))
    output = Path(args.output)
    print(f"{write(Path(args.set), scores, args.verdict, output)}\n{output / 'sensitivity.md'}")
    return 0


def run_rpe(args: argparse.Namespace, overrides: list[str]) -> int:
    """Judge every row's submission and print the summary; the exit code. A row at fault says so in its `reason`."""
    import asyncio
    import sys

    from eval.rpe_rows import judge_rows, read_rows
    from rltpf.cli import refuse_overrides
    from rltpf.prover import build_prover
    from rltpf.prover.commands import input_path, open_output, prover_config
    from rltpf.rows import refuse_same_file

    refuse_overrides(overrides)
    source = input_path(args.input)
    rows = read_rows(source)
    refuse_same_file(args.output, source)
    prover = build_prover(prover_config(args, cache=not args.no_cache))
    with open_output(args.output) as output:
        print(asyncio.run(judge_rows(prover, rows, output, args.workers)), file=sys.stderr)
    return 0


def run_report(args: argparse.Namespace, overrides: list[str]) -> int:
    """Write a run's report and print its summary and place, or print how several compare; the exit code."""
    from pathlib import Path

    from eval import comparison
    from eval.report import write_report
    from eval.wandb_report import publish
    from rltpf import tracking
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError
    from rltpf.runs import check_folder

    refuse_overrides(overrides)
    folders = [Path(folder) for folder in args.run_dirs]
    for folder in folders:
        check_folder(folder)
    # The run of one command has no page of its own: its part of a table is what there is to say of it.
    side_by_side = len(folders) > 1 or comparison.is_part(folders[0])
    if args.output and not side_by_side:
        raise InputError("--output is for several runs: the report of one is in its own folder")
    if args.report_to == "wandb":
        tracking.check()
    runs = [comparison.read(folder) for folder in folders] if side_by_side or args.report_to == "wandb" else []
    if args.report_to == "wandb":
        for run in runs:
            for name in publish(run):
                print(f"W&B: {name}")
    if side_by_side:
        print(comparison.table(runs))
        if args.output:
            print(f"\ncomparison: {comparison.write(runs, Path(args.output))}")
        return 0
    path = write_report(folders[0])
    print(path.read_text(encoding="utf-8").partition("\n## ")[0].rstrip())
    print(f"\nreport: {path}")
    return 0
