"""Problems of Formal Problem Solving (arXiv:2505.04528): their records, and the Lean statements made of them.

A problem is split into what does not hang on the answer (`intros`), what may mention `answer` (`outros`, the last of
them the conclusion), and a proposition that says what the answer is, nearly always `answer = …`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rltpf.datasets import read_jsonl
from rltpf.errors import InputError
from rltpf.prover.lean_text import words
from rltpf.records import Record

SIZES = {"formal_math500": 387, "minif2f_solving": 375, "putnam_solving": 324}
"""The benchmarks and how many problems each has."""

DEFAULT_OPENS = "open BigOperators Real Nat Topology"


@dataclass(frozen=True)
class Binder(Record):
    """A variable or hypothesis `(name : t)`, or an instance `[t]` where it has no name."""

    t: str
    name: str | None
    v: None = None

    @property
    def text(self) -> str:
        return f"[{self.t}]" if self.name in (None, "_") else f"({self.name} : {self.t})"


def binders(elements: Iterable[Binder]) -> str:
    return " ".join(element.text for element in elements)


@dataclass(frozen=True)
class FpsProblem(Record):
    """A problem as its file has it; `bench` and `idx`, its line counted from 0, are its only key."""

    bench: str
    idx: int
    informal_problem: str
    informal_answer: str
    informal_solution: str
    header: str | None
    intros: tuple[Binder, ...]
    outros: tuple[Binder, ...]
    formal_answer: str
    formal_answer_type: str
    metainfo: dict[str, Any]

    @property
    def constrained(self) -> bool:
        """Whether the problem mentions its answer: where it does not, any answer solves it."""
        return any("answer" in words(outro.t) for outro in self.outros)


def load(path: Path) -> list[FpsProblem]:
    """The problems of a benchmark's JSONL file; raises `InputError` with a line for every row that is none."""
    problems: list[FpsProblem] = []
    faults: list[str] = []
    for number, (place, row) in enumerate(read_jsonl(path)):
        if isinstance(row, str):
            faults.append(f"{place}: {row}")
            continue
        try:
            problem = FpsProblem.from_json({**row, "bench": path.stem, "idx": number})
        except ValidationError as error:
            first = error.errors()[0]
            faults.append(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}")
            continue
        if problem.outros:
            problems.append(problem)
        else:
            faults.append(f"{place}: outros: holds no conclusion")
    if not problems and not faults:
        faults = [f"{path}: holds no rows"]
    if faults:
        raise InputError(*faults)
    return problems


def forward(problem: FpsProblem, name: str) -> str:
    """Find a term: its answer is what the proof puts for `answer`."""
    goal = _quantified("∀", binders(problem.outros[:-1]), f"({problem.outros[-1].t})")
    return _theorem(name, problem, f"∃ (answer : {problem.formal_answer_type}), {goal}")


def forward_proposition(problem: FpsProblem, name: str) -> str:
    """Find a proposition about `answer` (D-FPS) that the conclusion is equivalent to."""
    goal = _quantified("∀", binders(problem.outros[:-1]), f"(({problem.outros[-1].t}) ↔ h_submission)")
    return _theorem(name, problem, f"∀ (answer : {problem.formal_answer_type}), ∃ (h_submission : Prop), {goal}")


def backward(problem: FpsProblem, name: str) -> str:
    """Prove that the known answer is one."""
    known = replace(problem.outros[-1], t=problem.formal_answer, name="h_submission")
    answer = Binder(problem.formal_answer_type, "answer")
    goal = _quantified("∀", binders([answer, known, *problem.outros[:-1]]), f"({problem.outros[-1].t})")
    return _theorem(name, problem, goal)


def answered(problem: FpsProblem, answer: str, name: str) -> str:
    """The backward statement with another answer, a Lean term, in the place of the known one."""
    return backward(replace(problem, formal_answer=f"answer = {answer}"), name)


def _theorem(name: str, problem: FpsProblem, goal: str) -> str:
    return f"theorem {name} :\n    {_quantified('∀', binders(problem.intros), goal)}"


def _quantified(quantifier: str, bound: str, goal: str) -> str:
    return f"{quantifier} {bound}, {goal}" if bound else goal


@dataclass(frozen=True)
class Metrics:
    """Counts of problems; the shares are of the whole benchmark, whatever was submitted."""

    size: int
    solved: int
    not_equivalent: int
    proven: int

    @property
    def submitted(self) -> int:
        return self.solved + self.not_equivalent

    def line(self) -> str:
        shares = {
            "Solved": self.solved,
            "NE-submitted": self.not_equivalent,
            "Submitted": self.submitted,
            "Proven": self.proven,
        }
        parts = (f"{name} {100 * count / self.size:.2f} % ({count})" for name, count in shares.items())
        return f"{', '.join(parts)} of {self.size}"


def metrics(rows: Sequence[dict[str, Any]], size: int) -> Metrics:
    """Of rows with `submission`, `equivalent`, and `proven` where the backward statement is. A problem with several
    rows, which share `idx`, is solved where one of them is."""
    problems: dict[Any, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        problems.setdefault(("idx", row["idx"]) if "idx" in row else number, []).append(row)
    submitted = [
        [row["equivalent"] for row in group if isinstance(row.get("submission"), str) and row["submission"].strip()]
        for group in problems.values()
    ]
    return Metrics(
        size=size,
        solved=sum(any(found) for found in submitted),
        not_equivalent=sum(bool(found) and not any(found) for found in submitted),
        proven=sum(any(row.get("proven") is True for row in group) for group in problems.values()),
    )
