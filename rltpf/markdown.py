"""Markdown pieces that stay intact whatever text they are given: model text must not break out of its cell or block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMERIC = re.compile(r"[-+]?\d|-$")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; columns that hold numbers alone are right-aligned."""
    lines = [[str(cell) for cell in row] for row in rows]
    rule = ["--:" if all(_NUMERIC.match(cell) for cell in column) else ":--" for column in zip(*lines, strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *lines))


def text(value: str) -> str:
    """Prose for a table cell or a line: one line, no markup."""
    return re.sub(r"([\\|*_`\[\]<>#])", r"\\\1", " ".join(value.split()))


def code(value: str) -> str:
    """A code span that may stand in a table cell."""
    value = " ".join(value.split()).replace("|", "\\|")
    ticks = "`" * (_longest_run(value) + 1)
    return f"{ticks} {value} {ticks}" if "`" in value else f"{ticks}{value}{ticks}"


def block(value: str, language: str = "") -> str:
    """A fenced block, its fence longer than any run of backticks inside."""
    fence = "`" * max(3, _longest_run(value) + 1)
    return f"{fence}{language}\n{value.rstrip()}\n{fence}"


def share(part: int, whole: int) -> str:
    """A share in percent with one decimal; a dash where there is nothing to take a share of."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"`+", value)), default=0)
