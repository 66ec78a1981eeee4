"""What selections were good for: exact counts with one denominator for all rules (specification: base_rpe, A13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rltpf.intervals import wilson
from rltpf.selection.choice import RULES
from rltpf.selection.selector import Selection

Same = Callable[[str, str], bool]
"""Whether a candidate is the gold answer."""


@dataclass(frozen=True)
class Scored:
    """A selection and the gold answer of its problem."""

    selection: Selection
    gold: str


def summarise(scored: Sequence[Scored], sames: Mapping[str, Same]) -> dict[str, Any]:
    """The numbers of all problems, by each notion of equality.

    `accuracy` of a rule is out of all problems, `given_gold` out of those whose candidates hold the gold answer
    (`gold_at_k`): the first is the product of the second and `gold_at_k`. `interval_95` is Wilson's, of the accuracy.
    `at_random` is how many would be right on average if each problem's answer were drawn from those that elaborate, a
    control of what the order of the candidates is worth.
    """
    selections = [item.selection for item in scored]
    calls = Counter[str]()
    for selection in selections:
        calls.update(selection.calls)
    n = len(scored)
    return {
        "problems": n,
        "equality": {name: _by_equality(scored, same) for name, same in sames.items()},
        "base_rank": _base_ranks(selections),
        "no_base": sum(selection.base is None for selection in selections),
        "pass_at_k": sum(any(item.elaborates for item in selection.judged) for selection in selections),
        "candidates": sum(len(selection.judged) for selection in selections),
        "elaborating": sum(item.elaborates for selection in selections for item in selection.judged),
        "passing": {
            str(count): problems
            for count, problems in sorted(
                Counter(sum(item.elaborates for item in selection.judged) for selection in selections).items()
            )
        },
        "routes": dict(sorted(Counter(item.route for s in selections for item in s.judged).items())),
        "calls_per_problem": {role: count / n for role, count in sorted(calls.items())} if n else {},
        "independent_calls_per_problem": sum(s.independent_calls for s in selections) / n if n else 0.0,
        "lean_seconds_per_problem": sum(selection.lean_seconds for selection in selections) / n if n else 0.0,
    }


def _base_ranks(selections: Sequence[Selection]) -> dict[str, int]:
    ranks = Counter(selection.base + 1 for selection in selections if selection.base is not None)
    return {str(rank): ranks[rank] for rank in sorted(ranks)}


def _by_equality(scored: Sequence[Scored], same: Same) -> dict[str, Any]:
    right = [[same(item.candidate, one.gold) for item in one.selection.judged] for one in scored]
    holds = [any(flags) for flags in right]
    rules = {name: [_hit(rule(one.selection.judged), flags) for one, flags in zip(scored, right, strict=True)]
             for name, rule in RULES.items()}  # fmt: skip
    if any(one.selection.independent for one in scored):
        for name in ("first", "proof", "majority"):
            rules[f"{name}, independent"] = [
                _hit(RULES[name](one.selection.independent), flags) for one, flags in zip(scored, right, strict=True)
            ]
    passed = [
        any(flag and item.elaborates for flag, item in zip(flags, one.selection.judged, strict=True))
        for one, flags in zip(scored, right, strict=True)
    ]
    return {
        "gold_at_k": sum(holds),
        "gold_elaborates": sum(passed),
        "rules": {
            name: {
                "right": sum(hits),
                "accuracy": _share(sum(hits), len(scored)),
                "given_gold": _share(sum(hits), sum(holds)),
                "interval_95": list(wilson(sum(hits), len(hits))) if hits else None,
            }
            for name, hits in rules.items()
        },
        "at_random": sum(_drawn(one.selection, flags) for one, flags in zip(scored, right, strict=True)),
        "proofs": _proofs(scored, right),
    }


def _proofs(scored: Sequence[Scored], right: Sequence[Sequence[bool]]) -> dict[str, dict[str, int]]:
    """Proof verdicts of right and of wrong candidates: a wrong one that is proved comes from a wrong formalisation."""
    table = {"right": Counter[str](), "wrong": Counter[str]()}
    for one, flags in zip(scored, right, strict=True):
        for item, flag in zip(one.selection.judged, flags, strict=True):
            if item.proof:
                table["right" if flag else "wrong"][item.proof] += 1
    return {name: dict(sorted(counts.items())) for name, counts in table.items()}


def _drawn(selection: Selection, flags: Sequence[bool]) -> float:
    """The chance of the gold answer among those that elaborate; as with the rules, rank 1 where none does."""
    passing = [flag for flag, item in zip(flags, selection.judged, strict=True) if item.elaborates] or flags[:1]
    return sum(passing) / len(passing) if passing else 0.0


def _hit(place: int | None, flags: Sequence[bool]) -> bool:
    return place is not None and flags[place]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
