"""What may make a rewritten problem harder than its original besides being new: eleven measures of a pair.

Source: RePro, appendix I; specification: repro, section 3. Lengths are numbers of words, numbers and signs.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

_TOKEN = re.compile(r"\w+(?:\.\w+)?|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|\d+(?:\.\d+)?(?!\w|\.\d)|\.\d+)")

CONFOUNDS = (
    "problem length change",
    "absolute problem length change",
    "surface distance",
    "numeric range change",
    "absolute numeric range change",
    "numeric count change",
    "absolute numeric count change",
    "solution length change",
    "absolute solution length change",
    "Lean proof length",
    "rewritten solution length",
)


@dataclass(frozen=True)
class Pair:
    """A problem and its rewriting. Solution lengths are in tokens, as `tokens` counts them; None where there is no
    solution."""

    original: str
    rewritten: str
    lean_proof: str
    original_solution: float | None
    rewritten_solution: float | None


def measure(pair: Pair) -> dict[str, float | None]:
    """Every confound of a pair by its name; None where the pair does not have what it needs."""
    length = _log_ratio(tokens(pair.rewritten), tokens(pair.original))
    range_ = math.log1p(largest_number(pair.rewritten)) - math.log1p(largest_number(pair.original))
    count = float(len(numbers(pair.rewritten)) - len(numbers(pair.original)))
    solution = None
    if pair.original_solution is not None and pair.rewritten_solution is not None:
        solution = _log_ratio(pair.rewritten_solution, pair.original_solution)
    values: Mapping[str, float | None] = {
        "problem length change": length,
        "absolute problem length change": abs(length),
        "surface distance": surface_distance(pair.original, pair.rewritten),
        "numeric range change": range_,
        "absolute numeric range change": abs(range_),
        "numeric count change": count,
        "absolute numeric count change": abs(count),
        "solution length change": solution,
        "absolute solution length change": None if solution is None else abs(solution),
        "Lean proof length": math.log1p(tokens(pair.lean_proof)) if pair.lean_proof.strip() else None,
        "rewritten solution length": None if pair.rewritten_solution is None else math.log1p(pair.rewritten_solution),
    }
    return {name: values[name] for name in CONFOUNDS}


def tokens(text: str) -> int:
    """Words, numbers and signs of a text."""
    return len(_TOKEN.findall(text))


def numbers(text: str) -> list[Fraction]:
    """The numeric literals of a text in order, without signs: 1,234.5 is one, and `x2` holds none."""
    return [Fraction(literal.replace(",", "")) for literal in _NUMBER.findall(text)]


def largest_number(text: str) -> float:
    """The largest absolute value among the numeric literals; 0 where there are none."""
    return float(max(numbers(text), default=Fraction(0)))


def surface_distance(one: str, other: str) -> float:
    """1 minus difflib's similarity of the texts in lower case with single spaces."""
    # Without `autojunk`, which takes the frequent letters of texts above 200 characters for noise.
    matcher = difflib.SequenceMatcher(None, _plain(one), _plain(other), autojunk=False)
    return 1 - matcher.ratio()


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _log_ratio(after: float, before: float) -> float:
    return math.log((after + 1) / (before + 1))
