"""Which candidate is selected: pure rules over what Lean said of each (specification: base_rpe, A9 to A13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rltpf.records import Record
from rltpf.selection.candidates import values_of

Route = Literal["base", "edited", "chosen", "rewritten", "formalised", "none"]
"""How a candidate got its statement: it is the base; its term stands in the one slot, or in slots that a model chose
among several; the rewriter's function wrote it; it was formalised by itself; or it has none."""
Verdict = Literal["elaborates", "rejected", "refused", "none"]
"""What Lean said of the statement: it elaborates, it does not, it was not asked (the text may not reach it, or means
less than it seems to), or there is no statement."""
Proof = Literal["proved", "refuted", "open", ""]


@dataclass(frozen=True)
class Judged(Record):
    """One candidate and what became of it. `proof` is empty where nothing was tried; `consistent` is whether a model
    says that the statement says what the problem says, None where none was asked. `votes` is how many of the ranked
    answers have its value."""

    candidate: str
    route: Route = "none"
    statement: str = ""
    verdict: Verdict = "none"
    proof: Proof = ""
    reason: str = ""
    consistent: bool | None = None
    votes: int = 1

    @property
    def elaborates(self) -> bool:
        return self.verdict == "elaborates"

    @property
    def is_proved(self) -> bool:
        return self.proof == "proved"

    @property
    def is_refuted(self) -> bool:
        return self.proof == "refuted"

    @property
    def survives(self) -> bool:
        """Whether its statement elaborates and is not refuted."""
        return self.elaborates and not self.is_refuted


Rule = Callable[[Sequence[Judged]], int | None]
"""The place of the selected candidate, from 0; None where there are no candidates."""


def first(judged: Sequence[Judged]) -> int | None:
    """The paper's rule: the first whose statement elaborates, else the first."""
    return _first(_survivors(judged, lambda item: item.elaborates))


def proved(judged: Sequence[Judged]) -> int | None:
    """Proof level: the first that is proved, else the first that elaborates and is not refuted, else the first that is
    not refuted, else the first."""
    levels = (lambda item: item.is_proved, lambda item: item.survives, lambda item: not item.is_refuted)
    return _first(_survivors(judged, *levels))


def majority(judged: Sequence[Judged]) -> int | None:
    """The most frequent value among the candidates that are proved, else among those that elaborate and are not
    refuted, else among those that are not refuted, else among all; of equals the first. One whose statement is not
    consistent is in neither of the first two (FANS)."""
    levels = (lambda item: item.is_proved, lambda item: item.survives)
    consistent = [lambda item, level=level: level(item) and item.consistent is not False for level in levels]
    return _most_frequent(judged, _survivors(judged, *consistent, lambda item: not item.is_refuted))


def unique(judged: Sequence[Judged]) -> int | None:
    """The paper's stricter rule: the only candidate whose statement elaborates; none where that is not one."""
    places = [place for place, item in enumerate(judged) if item.elaborates]
    return places[0] if len(places) == 1 else None


def rank_one(judged: Sequence[Judged]) -> int | None:
    """Control: the solver's own first answer, without Lean."""
    return _first(range(len(judged)))


def plain_majority(judged: Sequence[Judged]) -> int | None:
    """Control: the most frequent value, without Lean."""
    return _most_frequent(judged, range(len(judged)))


RULES: Mapping[str, Rule] = {
    "first": first,
    "proof": proved,
    "majority": majority,
    "unique": unique,
    "rank 1, no Lean": rank_one,
    "majority, no Lean": plain_majority,
}


def _survivors(judged: Sequence[Judged], *levels: Callable[[Judged], bool]) -> Sequence[int]:
    """The places of the candidates at the first level that any reaches; all where none does."""
    for reaches in levels:
        if places := [place for place, item in enumerate(judged) if reaches(item)]:
            return places
    return range(len(judged))


def _first(places: Sequence[int]) -> int | None:
    return places[0] if places else None


def _most_frequent(judged: Sequence[Judged], places: Sequence[int]) -> int | None:
    if not places:
        return None
    values = values_of([item.candidate for item in judged])
    counts = Counter[str]()
    for place in places:
        counts[values[place]] += judged[place].votes
    return max(places, key=lambda place: (counts[values[place]], -place))
