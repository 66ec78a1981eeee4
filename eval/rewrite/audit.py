"""Does a row of a rewritten data set still say what Lean says? From its Lean text alone, without any model.

That the statement says what the problem says, and that the original is the benchmark's, the row cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from eval.rewrite import final, literal
from eval.rewrite.guards import find_fault
from eval.rewrite.lean_reply import is_locked
from eval.rewrite.records import Rewrite
from rltpf.prover.prover import Prover
from rltpf.prover.session import InfraError, LeanSession


@dataclass(frozen=True)
class Released:
    """The columns of a row that Lean's word is about."""

    rewritten_question: str
    new_answer: str
    lean_statement: str
    lean_proof: str
    lean_header: str


def is_rewritten(row: dict[str, Any]) -> bool:
    return "lean_proof" in row


def released(row: dict[str, Any]) -> Released:
    """The columns; raises `ValueError` in one line where one of them is no text."""
    columns: dict[str, Any] = {field.name: row.get(field.name) for field in fields(Released)}
    for name, value in columns.items():
        if not isinstance(value, str):
            raise ValueError(f"`{name}` has to be a text, and is {value!r}")
    return Released(**columns)


async def check(prover: Prover, row: Released) -> tuple[bool | None, str, str, float]:
    """Whether a row passes, None where Lean did not decide; the reason as a code, a detail, and Lean's seconds."""
    lean = LeanSession(prover)
    passed, reason, detail = await _checked(prover, lean, row)
    return passed, reason, detail, lean.usage.seconds


async def _checked(prover: Prover, lean: LeanSession, row: Released) -> tuple[bool | None, str, str]:
    statement, proof, answer = row.lean_statement, row.lean_proof, row.new_answer
    if row.lean_header != prover.header:
        return None, "header", f"the row is of the header {row.lean_header!r}, and Lean here has another one"
    if not is_locked(statement, proof):
        return False, "claim", "the proof is not of the statement"
    if refusal := literal.refusal(answer, proof, proof):
        return False, "answer", refusal
    if failure := final.failure(answer, row.rewritten_question, statement):
        return False, "answer", failure.detail
    try:
        report = await lean.check(statement, proof)
        if not report.verified:
            detail = report.detail or next((message.text for message in report.messages), "")
            return (False if report.decided else None), report.reason, " ".join(detail.split())
        _, reason, detail = await find_fault(Rewrite("", statement=statement, lean=proof), lean)
    except InfraError as error:
        return None, "infra", str(error)
    return (False, reason, detail) if reason else (True, "ok", "")
