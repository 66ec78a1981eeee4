"""The numbers of tables 1 and figure 7, from records alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.quality.judging import CRITERIA, Judgement
from eval.quality.runs import Runs, key, made
from eval.rewrite.records import Candidate

ALL = "all"
"""The level that holds the problems of every level."""


def quality(runs: Runs, judged: Mapping[str, Judgement]) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Counts for each set, run and level.

    `full`: all problems that the run was tried on; `subset`: those of which the first run made new ones. Of the
    `sampled` problems `generated` were made into new ones; `judged` are those of them of which the judge has said
    something, which the criteria are counted of, and `unreadable` those of which nobody can read what it said; `proved`
    have a proof that Lean accepted.
    """
    first = next(iter(runs.values()))
    retained = {candidate.id for candidate in first if made(candidate) is not None}
    sets = {
        "full": runs,
        "subset": {name: [c for c in candidates if c.id in retained] for name, candidates in runs.items()},
    }
    return {
        title: {name: _by_level(candidates, judged) for name, candidates in part.items()}
        for title, part in sets.items()
    }


def _by_level(candidates: Sequence[Candidate], judged: Mapping[str, Judgement]) -> dict[str, dict[str, int]]:
    levels = sorted({candidate.level for candidate in candidates})
    found = {ALL: _counts(candidates, judged)}
    if len(levels) > 1:
        found |= {level: _counts([c for c in candidates if c.level == level], judged) for level in levels}
    return found


def _counts(candidates: Sequence[Candidate], judged: Mapping[str, Judgement]) -> dict[str, int]:
    rewrites = [rewrite for candidate in candidates if (rewrite := made(candidate)) is not None]
    replies = [judged[key(rewrite)] for rewrite in rewrites if key(rewrite) in judged]
    judgements = [judgement for judgement in replies if not judgement.unreadable]
    return {
        "sampled": len(candidates),
        "generated": len(rewrites),
        "proved": sum(bool(rewrite.lean) for rewrite in rewrites),
        "judged": len(judgements),
        "unreadable": len(replies) - len(judgements),
        **{name: sum(getattr(judgement, name) for judgement in judgements) for name in CRITERIA},
    }


def failures(runs: Runs) -> dict[str, dict[str, int]]:
    """How many candidates of each run ended where and why, those that made no new problem."""
    found: dict[str, dict[str, int]] = {}
    for name, candidates in runs.items():
        ends = sorted(f"{c.error.stage}:{c.error.reason}" for c in candidates if c.error is not None)
        found[name] = {end: ends.count(end) for end in dict.fromkeys(ends)}
    return found


def lacking(runs: Runs) -> dict[str, int]:
    """For each run how many problems of the subset it was not tried on, where there are any."""
    first = next(iter(runs.values()))
    retained = {candidate.id for candidate in first if made(candidate) is not None}
    found = {name: len(retained - {candidate.id for candidate in candidates}) for name, candidates in runs.items()}
    return {name: count for name, count in found.items() if count}


def others(runs: Runs) -> dict[str, tuple[int, int]]:
    """For each run that was not tried on the first one's problems, how many of them it was tried on, and how many
    others."""
    tried = {name: {candidate.id for candidate in candidates} for name, candidates in runs.items()}
    first = next(iter(tried.values()))
    return {name: (len(ids & first), len(ids - first)) for name, ids in tried.items() if ids != first}


def row(counts: Mapping[str, int]) -> list[Any]:
    """Numbers of a line of table 1: problems, new ones, those judged, those with an unreadable reply; then the criteria
    and the generation rate in percent, None of nothing."""
    shares = [(counts[name], counts["judged"]) for name in CRITERIA]
    shares += [(counts["proved"], counts["generated"]), (counts["generated"], counts["sampled"])]
    numbers = [counts[name] for name in ("sampled", "generated", "judged", "unreadable")]
    return [*numbers, *(100 * part / whole if whole else None for part, whole in shares)]
