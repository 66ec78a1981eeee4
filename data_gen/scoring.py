"""What `judge --gold` writes and prints: `gold.json` in the run directory, its tables, and the wrong verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from data_gen.agreement import answers, shown, steps, summary, wrong
from data_gen.gold import Gold
from rltpf.runs import RunDirectory

SCORES = "gold.json"
MOST_SHOWN = 20


def score(run: RunDirectory, rows: Sequence[dict[str, Any]], gold: Mapping[str, Gold]) -> None:
    """Write and print how far the verdicts on these rows agree with their labels."""
    judged = {"steps": steps(rows, gold), "answers": answers(rows, gold)}
    found = {unit: summary(items) for unit, items in judged.items()}
    differing = [item.to_json() for item in judged["steps"] if item.outcome != item.label]
    written = run.write(SCORES, json.dumps({**found, "differing": differing}, ensure_ascii=False, indent=1) + "\n")
    console = Console()
    for unit, numbers in found.items():
        console.print(shown(unit, numbers))
        print()
    decided = wrong(judged["steps"])
    for item in decided[:MOST_SHOWN]:
        print(f"{item.id}, step {item.step}: labelled {item.label}, judged {item.outcome} ({item.reason}): {item.text}")
    print(f"decided otherwise than labelled: {len(decided)} steps; all that differ: {written}")
