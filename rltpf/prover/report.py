"""What a check found. Fail closed: whatever is not understood is not `verified`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rltpf.records import Record

Status = Literal["verified", "rejected", "timeout", "infra"]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class LeanMessage(Record):
    """A message of Lean; `line` counts from 1 and `column` from 0 in the text that the caller handed in."""

    severity: Severity
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Report(Record):
    """The result of one check.

    `verified` and `rejected` are verdicts; `timeout` and `infra` (Lean crashed, was killed, or answered nonsense) are
    not, and never become labels. `reason` is a code to count by (`ok`, `gate`, `header_error`, `statement_error`,
    `elaboration_error`, `missing_theorem`, `not_a_theorem`, `type_mismatch`, `statement_changed`, `axioms`, `replay`,
    `second_judge`, `unproved`, `vacuous`, `goal_in_hypotheses`, `timeout`, `crash`, `protocol`); `detail` explains it
    in words. `closed_by` names the tactic that proved a goal, or says `model`. `seconds` is time inside Lean, without
    queueing. `flags` names traps in the statement itself (see `traps`).
    """

    status: Status
    reason: str
    detail: str = ""
    messages: tuple[LeanMessage, ...] = ()
    axioms: tuple[str, ...] = ()
    seconds: float = 0.0
    toolchain: str = ""
    closed_by: str = ""
    flags: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        return self.status == "verified"

    @property
    def decided(self) -> bool:
        """True where Lean gave a verdict, false where the infrastructure failed and the check has to be made again."""
        return self.status in ("verified", "rejected")
