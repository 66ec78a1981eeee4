"""What a rewriting found, as tables for the end of its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table


def outcome(metrics: Mapping[str, Any]) -> Table:
    """What became of the candidates, each end with its stage and reason."""
    candidates, rewrites = metrics["candidates"], metrics["rewrites"]
    table = _table("what became of", "count")
    table.add_row("candidates", f"{candidates['in']:,}")
    table.add_row("  retained", f"{candidates['kept']:,}")
    for end, count in candidates["ended"].items():
        table.add_row(f"  ended: {end}", f"{count:,}")
    if candidates.get("unfinished"):
        table.add_row("  unfinished", f"{candidates['unfinished']:,}")
    for name in ("tried", "statements", "proofs"):
        table.add_row("rewrites" if name == "tried" else f"  their {name}", f"{rewrites[name]:,}")
    return table


def rates(metrics: Mapping[str, Any]) -> Table:
    """Generation rate of each stratum, and at each number of proofs."""
    levels = metrics["levels"]
    passes = len(levels[0]["pass"]) if levels else 0
    table = _table("stratum", "sampled", "retained", "%", *(f"pass@{k} %" for k in range(1, passes + 1)))
    for row in levels:
        table.add_row(
            row["level"] or "all",
            f"{row['sampled']:,}",
            f"{row['retained']:,}",
            f"{100 * row['generation_rate']:.1f}",
            *(f"{100 * p:.1f}" for p in row["pass"]),
        )
    return table


def failures(metrics: Mapping[str, Any]) -> Table:
    """The kinds of failed proofs."""
    found = metrics["prover_failures"]
    table = _table("failed proofs", "count")
    table.add_row("all", f"{found['proofs']:,}")
    for kind, count in found["kinds"].items():
        table.add_row(f"  {kind}", f"{count:,}")
    return table


def _table(*columns: str) -> Table:
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    return table
