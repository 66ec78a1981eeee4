"""`rltpf quality` on the command line."""

from __future__ import annotations

import argparse
from typing import Any

_RUNS = "a run of `rltpf rewrite` and the name that it gets"


def register(subparsers: Any) -> None:
    """Add `quality` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments

    quality = subparsers.add_parser("quality", help="compare ways to rewrite a benchmark, by models and by people")
    actions = quality.add_subparsers(dest="action", metavar="ACTION", required=True)

    compare = actions.add_parser(
        "compare",
        help="are the rewritten problems well-defined, feasible, and their answers right?",
        description="Has a model judge the problems of several runs, without knowing which run made them or what their "
        "answers are. Writes quality.md, quality.json and quality.png to output_dir: all problems, those that the "
        "first run rewrote, and each by level. The same command continues a judging that was stopped.",
        epilog="example: rltpf quality compare repro=runs/a itd=runs/b --llm.model NAME --output_dir runs/quality",
    )
    compare.add_argument("runs", metavar="NAME=RUN", nargs="+", help=_RUNS)
    add_config_arguments(compare, "eval.quality.settings:QualityConfig")
    compare.set_defaults(run=run_compare)

    rates = actions.add_parser(
        "rates",
        help="generation rates of runs side by side",
        description="Writes rates.md and generation.png, and passes.png with the rates at each number of proofs: runs "
        "that differ in their prover or their rewriter give the paper's figures 4 and 5.",
        epilog="example: rltpf quality rates goedel=runs/goedel kimina=runs/kimina --output runs/rates",
    )
    rates.add_argument("runs", metavar="NAME=RUN", nargs="+", help=_RUNS)
    rates.add_argument("--output", metavar="DIR", required=True, help="where the results go")
    rates.set_defaults(run=run_rates)

    sheet = actions.add_parser(
        "sheet",
        help="a blinded sheet for people who judge the same",
        description="Draws problems of each run, source and level, and writes a CSV file with the original, the "
        "rewriting and the answer, in an order that says nothing of the run, and three empty columns for yes or no. "
        "The key says which row is of which run: keep it from those who judge.",
        epilog="example: rltpf quality sheet repro=runs/repro itd=runs/itd --output sheet.csv --key key.jsonl",
    )
    sheet.add_argument("runs", metavar="NAME=RUN", nargs="+", help=_RUNS)
    sheet.add_argument("--output", metavar="FILE", required=True, help="where the sheet goes")
    sheet.add_argument("--key", metavar="FILE", required=True, help="where the key goes")
    sheet.add_argument("--count", type=int, default=100, help="problems of each run, source and level (default: 100)")
    sheet.add_argument("--seed", type=int, default=42, help="decides which problems are drawn (default: 42)")
    sheet.set_defaults(run=run_sheet)

    agreement = actions.add_parser(
        "agreement",
        help="how often people and the judge say the same",
        description="Prints the share of problems on which a filled sheet and `rltpf quality compare` agree, for each "
        "run, source and criterion. Rows with no entry are left out.",
        epilog="example: rltpf quality agreement sheet.csv --key key.jsonl --judged runs/quality",
    )
    agreement.add_argument("sheet", metavar="SHEET", help="the filled CSV file")
    agreement.add_argument("--key", metavar="FILE", required=True, help="the sheet's key")
    agreement.add_argument("--judged", metavar="DIR", required=True, help="output_dir of `rltpf quality compare`")
    agreement.set_defaults(run=run_agreement)


def run_compare(args: argparse.Namespace, overrides: list[str]) -> int:
    """Judge and write the tables; the exit code."""
    import asyncio
    import json

    from eval.quality import metrics, pages, plots
    from eval.quality.judging import PROMPTS, generated, judge_runs, read_judgements
    from eval.quality.runs import named_folders, read_runs
    from eval.quality.settings import QualityConfig
    from rltpf.config import dump, load
    from rltpf.errors import InputError
    from rltpf.llm import refuse_missing_models
    from rltpf.runs import RunDirectory

    config = load(QualityConfig, args.config, overrides)
    refuse_missing_models(config.llm)
    runs = read_runs(named_folders(args.runs))
    first = next(iter(runs))
    if missing := metrics.lacking(runs):
        raise InputError(
            *(
                f"{name}: was not tried on {count} of the problems that {first} rewrote: give both the same problems, "
                f"with dataset.path: RUN/candidates.jsonl and target: null"
                for name, count in missing.items()
            )
        )
    if args.dry_run:
        print(dump(config))
        for message in PROMPTS.sketch("judge"):
            print(f"--- judge: judge ({message.role})\n{message.content}\n")
        return 0
    with RunDirectory.open(config.output_dir, config, "quality", args.overwrite) as run:
        code = asyncio.run(judge_runs(config, run, runs))
        judgements = read_judgements(run, generated(runs))
        found = metrics.quality(runs, judgements)
        failures = metrics.failures(runs)
        run.write("quality.json", json.dumps({"quality": found, "ended": failures}, indent=1) + "\n")
        plots.draw_quality(found["full"], run.path / "quality.png")
        print(run.write("quality.md", pages.quality(found, failures)))
        if unreadable := sum(judgement.unreadable for judgement in judgements.values()):
            print(f"{unreadable} of {len(judgements)} replies of the judge are unreadable and in none of the shares")
        return code


def run_rates(args: argparse.Namespace, overrides: list[str]) -> int:
    """Draw and write; the exit code."""
    from pathlib import Path

    from eval.quality import pages, plots
    from eval.quality.runs import named_folders, read_metrics, read_runs
    from rltpf.cli import refuse_overrides

    refuse_overrides(overrides)
    folders = named_folders(args.runs)
    metrics = read_metrics(folders)
    notes = pages.different_problems(read_runs(folders))
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    plots.draw_generation(metrics, output / "generation.png")
    if any(found["levels"][0]["pass"] for found in metrics.values()):
        plots.draw_passes(metrics, output / "passes.png")
    (output / "rates.md").write_text(pages.rates(metrics, notes), encoding="utf-8")
    print(output / "rates.md", *notes, sep="\n")
    return 0


def run_sheet(args: argparse.Namespace, overrides: list[str]) -> int:
    """Write a sheet and its key; the exit code."""
    from pathlib import Path

    from eval.quality.runs import named_folders, read_runs
    from eval.quality.sheets import draw, to_csv
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError
    from rltpf.journal import write_atomically
    from rltpf.rows import refuse_output, write_rows

    refuse_overrides(overrides)
    if args.count < 1:
        raise InputError(f"--count {args.count}: has to be 1 or more")
    refuse_output(args.key)
    refuse_output(args.output)
    if Path(args.output).resolve() == Path(args.key).resolve():
        raise InputError(f"--key {args.key}: has to be another file than --output")
    sheet, keys = draw(read_runs(named_folders(args.runs)), args.count, args.seed)
    write_atomically(Path(args.output), to_csv(sheet))
    write_rows(keys, args.key)
    print(f"{args.output}: {len(sheet)} problems to judge; {args.key} says of which run each is")
    return 0


def run_agreement(args: argparse.Namespace, overrides: list[str]) -> int:
    """Print table 3; the exit code."""
    from pathlib import Path

    from eval.quality import pages
    from eval.quality.judging import JOURNAL, Judgement
    from eval.quality.sheets import agreement, read_filled, read_key
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError
    from rltpf.rows import collect

    refuse_overrides(overrides)
    keys = read_key(Path(args.key))
    filled = read_filled(Path(args.sheet), keys)
    path = Path(args.judged) / f"{JOURNAL}.jsonl"
    judged = collect(path, Judgement.from_json)
    rows = agreement(keys, filled, {judgement.id: judgement for judgement in judged})
    if not rows:
        raise InputError(f"{path}: has no judgement of a problem that is filled in")
    print(pages.agreement(rows))
    return 0
