"""One item's use of the prover: counts what it costs and keeps failing infrastructure from becoming a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from rltpf.prover.prover import Prover
from rltpf.prover.report import LeanMessage, Report
from rltpf.records import Record

MAX_ERRORS = 8


class InfraError(Exception):
    """Lean crashed or answered nonsense: the item has no verdict and is judged again by the next run."""


@dataclass(frozen=True)
class LeanUsage(Record):
    """Checks made and seconds spent inside Lean."""

    checks: int = 0
    seconds: float = 0.0


class LeanSession:
    """The prover as one question or answer sees it."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self._checks = 0
        self._seconds = 0.0

    @property
    def usage(self) -> LeanUsage:
        return LeanUsage(self._checks, round(self._seconds, 3))

    def _count(self, report: Report) -> Report:
        self._checks += 1
        self._seconds += report.seconds
        if report.status == "infra":
            raise InfraError(f"{report.reason}: {report.detail}")
        return report

    async def elaborates(self, statement: str) -> Report:
        return self._count(await self._prover.elaborates(statement))

    async def contradictory(self, statement: str) -> bool:
        """True where the hypotheses of a statement prove `False`."""
        return self._count(await self._prover.close_goal(statement, "absurdity")).verified

    async def proof_of(self, statement: str, model_proof: str | None) -> tuple[str | None, Report]:
        """A Lean text that proves the statement, with the report of the check that accepted exactly this text.

        The model's own proof is tried first, then the tactic cascade. None where neither closes it; the report then
        tells why.
        """
        report: Report | None = None
        if model_proof is not None:
            text = with_proof(statement, model_proof)
            report = self._count(await self._prover.check(statement, text))
            if report.verified:
                return text, report
        found = self._count(await self._prover.close_goal(statement, "claim"))
        if found.verified:
            # The cascade's word is not enough: what is labelled is byte for byte what was checked.
            text = with_proof(statement, found.closed_by)
            checked = self._count(await self._prover.check(statement, text))
            if checked.verified:
                return text, checked
        return None, report if report is not None and report.messages else found

    async def close(self) -> None:
        await self._prover.close()


def with_proof(statement: str, tactics: str) -> str:
    """A statement with a tactic block as its proof."""
    block = "\n".join(f"  {line}" for line in tactics.strip("\n").splitlines())
    return f"{statement} := by\n{block}"


def complaint(text: str, messages: tuple[LeanMessage, ...]) -> str:
    """Lean's errors for a repair prompt: the text with line numbers, then at most `MAX_ERRORS` messages."""
    numbered = "\n".join(f"{number:>3} | {line}" for number, line in enumerate(text.splitlines(), start=1))
    errors = [message for message in messages if message.severity == "error"]
    lines = [f"line {m.line}, column {m.column}: {m.text.strip()}" for m in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        lines.append(f"... and {len(errors) - MAX_ERRORS} more errors")
    return f"{numbered}\n" + "\n".join(lines or ["Lean found neither a proof of the claim nor one of its negation."])
