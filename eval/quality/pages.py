"""What a comparison of methods says, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.quality.metrics import others, row
from eval.quality.runs import Runs
from rltpf import markdown as md

_SETS = {"full": "All problems", "subset": "Problems that {first} rewrote"}
_NUMBERS = ("well-defined, %", "feasible, %", "correct, %", "proved, %", "generation rate, %")


def quality(
    found: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]], failures: Mapping[str, Mapping[str, int]]
) -> str:
    """Table 1, by level, and where the problems went that were not rewritten."""
    first = next(iter(found["full"]))
    parts = ["# Quality of rewritten problems"]
    for title, runs in found.items():
        rows = [
            (md.text(name), md.text(level or "no level"), *map(_number, row(counts)))
            for name, levels in runs.items()
            for level, counts in levels.items()
        ]
        header = ("method", "level", "problems", "rewritten", "judged", "unreadable", *_NUMBERS)
        parts += [f"## {_SETS[title].format(first=md.text(first))}", md.table(header, rows)]
    parts += [
        "The criteria are shares of the rewritten problems that were judged, each a part of the one before it; what is "
        "correct is so by the judge's own answer. Where the judge's reply is *unreadable* it says neither yes nor "
        "no, and the problem is in none of these shares. *Proved* are those whose answer Lean proved.",
        "![Quality by level](quality.png)",
        "## What was not rewritten",
    ]
    ends = [(md.text(name), md.code(end), count) for name, run in failures.items() for end, count in run.items()]
    parts.append(md.table(("method", "end", "problems"), ends) if ends else "Nothing.")
    return "\n\n".join(parts) + "\n"


def different_problems(runs: Runs) -> list[str]:
    """A line for each run whose rates are not of the first one's problems."""
    first, candidates = next(iter(runs.items()))
    return [
        f"{name} was tried on {same} of the {len(candidates)} problems of {first} and on {more} others: their rates "
        "differ by the problems too"
        for name, (same, more) in others(runs).items()
    ]


def rates(metrics: Mapping[str, Mapping[str, Any]], notes: Sequence[str]) -> str:
    """Generation rates by stratum, and with each number of proofs; `notes` say what makes them differ."""
    passes = max(len(level["pass"]) for found in metrics.values() for level in found["levels"])
    rows = [
        (
            md.text(name),
            md.text(level["level"] or "all"),
            level["sampled"],
            level["retained"],
            _number(100 * level["generation_rate"]),
            *(_number(100 * p) for p in level["pass"]),
            *("-" for _ in range(passes - len(level["pass"]))),
        )
        for name, found in metrics.items()
        for level in found["levels"]
    ]
    header = ("run", "stratum", "sampled", "retained", "rate, %", *(f"pass@{k}, %" for k in range(1, passes + 1)))
    plots = "![Generation rates](generation.png)" + ("\n\n![Rates by number of proofs](passes.png)" if passes else "")
    return "\n\n".join(["# Generation rates", md.table(header, rows), *map(md.text, notes), plots]) + "\n"


def agreement(rows: Sequence[Sequence[Any]]) -> str:
    """Table 3: how often people and the judge say the same."""
    header = ("method", "source", "checked", "well-defined, %", "feasible, %", "correct, %")
    lines = [(md.text(name), md.text(source), count, *map(_number, shares)) for name, source, count, *shares in rows]
    return md.table(header, lines)


def _number(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"
