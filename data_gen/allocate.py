"""Table 1 of the paper: which answers become SFT rows, which become DPO pairs, and which are left out. Pure
functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
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
    decided: tuple[Answer, ...] = ()
    """The verified and the false answers, each text once: what is learned from them one by one."""
    contradicted: tuple[Answer, ...] = ()
    """A false answer and a verified one that begins with all that the false one says up to its false step: the judge
    takes itself back, so neither is believed."""


def allocate(answers: Sequence[Answer]) -> Allocation:
    """The fate of the answers to one question; the order in which they are given does not matter.

    Verified answers of a question with no false one go to SFT, each text once; else verified is paired with false in
    the order in which they were sampled, no answer used twice. False answers alone are discarded; a question of whose
    answers fewer than two were decided, or none verified next to an undecided one, goes to neither set.
    """
    ordered = sorted(answers, key=lambda answer: answer.number)
    judged = [answer for answer in ordered if answer.verdict != "error"]
    disputed = {a.id for pair in product(judged, repeat=2) if _contradict(*pair) for a in pair}
    believed = [answer for answer in judged if answer.id not in disputed]
    decided = _distinct(believed)
    verified = tuple(answer for answer in decided if answer.verdict == "verified")
    false = tuple(answer for answer in decided if answer.verdict == "false")
    # One verified answer beside an undecided one is not the `verified / verified` of table 1.
    undecided = len(believed) < len(ordered) and (len(believed) < 2 or not verified)
    paired = bool(verified and false)
    fate: Fate = "dpo" if paired else "error" if undecided else "sft" if verified else "discarded"
    return Allocation(
        ordered[0].question_id,
        fate,
        sft=verified if fate == "sft" else (),
        dpo=tuple(zip(verified, false, strict=False)),
        decided=tuple(decided),
        contradicted=tuple(answer for answer in judged if answer.id in disputed),
    )


def _distinct(answers: Iterable[Answer]) -> list[Answer]:
    """Answers with a text of their own: the same text twice is one sample."""
    seen: dict[str, Answer] = {}
    for answer in answers:
        seen.setdefault(_plain(answer.answer), answer)
    return list(seen.values())


def _contradict(verified: Answer, false: Answer) -> bool:
    if (verified.verdict, false.verdict) != ("verified", "false"):
        return False
    refuted = [step.outcome for step in false.steps].index("false") + 1
    said, other = ([_plain(step.text) for step in answer.steps[:refuted]] for answer in (verified, false))
    return said == other


def _plain(text: str) -> str:
    """A text as it is compared with others: spaces and line ends tell no two apart."""
    return " ".join(text.split())
