"""How RPE agrees with the published verdicts, and how many FPS statements Lean takes.

    python tests/bench/bench_rpe.py TRIPLES [BENCHMARK ...] [--workers 1]

TRIPLES is a JSONL file of rows of `rltpf rpe` with the published verdict in `rpe`; a BENCHMARK is one of the files of
Formal Problem Solving. Rows that do not type-check in the Lean at hand are not judged. Each disagreement is printed: a
published true that is missed is a fault; a published false is right to accept where the values are equal.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eval import fps
from eval.rpe import Equivalence, equivalence, lean_header
from eval.rpe_rows import question, read_rows
from rltpf import pipeline
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig

UNTYPED = ("row_error", "type_error", "parse_error")
FORMS: tuple[Callable[[fps.FpsProblem, str], str], ...] = (fps.forward, fps.forward_proposition, fps.backward)


async def decide(prover: Prover, row: dict[str, Any]) -> tuple[dict[str, Any], Equivalence]:
    asked = question(row)
    assert not isinstance(asked, str), (row, asked)
    return row, await equivalence(prover, asked)


async def judge(
    prover: Prover, rows: Sequence[dict[str, Any]], workers: int
) -> list[tuple[dict[str, Any], Equivalence]]:
    found: list[tuple[dict[str, Any], Equivalence]] = []
    await pipeline.run(rows, lambda row: decide(prover, row), found.append, concurrency=2 * workers)
    return found


async def elaborating(prover: Prover, problems: Sequence[fps.FpsProblem]) -> Counter[str]:
    """How many statements of each form elaborate."""
    counts: Counter[str] = Counter()
    for problem in problems:
        for form in FORMS:
            report = await prover.elaborates(form(problem, "problem"), lean_header(prover, problem.header))
            counts[form.__name__] += report.verified
    return counts


def table(found: Sequence[tuple[dict[str, Any], Equivalence]]) -> Table:
    table = Table("published", "rows", "judged", "equal", "not equal", "no verdict", title="RPE")
    for published in (True, False):
        own = [result for row, result in found if row["rpe"] is published]
        typed = [result for result in own if result.reason not in UNTYPED]
        equal = sum(result.equivalent for result in typed)
        undecided = sum(not result.decided for result in typed)
        counts = (len(own), len(typed), equal, len(typed) - equal - undecided, undecided)
        table.add_row(str(published).lower(), *map(str, counts))
    return table


def print_disagreements(found: Sequence[tuple[dict[str, Any], Equivalence]]) -> None:
    for row, result in found:
        if result.reason not in UNTYPED and result.equivalent != row["rpe"]:
            said = f"{result.reason} {result.closed_by}".strip()
            print(f"{row['id']}: published {row['rpe']}, found {said}: {row['submission']} : {row['answer_type']}")
            print(f"    known: {row.get('gold_value') or row['formal_answer']}")


async def run(args: argparse.Namespace) -> None:
    rows = read_rows(args.triples)
    benchmarks = {path.stem: fps.load(path) for path in args.benchmarks}
    prover = build_prover(ProverConfig(workers=args.workers))
    console = Console(width=100)
    try:
        began = time.perf_counter()
        found = await judge(prover, rows, args.workers)
        console.print(table(found))
        print(f"closed by: {dict(Counter(result.closed_by for _, result in found if result.equivalent))}")
        print(f"reasons: {dict(Counter(result.reason for _, result in found))}")
        print(f"{time.perf_counter() - began:.0f} s on {prover.toolchain_id}", file=sys.stderr)
        print_disagreements(found)
        for bench, problems in benchmarks.items():
            counts = await elaborating(prover, problems)
            loose = sum(not problem.constrained for problem in problems)
            print(f"{bench}: {len(problems)} problems, {loose} do not mention the answer; elaborate: {dict(counts)}")
    finally:
        await prover.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triples", type=Path)
    parser.add_argument("benchmarks", type=Path, nargs="*")
    parser.add_argument("--workers", type=int, default=1, help="Lean processes (default: 1)")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
