"""What a run found, as tables for the end of its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table


def outcome(metrics: Mapping[str, Any]) -> Table:
    """What became of questions and answers, each loss with its stage and reason."""
    questions, answers, allocation = metrics["questions"], metrics["answers"], metrics["allocation"]
    table = Table("what became of", "count", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    table.add_row("questions", f"{questions['in']:,}")
    table.add_row("  kept", f"{questions['kept']:,}")
    for reason, count in questions["lost"].items():
        table.add_row(f"  lost: {reason}", f"{count:,}")
    if questions.get("unfinished"):
        table.add_row("  unfinished", f"{questions['unfinished']:,}")
    table.add_row("answers", f"{answers['in']:,}")
    for verdict in ("verified", "false", "error"):
        table.add_row(f"  {verdict}", f"{answers[verdict]:,}")
    for iteration in metrics["iterations"]:
        name = "first try" if iteration["iteration"] == 1 else f"repair {iteration['iteration'] - 1}"
        executed = f"{iteration['chains_elaborated']:,} of {iteration['chains']:,}"
        table.add_row(f"  Lean could read, {name}", executed)
    table.add_row("SFT rows", f"{allocation['sft_rows']:,}")
    table.add_row("DPO pairs", f"{allocation['dpo_pairs']:,}")
    if allocation["dpo_pairs"]:
        for side, words in metrics["lengths"]["words"].items():
            table.add_row(f"  mean words, {side}", f"{words['mean']:,}")
    return table


def expense(metrics: Mapping[str, Any]) -> Table:
    """What each role asked of its model, and what Lean did; cost where the prices are configured."""
    roles, lean = metrics["llm"], metrics["lean"]
    priced = any(account["cost"] for account in roles.values())
    table = Table("role", "calls", "cached", "failed", "tokens in", "out", box=None, pad_edge=False)
    if priced:
        table.add_column("cost")
    for column in table.columns[1:]:
        column.justify = "right"
    for role, account in roles.items():
        keys = ("calls", "cached", "failed", "prompt_tokens", "completion_tokens")
        cost = [] if not priced else ["" if account["cost"] is None else f"{account['cost']:.4f}"]
        table.add_row(role, *(f"{account[key]:,}" for key in keys), *cost)
    table.add_row(f"Lean ({lean['seconds']:,.0f} s)", f"{lean['checks']:,}")
    return table
