"""`rltpf select` and `rltpf scribe` on the command line."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any


def register(subparsers: Any) -> None:
    """Add `select` and `scribe` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments

    select = subparsers.add_parser(
        "select",
        help="choose among ranked answers with one formalisation",
        description="Reads rows with `id`, `question`, `candidates` (a list, best first, or a solver's reply with one) "
        "and optionally `answer` (the gold one), formalises candidates until one statement elaborates, edits it for "
        "the others, has Lean judge each, and adds `selected`, `rank`, `base_rank`, `calls` and `judged`.",
        epilog="example: rltpf select candidates.jsonl --config configs/select/base.yaml --output selected.jsonl",
    )
    select.add_argument("input", metavar="INPUT", help="JSONL file, or - for standard input")
    select.add_argument("--output", metavar="FILE", default="-", help="where the rows go (default: standard output)")
    add_config_arguments(select, "rltpf.selection.config:SelectConfig")
    select.set_defaults(run=run_select)

    scribe = subparsers.add_parser(
        "scribe",
        help="examples to train the rewriter of select on, filtered by Lean",
        description="Reads rows as select does, formalises candidates until one statement elaborates, samples "
        "functions that write it for other answers, and keeps those that give the base back and whose statements Lean "
        "takes. Writes data/train.jsonl and data/test.jsonl for `rltpf train sft`.",
        epilog="example: rltpf scribe candidates.jsonl --config configs/scribe/seed.yaml --llm.model NAME",
    )
    scribe.add_argument("input", metavar="INPUT", help="JSONL file, or - for standard input")
    add_config_arguments(scribe, "rltpf.selection.config:ScribeConfig")
    scribe.set_defaults(run=run_scribe)


def run_select(args: argparse.Namespace, overrides: list[str]) -> int:
    from rltpf.config import load
    from rltpf.llm import refuse_missing_models
    from rltpf.rows import read_rows, refuse_output, write_rows
    from rltpf.runs import RunDirectory
    from rltpf.selection.config import SelectConfig
    from rltpf.selection.dry_run import show
    from rltpf.selection.rows import measure, ranking, read_selections, select_rows, selected

    config = load(SelectConfig, args.config, overrides)
    refuse_missing_models(config.llm)
    problems = read_rows(args.input, ("question",), ranking)
    refuse_output(args.output, args.input)
    if args.dry_run:
        return show(config, problems[0])
    with RunDirectory.open(config.output_dir, config, "select", args.overwrite) as run:
        code = asyncio.run(select_rows(config, run, problems))
        found = read_selections(run, problems)
        rows = (selected(config.rule, problem, found[problem.id]) for problem in problems if problem.id in found)
        write_rows(rows, args.output)
        measure(run, problems, found)
        if code == 0:
            run.finish()
        return code


def run_scribe(args: argparse.Namespace, overrides: list[str]) -> int:
    from rltpf.config import load
    from rltpf.llm import refuse_missing_models
    from rltpf.rows import read_rows
    from rltpf.runs import RunDirectory
    from rltpf.selection.config import ScribeConfig
    from rltpf.selection.dry_run import show
    from rltpf.selection.rows import ranking
    from rltpf.selection.scribe_rows import read_earlier, scribe_rows

    config = load(ScribeConfig, args.config, overrides)
    refuse_missing_models(config.llm)
    problems = read_rows(args.input, ("question",), ranking)
    earlier = read_earlier(config.earlier)
    if args.dry_run:
        return show(config, problems[0])
    with RunDirectory.open(config.output_dir, config, "scribe", args.overwrite) as run:
        code = asyncio.run(scribe_rows(config, run, problems, earlier))
        if code == 0:
            run.finish()
        return code
