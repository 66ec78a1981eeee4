"""What the arithmetic formaliser reads in solutions that are known to be right, and what Lean says of it.

    python tests/bench/bench_arithmetic.py FILE [--workers 2]

FILE is GSM8K's `train.jsonl`, or any JSONL with `answer`. Each calculation is counted, that of `<<...>>` and that of
the prose around it apart; every claim is proved or its negation is. Each refuted one is printed with its line: in
solutions that were checked it is a misprint, or else a fault of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from data_gen.arithmetic import Calculation, calculations
from data_gen.formal import proposition
from rltpf import pipeline
from rltpf.datasets import read_jsonl
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.session import with_proof
from rltpf.prover.settings import ProverConfig

BATCH = 50
PROOF = "decide +kernel"


def read(path: Path) -> list[tuple[str, Calculation]]:
    """The calculations of the answers, each with its place and line."""
    found = []
    for place, row in read_jsonl(path):
        assert isinstance(row, dict), (place, row)
        for line in row["answer"].splitlines():
            found += [(f"{place}: {line}", calculation) for calculation in calculations(line)]
    return found


async def proved(prover: Prover, goal: str) -> bool:
    statement = f"theorem calculation :\n    {goal}"
    return (await prover.check(statement, with_proof(statement, PROOF))).verified


async def decide(prover: Prover, claims: Sequence[str]) -> dict[str, str]:
    """What Lean says of each claim. Those of a batch are one theorem, and each has its own where that fails."""
    if await proved(prover, " ∧ ".join(proposition(claim) for claim in claims)):
        return dict.fromkeys(claims, "verified")
    found = {}
    for claim in claims:
        if await proved(prover, proposition(claim)):
            found[claim] = "verified"
        else:
            found[claim] = "refuted" if await proved(prover, f"¬ ({proposition(claim)})") else "undecided"
    return found


async def judge(claims: Sequence[str], workers: int) -> dict[str, str]:
    prover = build_prover(ProverConfig(workers=workers))
    verdicts: dict[str, str] = {}
    rest = iter(claims)
    batches = iter(lambda: list(islice(rest, BATCH)), [])
    try:
        await pipeline.run(batches, lambda batch: decide(prover, batch), verdicts.update, concurrency=2 * workers)
    finally:
        await prover.close()
    return verdicts


def kind(calculation: Calculation) -> str:
    return "<<...>>" if calculation.text.startswith("<<") else "prose"


def table(found: Sequence[tuple[str, Calculation]], verdicts: dict[str, str]) -> Table:
    counts = Counter(
        (kind(c), verdicts[c.claim] if c.claim else f"left alone: {c.reason}") for _, c in found
    )  # fmt: skip
    kinds = ("<<...>>", "prose")
    table = Table("calculations", *kinds, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("found", *(f"{sum(kind(c) == name for _, c in found):,}" for name in kinds))
    table.add_row("parsed", *(f"{sum(kind(c) == name and bool(c.claim) for _, c in found):,}" for name in kinds))
    outcomes = {outcome: None for _, outcome in sorted(counts, key=lambda key: -counts[key])}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.startswith("left alone")):
        table.add_row(f"  {outcome}", *(f"{counts[name, outcome]:,}" for name in kinds))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="Lean processes (default: 1)")
    args = parser.parse_args()
    began = time.perf_counter()
    found = read(args.file)
    claims = list(dict.fromkeys(calculation.claim for _, calculation in found if calculation.claim))
    print(f"{len(claims):,} different claims, read in {time.perf_counter() - began:.1f} s", file=sys.stderr)
    verdicts = asyncio.run(judge(claims, args.workers))
    console = Console(width=120)
    console.print(table(found, verdicts))
    print(f"{time.perf_counter() - began:.0f} s in all")
    for place, calculation in found:
        if calculation.claim and verdicts[calculation.claim] != "verified":
            said = f"{verdicts[calculation.claim]}: {calculation.text} (comes to {calculation.value})"
            print(f"{said}\n    {place}")
        if calculation.claim and (verdicts[calculation.claim] == "verified") != calculation.holds:
            print("    Lean and the arithmetic of the parser do not agree")


if __name__ == "__main__":
    main()
