"""One item's use of the prover: counts what it costs and keeps failing infrastructure from becoming a verdict."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.records import Record


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

    async def check(self, statement: str, text: str) -> Report:
        """Whether a whole Lean text proves the statement."""
        return self._count(await self._prover.check(statement, text))

    async def traps(self, statement: str) -> tuple[str, ...]:
        """The names of the statement's traps."""
        self._checks += 1
        return await self._prover.traps(statement)

    async def provable(self, statement: str, tactics: str) -> bool:
        """Whether these tactics, or the cascade, prove a statement whose hypotheses can be met."""
        return self._count(await self._prover.prove(statement, tactics)).verified

    async def proof_of(self, statement: str, model_proof: str | None) -> tuple[str | None, Report]:
        """A Lean text that proves the statement, with the report of the check that accepted exactly this text.

        The model's own proof is tried first, then the tactic cascade. None where neither closes it. The report then is
        on the statement with the model's own proof; if there is none, or Lean did not decide on it, it has no messages.
        """
        own: Report | None = None
        if model_proof is not None:
            text = with_proof(statement, model_proof)
            own = self._count(await self._prover.check(statement, text))
            if own.verified:
                return text, own
        found = self._count(await self._prover.close_goal(statement, "claim"))
        if found.verified:
            # The cascade's word is not enough: what is labelled is byte for byte what was checked.
            text = with_proof(statement, found.closed_by)
            checked = self._count(await self._prover.check(statement, text))
            if checked.verified:
                return text, checked
        if own is not None and own.decided:
            return None, own
        # What Lean says of the cascade's tactics is about a text that the model did not write.
        return None, dataclasses.replace(found, detail="", messages=())

    async def close(self) -> None:
        await self._prover.close()


def with_proof(statement: str, tactics: str) -> str:
    """A statement with a tactic block as its proof."""
    block = "\n".join(f"  {line}" for line in tactics.strip("\n").splitlines())
    return f"{statement} := by\n{block}"
