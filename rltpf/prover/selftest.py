"""`rltpf lean selftest`: does this toolchain judge the cases of a suite as it should?

`suite/*.jsonl` holds gold proofs, honest failures, attacks, and statements that mean less than they seem to. An attack
that is accepted is a wrong label to come, and an honest proof that is refused is as wrong.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rltpf.datasets import read_jsonl
from rltpf.errors import InputError
from rltpf.progress import Progress
from rltpf.prover.cascade import Library
from rltpf.prover.prover import Prover
from rltpf.prover.rows import flagged

SUITE = Path(__file__).with_name("suite")

_CHOICES = {
    "header": ("core", "mathlib"),
    "mode": ("file", "proof", "statement"),
    "expected": ("accept", "reject"),
}
_STRINGS = ("id", "category", "header", "mode", "statement", "submission", "expected")


@dataclass(frozen=True)
class Case:
    """A case and the right judgement, `expected`.

    Of a `statement` the flags are judged: it is rejected where it has one, or one of `flags` where the case names them.
    In the other modes the submission is judged as a proof of the statement. `header` names the library that it needs.
    """

    id: str
    category: str
    header: Library
    mode: Literal["file", "proof", "statement"]
    statement: str
    submission: str
    expected: Literal["accept", "reject"]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """What was found: `wrong` says in words what is wrong, and is empty where the judgement is right."""

    case: Case
    skipped: bool = False
    wrong: str = ""


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """The cases of JSONL files, keys that no case has left aside; raises `InputError` with a line for every fault."""
    cases: list[Case] = []
    faults: list[str] = []
    for path in paths:
        for place, row in read_jsonl(path):
            found = [row] if isinstance(row, str) else list(_faults(row))
            faults += [f"{place}: {fault}" for fault in found]
            if isinstance(row, dict) and not found:
                cases.append(Case(**{name: row[name] for name in _STRINGS}, flags=tuple(row.get("flags", ()))))
    if not cases and not faults:
        faults = [f"{path}: holds no cases" for path in paths]
    if faults:
        raise InputError(*faults)
    return cases


def _faults(row: dict[str, Any]) -> Iterator[str]:
    for name in _STRINGS:
        if not isinstance(row.get(name), str):
            yield f"`{name}` must be a string"
        elif row[name] not in _CHOICES.get(name, (row[name],)):
            yield f"`{name}` must be one of {', '.join(_CHOICES[name])}, not {json.dumps(row[name])[:40]}"
    flags = row.get("flags", [])
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        yield "`flags` must be a list of strings"


async def judge_cases(prover: Prover, cases: Sequence[Case]) -> list[Result]:
    """Judge the cases, in their order; the prover is closed in the end."""
    with Progress("lean selftest", total=len(cases)) as progress:

        async def judged(case: Case) -> Result:
            result = await judge_case(prover, case)
            progress.advance(failed=bool(result.wrong))
            return result

        try:
            return list(await asyncio.gather(*(judged(case) for case in cases)))
        finally:
            await prover.close()


async def judge_case(prover: Prover, case: Case) -> Result:
    if case.header == "mathlib" and prover.library != "mathlib":
        return Result(case, skipped=True)
    if case.mode == "statement":
        return Result(case, wrong=_wrong_flags(case, await prover.traps(case.statement)))
    report = await prover.check(case.statement, case.submission)
    if report.verified:
        report = flagged(report, await prover.traps(case.statement))
    if report.verified == (case.expected == "accept"):
        return Result(case)
    return Result(case, wrong=f"{report.status}, {report.reason} {report.detail}".strip())


def _wrong_flags(case: Case, flags: Sequence[str]) -> str:
    # What could not be decided is no finding.
    raised = set(flags) - {"undecided"}
    rejected = bool(raised & set(case.flags) if case.flags else raised)
    if rejected == (case.expected == "reject"):
        return ""
    return f"flags: {', '.join(flags) or 'none'}" + (f" (not {' or '.join(case.flags)})" if case.flags else "")


def table(results: Sequence[Result]) -> str:
    """The counts by category, and a line for every case that was judged wrongly."""
    cases = Counter(result.case.category for result in results)
    skipped = Counter(result.case.category for result in results if result.skipped)
    wrong = Counter(result.case.category for result in results if result.wrong)
    width = max(map(len, (*cases, "category")))
    lines = [f"{'category':{width}}  cases  right  wrong  skipped"]
    for name in (*cases, "all"):
        n, bad, left = (c.total() if name == "all" else c[name] for c in (cases, wrong, skipped))
        lines.append(f"{name:{width}}  {n:5}  {n - bad - left:5}  {bad:5}  {left:7}")
    lines += [
        f"{result.case.id} ({result.case.category}): expected {result.case.expected}, found {result.wrong}"
        for result in results
        if result.wrong
    ]
    if any(result.skipped for result in results):
        lines.append("skipped: cases that need Mathlib, which this toolchain does not have")
    return "\n".join(lines)
