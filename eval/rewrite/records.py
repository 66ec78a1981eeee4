"""What the stages of rewriting hand to each other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from rltpf.prover.session import LeanUsage
from rltpf.records import Failure, Record

STAGES = ("source", "rewrite", "screen", "formalise", "check", "prove", "verify", "guard", "extract", "classify")
"""Where a candidate can end, in the order of the pipeline."""


@dataclass(frozen=True)
class StatementTry(Record):
    """One Lean statement and what was wrong with it; `reason` is empty for the one that was kept."""

    statement: str
    reason: str = ""
    complaint: str = ""


@dataclass(frozen=True)
class ProofTry(Record):
    """One proof text of k, and the kinds of its failure, the telling one first; none where it was verified."""

    text: str
    kinds: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Rewrite(Record):
    """One rewriting of a problem on its way through the stages; `error` says where it ended, None where it is kept."""

    question: str
    statements: tuple[StatementTry, ...] = ()
    statement: str = ""
    proofs: tuple[ProofTry, ...] = ()
    lean: str = ""
    axioms: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    answer: str = ""
    evidence: str = ""
    error: Failure | None = None

    @property
    def kept(self) -> bool:
        return self.error is None

    def ended(self, stage: str, reason: str, detail: str = "") -> Rewrite:
        return dataclasses.replace(self, error=Failure(stage, reason, detail))


@dataclass(frozen=True)
class Candidate(Record):
    """A problem of the source with all its rewrites; `error` is that of the last one, None where it is retained."""

    id: str
    question: str
    answer: str
    source: str
    level: str
    rewrites: tuple[Rewrite, ...] = ()
    error: Failure | None = None
    usage: LeanUsage = LeanUsage()

    @property
    def kept(self) -> bool:
        return self.error is None
