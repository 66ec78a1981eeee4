"""What the stages of data generation hand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from data_gen.formal import FormalStep
from rltpf.prover.session import LeanUsage
from rltpf.records import Failure, Record

Verdict = Literal["verified", "false", "error"]
Outcome = Literal["verified", "false", "error", "vacuous", "no_claim", "unchecked"]


class Reply(BaseModel):
    """Base of what a model is asked for as JSON: read strictly, and with nothing else in it."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class TelescopeAttempt(Record):
    """One version of s2 and what was wrong with it; `complaint` is empty for the one that was kept."""

    telescope: str
    reason: str = ""
    complaint: str = ""


@dataclass(frozen=True)
class Question(Record):
    """A question on its way through s0 to s4 (paper section 2.2.1).

    `phase` is the last phase it passed; `error` is None exactly where that is `s4`, and the question is kept. `gold` is
    what the data give as its answer, and nobody's verdict hangs on it.
    """

    id: str
    question: str
    gold: str
    phase: Literal["seed", "s0", "s1", "s2", "s3", "s4"] = "seed"
    symbols: dict[str, Any] | None = None
    telescope: str | None = None
    retelling: str | None = None
    alignment: str | None = None
    attempts: tuple[TelescopeAttempt, ...] = ()
    error: Failure | None = None
    usage: LeanUsage = LeanUsage()
    seed: str | None = None
    """The question of the seed problem that a model made this one from; None for the seed problem's own."""

    @property
    def kept(self) -> bool:
        return self.error is None


@dataclass(frozen=True)
class StepVerdict(Record):
    """What Lean said of one step; `lean` is the checked theorem with its proof, of the claim or, where false, of its
    negation."""

    text: str
    claim: str | None
    outcome: Outcome
    reason: str = ""
    lean: str = ""


@dataclass(frozen=True)
class Attempt(Record):
    """One formalisation of an answer (paper algorithm 1): what it said, how far it came, and why it ended.

    `elaborated` has one flag for each entry from number `first` (counted from 1) on; `tokens` are those of the
    model's reply.
    """

    iteration: int
    first: int
    steps: tuple[FormalStep, ...]
    elaborated: tuple[bool, ...]
    outcome: Verdict
    reason: str = ""
    complaint: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class Judgement(Record):
    """The verdict on an answer, with everything that led to it. `steps` holds the prose steps and, last, the final
    answer."""

    verdict: Verdict
    reason: str
    steps: tuple[StepVerdict, ...]
    attempts: tuple[Attempt, ...]
    usage: LeanUsage = LeanUsage()

    @property
    def lean(self) -> str:
        """The theorems that carry the verdict, one Lean file."""
        return "\n\n".join(step.lean for step in self.steps if step.lean)


@dataclass(frozen=True)
class Answer(Record):
    """One sampled answer and its judgement; `number` counts the samples of a question from 0."""

    id: str
    question_id: str
    number: int
    question: str
    answer: str
    verdict: Verdict
    reason: str
    steps: tuple[StepVerdict, ...]
    attempts: tuple[Attempt, ...]
    lean: str
    usage: LeanUsage = LeanUsage()
