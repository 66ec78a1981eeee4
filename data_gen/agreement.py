"""How far verdicts agree with labels: confusion, precision, recall and F1 for each outcome, over all answers and for
each kind of them. Pure functions.

A step that nobody looked at, or that was taken for no claim, was not found: it counts against the recall of its label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from data_gen.gold import LABELS, Gold
from rltpf.records import Record

OUTCOMES = (*LABELS, "no_claim", "unchecked")
ALL = "all"


@dataclass(frozen=True)
class Judged(Record):
    """A label and what the judge says; `step` counts from 1, the final answer last, and is 0 for the whole answer."""

    id: str
    kind: str
    step: int
    text: str
    label: str
    outcome: str
    reason: str


def steps(rows: Sequence[dict[str, Any]], gold: Mapping[str, Gold]) -> list[Judged]:
    """The labelled steps of judged rows."""
    return list(_steps(rows, gold))


def _steps(rows: Sequence[dict[str, Any]], gold: Mapping[str, Gold]) -> Iterator[Judged]:
    for row in rows:
        labels = gold[row["id"]].labels
        # A question that was not formalised leaves its answer without steps.
        said = row["steps"] or [{"text": "", "outcome": "unchecked", "reason": ""}] * len(labels)
        for number, (step, label) in enumerate(zip(said, labels, strict=True), start=1):
            if label is not None:
                # Vacuous hypotheses count as an error of the chain, here as everywhere.
                outcome = "error" if step["outcome"] == "vacuous" else step["outcome"]
                yield Judged(row["id"], gold[row["id"]].kind, number, step["text"], label, outcome, step["reason"])


def answers(rows: Sequence[dict[str, Any]], gold: Mapping[str, Gold]) -> list[Judged]:
    """The answers of judged rows, each as a whole."""
    return [
        Judged(row["id"], own.kind, 0, "", own.verdict, row["verdict"], row.get("reason", ""))
        for row in rows
        for own in (gold[row["id"]],)
    ]


def confusion(judged: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """For each label that occurs, how often the judge said what."""
    counts = Counter((item.label, item.outcome) for item in judged)
    found = {label: {outcome: counts[label, outcome] for outcome in OUTCOMES} for label in LABELS}
    return {label: row for label, row in found.items() if any(row.values())}


def scores(table: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float | None]]:
    """Precision, recall and F1 of each outcome; None where there is nothing to divide by."""
    found: dict[str, dict[str, float | None]] = {}
    for label in LABELS:
        hits = table.get(label, {}).get(label, 0)
        said = sum(row[label] for row in table.values())
        there = sum(table.get(label, {}).values())
        found[label] = {
            "precision": hits / said if said else None,
            "recall": hits / there if there else None,
            "f1": 2 * hits / (said + there) if said + there else None,
        }
    return found


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """Confusion and scores, over all and by kind."""
    kinds = dict.fromkeys(item.kind for item in judged if item.kind)
    groups = {ALL: judged, **{kind: [item for item in judged if item.kind == kind] for kind in kinds}}
    return {name: {"confusion": (table := confusion(group)), "scores": scores(table)} for name, group in groups.items()}


def wrong(judged: Sequence[Judged]) -> list[Judged]:
    """Where the judge decided, and not as labelled: `verified` or `false` in place of anything else."""
    return [item for item in judged if item.outcome in ("verified", "false") and item.outcome != item.label]


def shown(title: str, found: Mapping[str, Any]) -> Table:
    """A summary as a table, a line for each label of each kind; outcomes that never occur have no column."""
    outcomes = [o for o in OUTCOMES if o in LABELS or any(row[o] for row in found[ALL]["confusion"].values())]
    table = Table(title, "gold", *outcomes, "precision", "recall", "F1", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[2:]:
        column.justify = "right"
    for kind, group in found.items():
        for number, (label, row) in enumerate(group["confusion"].items()):
            rates = ["" if rate is None else f"{rate:.3f}" for rate in group["scores"][label].values()]
            table.add_row("" if number else kind, label, *(f"{row[outcome]:,}" for outcome in outcomes), *rates)
    return table
