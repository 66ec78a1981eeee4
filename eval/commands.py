"""`rltpf evaluate`, `rltpf sensitivity` and `rltpf report`."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add `evaluate`, `sensitivity` and `report` to the subparsers of the command line."""
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
    sensitivity = subparsers.add_parser(
        "sensitivity",
        help="how scores change from original to rewritten problems",
        description="Compares evaluations of the same models on the originals and on the rewritings of a set, pair by "
        "pair: accuracies and their change by level with a bootstrap interval and McNemar's test, four heat maps, and "
        "Spearman's rho of eleven confounds. Writes sensitivity.json, sensitivity.md and sensitivity.png.",
        epilog="example: rltpf sensitivity rewritten.jsonl --scores sft=runs/ori/sft,runs/rew/sft --output runs/sens",
    )
    sensitivity.add_argument(
        "set", metavar="SET", help="JSONL with original_question, rewritten_question, lean_proof and optionally level"
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


def run_sensitivity(args: argparse.Namespace, overrides: list[str]) -> int:
    """Compare and write; the exit code."""
    import json
    from pathlib import Path

    from eval import sections
    from eval.confounds import measure
    from eval.pairs import match, read_set
    from eval.plots import draw_sensitivity
    from eval.sensitivity import compare, correlations, mean_drops
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
    scored, pairs = match(read_set(Path(args.set)), scores, f"correct_{args.verdict}")
    compared = compare(scored)
    related = correlations(mean_drops(scored), {name: measure(pair) for name, pair in pairs.items()})
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    found = {"verdict": args.verdict, "models": compared, "confounds": related}
    (output / "sensitivity.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw_sensitivity(compared, output / "sensitivity.png")
    parts = [sections.sensitivity(compared, "sensitivity.png"), sections.confounds(related)]
    text = "\n\n".join(f"## {part.title}\n\n{part.body}" for part in parts)
    (output / "sensitivity.md").write_text(f"# Sensitivity, {args.verdict}\n\n{text}\n", encoding="utf-8")
    print(f"{parts[0].summary}\n{output / 'sensitivity.md'}")
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
