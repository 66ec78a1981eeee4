"""Model calls that the judge needs for an answer, with and without the arithmetic formaliser, on the same answers.

    python tests/bench/bench_calls.py [--workers 2] [TEACHER.yaml ...]

The answers and their formalisations are the demo's authored ones, judged by real Lean. Algorithm 1 as printed
formalises an answer once and then once for each repair, until it is verified or false or five repairs are used up. Ours
does the same, but stops where the hypotheses contradict each other, which no repair of an answer mends; and an answer
with a refuted calculation needs no call at all.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from data_gen.answers import sample_answer
from data_gen.formalize import Formaliser
from data_gen.judge import Judge
from data_gen.records import Judgement, Question
from demo.record import TeacherModel
from demo.teacher import Teacher
from rltpf.llm.model import Completion, Request, Sampling
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig

REPAIRS = 5
GOAL = 0.6


class Counting(TeacherModel):
    """The teacher, whose calls are counted."""

    def __init__(self, teacher: Teacher) -> None:
        super().__init__(teacher)
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        return await super().complete(request)


@dataclass(frozen=True)
class Judged:
    judgement: Judgement
    calls: int

    @property
    def as_printed(self) -> int:
        """The formalisations that algorithm 1 as printed asks for where ours without arithmetic ended so."""
        return 1 + REPAIRS if self.judgement.reason == "vacuous" else len(self.judgement.attempts)


async def sampled(teacher: Teacher, prover: Prover) -> list[tuple[Question, str]]:
    """The answers to all questions that are kept."""
    model = TeacherModel(teacher)
    formaliser = Formaliser(model, prover, lambda role: Sampling(), REPAIRS)
    found = []
    for entry in teacher.entries:
        question = await formaliser.formalise(Question("", entry["question"], "", phase="s0"))
        for number in range(len(entry["answers"]) if question.kept else 0):
            found.append((question, await sample_answer(model, question.question, number, Sampling())))
    return found


async def judged(teacher: Teacher, prover: Prover, answers: Sequence[tuple[Question, str]]) -> list[Judged]:
    async def judge(question: Question, answer: str) -> Judged:
        model = Counting(teacher)
        telescope = str(question.telescope)
        judgement = await Judge(model, prover, Sampling(), REPAIRS).judge(question.question, telescope, answer)
        return Judged(judgement, model.calls)

    return await asyncio.gather(*(judge(question, answer) for question, answer in answers))


async def measured(teacher: Teacher, workers: int) -> tuple[list[Judged], list[Judged]]:
    """The same answers, judged without the arithmetic formaliser and with it."""
    prover = build_prover(ProverConfig(workers=workers))
    try:
        answers = await sampled(teacher, prover)
        none = {"wrong_calculations": lambda text: []}
        with patch.multiple("data_gen.calculated", **none), patch.multiple("data_gen.judge", **none):
            without = await judged(teacher, prover, answers)
        return without, await judged(teacher, prover, answers)
    finally:
        await prover.close()


def table(without: Sequence[Judged], with_it: Sequence[Judged]) -> Table:
    printed = sum(answer.as_printed for answer in without)
    rows = (
        ("algorithm 1 as printed", printed, without),
        ("without the arithmetic formaliser", sum(answer.calls for answer in without), without),
        ("with it", sum(answer.calls for answer in with_it), with_it),
    )
    title = f"{len(without)} answers; goal: {GOAL} of algorithm 1 as printed"
    table = Table("judge", "calls", "an answer", "ratio", "verified", "false", "error", title=title)
    for name, calls, answers in rows:
        verdicts = Counter(answer.judgement.verdict for answer in answers)
        numbers = (f"{calls:,}", f"{calls / len(answers):.2f}", f"{calls / printed:.2f}")
        table.add_row(name, *numbers, *(str(verdicts[verdict]) for verdict in ("verified", "false", "error")))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", nargs="*", type=Path, default=sorted(Path("demo/teacher").glob("*.yaml")))
    parser.add_argument("--workers", type=int, default=1, help="Lean processes (default: 1)")
    args = parser.parse_args()
    without, with_it = asyncio.run(measured(Teacher(args.teacher), args.workers))
    Console(width=110).print(table(without, with_it))
    print(f"{sum(not answer.calls for answer in with_it)} answers needed no call")


if __name__ == "__main__":
    main()
