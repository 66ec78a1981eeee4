"""Which candidate is selected: pure rules over what Lean said of each (specification: base_rpe, A9 to A13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rltpf.records import Record
from rltpf.selection.candidates import value_of

Route = Literal["base", "edited", "chosen", "rewritten", "formalised", "none"]
"""How a candidate got its statement: it is the base; its term stands in the one slot, or in slots that a model chose
among several; the rewriter's function wrote it; it was formalised by itself; or it has none."""
Verdict = Literal["elaborates", "rejected", "refused", "none", "infra"]
"""What Lean said of the statement: it elaborates, it does not, it was not asked (the text may not reach it, or means
less than it seems to), there is no statement, or there was no verdict."""
Proof = Literal["proved", "refuted", "open", ""]


@dataclass(frozen=True)
class Judged(Record):
    """One candidate and what became of it. `proof` is empty where nothing was tried."""

    candidate: str
    route: Route = "none"
    statement: str = ""
    verdict: Verdict = "none"
    proof: Proof = ""
    reason: str = ""

    @property
    def elaborates(self) -> bool:
        return self.verdict == "elaborates"


Rule = Callable[[Sequence[Judged]], int | None]
"""The place of the selected candidate, from 0; None where there are no candidates."""


def first(judged: Sequence[Judged]) -> int | None:
    """The paper's rule: the first whose statement elaborates, else the first."""
    return _best(judged, lambda item: item.elaborates)


def proved(judged: Sequence[Judged]) -> int | None:
    """Proof level: the first that is proved, else the first that elaborates and is not refuted, else the first that is
    not refuted, else the first."""
    for accept in (
        lambda item: item.proof == "proved",
        lambda item: item.elaborates and item.proof != "refuted",
        lambda item: item.proof != "refuted",
    ):
        place = next((place for place, item in enumerate(judged) if accept(item)), None)
        if place is not None:
            return place
    return 0 if judged else None


def majority(judged: Sequence[Judged]) -> int | None:
    """The most frequent value among the candidates that are proved, else among those that elaborate and are not
    refuted, else among all; of equals the first."""
    survivors: list[int] = []
    for accept in (
        lambda item: item.proof == "proved",
        lambda item: item.elaborates and item.proof != "refuted",
        lambda item: True,
    ):
        survivors = [place for place, item in enumerate(judged) if accept(item)]
        if survivors:
            break
    return _most_frequent(judged, survivors)


def rank_one(judged: Sequence[Judged]) -> int | None:
    """Control: the solver's own first answer, without Lean."""
    return 0 if judged else None


def plain_majority(judged: Sequence[Judged]) -> int | None:
    """Control: the most frequent value, without Lean."""
    return _most_frequent(judged, range(len(judged)))


RULES: Mapping[str, Rule] = {
    "first": first,
    "proof": proved,
    "majority": majority,
    "rank 1, no Lean": rank_one,
    "majority, no Lean": plain_majority,
}


def _best(judged: Sequence[Judged], accept: Callable[[Judged], bool]) -> int | None:
    return next((place for place, item in enumerate(judged) if accept(item)), 0 if judged else None)


def _most_frequent(judged: Sequence[Judged], places: Sequence[int]) -> int | None:
    if not places:
        return None
    values = [value_of(judged[place].candidate) for place in places]
    counts = Counter(values)
    return places[max(range(len(places)), key=lambda i: (counts[values[i]], -i))]
