"""`rltpf select` on the command line."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any


def register(subparsers: Any) -> None:
    """Add `select` to the subparsers of the command line."""
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


def run_select(args: argparse.Namespace, overrides: list[str]) -> int:
    from rltpf.config import load
    from rltpf.rows import read_rows, refuse_output, write_rows
    from rltpf.runs import RunDirectory
    from rltpf.selection.config import SelectConfig
    from rltpf.selection.dry_run import show
    from rltpf.selection.rows import measure, ranking, read_selections, select_rows, selected

    config = load(SelectConfig, args.config, overrides)
    problems = read_rows(args.input, ("question",), ranking)
    refuse_output(args.output)
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
