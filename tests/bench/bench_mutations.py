"""How many changed calculations Lean refutes in solutions that the labelled set was not made of.

    python tests/bench/bench_mutations.py FILE [--skip 360] [--workers 2]

FILE is GSM8K's `test.jsonl`, whose first 360 rows `gold/chains.jsonl` is made of. Of every other solution come all the
chains there can be: `number` and `operator`, each with one calculation made false, and `none`, of which nothing may be
refuted. Each is judged as `rltpf judge` does without a model; what is missed is printed with its line.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from data_gen.calculated import judge_calculations
from gold.mutations import MUTATIONS, Chain, read
from rltpf import pipeline
from rltpf.datasets import read_jsonl
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig

KINDS = ("number", "operator", "none")


@dataclass(frozen=True)
class Case:
    """A chain, where it is from, and the index of the step that Lean refuted, if any."""

    place: str
    kind: str
    chain: Chain
    refuted: int | None = None

    @property
    def false(self) -> int | None:
        """The index of the step that is labelled false."""
        return self.chain.labels.index("false") if "false" in self.chain.labels else None

    @property
    def text(self) -> str:
        steps = (f"Step {number}: {line}" for number, line in enumerate(self.chain.lines, start=1))
        return "\n".join([*steps, f"The answer is {self.chain.answer}."])


def cases(path: Path, skip: int) -> Iterator[Case]:
    for number, (place, row) in enumerate(read_jsonl(path), start=1):
        solution = read(row["question"], row["answer"]) if number > skip else None
        for kind in KINDS if solution else ():
            chain = MUTATIONS[kind](solution, random.Random(f"{number} {kind}"))
            if chain is not None:
                yield Case(str(place), kind, chain)


async def judge(prover: Prover, case: Case) -> Case:
    judgement = await judge_calculations(prover, case.text)
    verdicts = [step.outcome for step in judgement.steps]
    return Case(case.place, case.kind, case.chain, verdicts.index("false") if "false" in verdicts else None)


async def judged(found: Iterator[Case], workers: int) -> list[Case]:
    prover = build_prover(ProverConfig(workers=workers))
    done: list[Case] = []
    try:
        await pipeline.run(found, lambda case: judge(prover, case), done.append, concurrency=4 * workers)
    finally:
        await prover.close()
    return done


def table(done: Sequence[Case]) -> Table:
    table = Table("kind", "chains", "refuted", "another step", "precision", "recall", "F1", box=None, pad_edge=False)
    changed = tuple(kind for kind in KINDS if kind != "none")
    for name, kinds in (*((kind, (kind,)) for kind in KINDS), ("all", KINDS), ("changed", changed)):
        some = [case for case in done if case.kind in kinds]
        right = sum(case.refuted is not None and case.refuted == case.false for case in some)
        wrong = sum(case.refuted is not None and case.refuted != case.false for case in some)
        false = sum(case.false is not None for case in some)
        precision = f"{right / (right + wrong):.3f}" if right + wrong else ""
        scores = (f"{right / false:.3f}", f"{2 * right / (right + wrong + false):.3f}") if false else ("", "")
        table.add_row(name, f"{len(some):,}", f"{right:,}", f"{wrong:,}", precision, *scores)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--skip", type=int, default=360, help="rows at the start to leave out (default: 360)")
    parser.add_argument("--workers", type=int, default=1, help="Lean processes (default: 1)")
    args = parser.parse_args()
    done = asyncio.run(judged(cases(args.file, args.skip), args.workers))
    Console(width=110).print(table(done))
    for case in done:
        if case.refuted != case.false:
            index = case.false if case.refuted is None else case.refuted
            assert index is not None
            said = "missed" if case.refuted is None else "refuted, and not labelled false"
            print(f"{said}: {case.kind}: {case.place}: {[*case.chain.lines, case.chain.answer][index]}")


if __name__ == "__main__":
    main()
