"""Table 1 of the paper: which answers become SFT rows, which become DPO pairs, and which are left out. Pure
functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from data_gen.records import Answer

Fate = Literal["sft", "dpo", "discarded", "error"]


@dataclass(frozen=True)
class Allocation:
    """What becomes of one question's answers; `fate` names the row of table 1."""

    question_id: str
    fate: Fate
    sft: tuple[Answer, ...] = ()
    dpo: tuple[tuple[Answer, Answer], ...] = ()


def allocate(answers: Sequence[Answer]) -> Allocation:
    """The fate of the answers to one question, given in the order in which they were sampled.

    Verified answers of a question with no false one go to SFT, each text once; else verified is paired with false,
    no answer used twice. False answers alone are discarded; a question of whose answers fewer than two were decided,
    or none verified next to an undecided one, goes to neither set.
    """
    question_id = answers[0].question_id
    verified = _distinct(answer for answer in answers if answer.verdict == "verified")
    false = _distinct(answer for answer in answers if answer.verdict == "false")
    if verified and false:
        return Allocation(question_id, "dpo", dpo=tuple(zip(verified, false, strict=False)))
    if any(answer.verdict == "error" for answer in answers):
        # One verified answer beside an undecided one is not the `verified / verified` of table 1.
        decided = sum(answer.verdict != "error" for answer in answers)
        if decided < 2 or not verified:
            return Allocation(question_id, "error")
    if verified:
        return Allocation(question_id, "sft", sft=tuple(verified))
    return Allocation(question_id, "discarded")


def _distinct(answers: Iterable[Answer]) -> list[Answer]:
    """Answers with a text of their own: the same text twice is one sample."""
    seen: dict[str, Answer] = {}
    for answer in answers:
        seen.setdefault(answer.answer, answer)
    return list(seen.values())
