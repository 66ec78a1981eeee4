"""What a selection was good for, as tables for the end of its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table


def accuracy(metrics: Mapping[str, Any]) -> Table:
    """Right answers by rule, the controls among them, under each notion of equality; all out of all problems, and with
    95 % intervals in percent."""
    equalities = metrics["equality"]
    table = Table("rule", *(f"right, {name}" for name in equalities), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for rule in next(iter(equalities.values()))["rules"]:
        table.add_row(rule, *(_right(found["rules"][rule], metrics) for found in equalities.values()))
    drawn = (f"{found['at_random']:.1f} of {metrics['problems']}" for found in equalities.values())
    table.add_row("drawn from those that elaborate", *drawn)
    table.add_row("gold among the candidates", *(_out_of(t["gold_at_k"], metrics) for t in equalities.values()))
    return table


def effort(metrics: Mapping[str, Any]) -> Table:
    """Calls for each problem by role, Lean's time, and the rank at which a base was found."""
    table = Table("for each problem", "", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for role, calls in metrics["calls_per_problem"].items():
        table.add_row(f"calls of the {role}", f"{calls:.2f}")
    if metrics["independent_calls_per_problem"]:
        table.add_row("calls of the formaliser, each by itself", f"{metrics['independent_calls_per_problem']:.2f}")
    table.add_row("seconds of Lean", f"{metrics['lean_seconds_per_problem']:.1f}")
    for rank, problems in metrics["base_rank"].items():
        table.add_row(f"base at rank {rank}", _out_of(problems, metrics))
    table.add_row("no base", _out_of(metrics["no_base"], metrics))
    return table


def _right(rule: Mapping[str, Any], metrics: Mapping[str, Any]) -> str:
    interval = rule["interval_95"]
    bounds = f" ({100 * interval[0]:.0f} to {100 * interval[1]:.0f} %)" if interval else ""
    return _out_of(rule["right"], metrics) + bounds


def _out_of(count: int, metrics: Mapping[str, Any]) -> str:
    return f"{count} of {metrics['problems']}"
