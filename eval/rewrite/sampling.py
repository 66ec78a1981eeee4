"""Rejection sampling: each stratum is drawn from, in an order that the seed decides, until enough are kept. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from rltpf.records import Problem, content_id
from rltpf.shards import Shard

Fate = Literal["kept", "lost", "open"]
"""What became of a problem; `open`: infrastructure kept it from a verdict, and the next start takes it up."""


def strata(problems: Iterable[Problem], level_column: str | None, seed: int) -> dict[str, list[Problem]]:
    """The problems of each level in the order in which they are drawn, which hangs on nothing but seed and content."""
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(level_of(problem, level_column), []).append(problem)
    for members in found.values():
        members.sort(key=lambda problem: content_id(seed, problem.id))
    return dict(sorted(found.items()))


def level_of(problem: Problem, level_column: str | None) -> str:
    return "" if level_column is None else str(problem.extra[level_column])


def share(target: int | None, shard: Shard) -> int | None:
    """The part of a stratum's target that falls to a shard."""
    return None if target is None else target // shard.total + (shard.number < target % shard.total)


def drawn(order: Sequence[Problem], fate: Callable[[Problem], Fate | None], target: int | None) -> list[Problem]:
    """The problems that are or have to be tried now: as many as would meet the target if all that are open were kept.

    Never is one drawn too many, so which ones are drawn in the end does not hang on the order of the work.
    """
    found: list[Problem] = []
    room = len(order) if target is None else target
    for problem in order:
        if room == 0:
            break
        found.append(problem)
        room -= fate(problem) != "lost"
    return found
