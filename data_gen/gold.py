"""Labelled steps: what a judge should say of the rows that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data_gen.answers import parse_chain
from data_gen.records import Verdict
from rltpf.errors import InputError
from rltpf.rows import first_faults, read_rows

LABELS: tuple[Verdict, ...] = ("verified", "false", "error")


@dataclass(frozen=True)
class Gold:
    """The labels of an answer's steps and, last, of its final answer; None for a step of which nothing is said."""

    kind: str
    labels: tuple[Verdict | None, ...]

    @property
    def verdict(self) -> Verdict:
        """What its labels make of the answer."""
        return next((label for label in ("false", "error") if label in self.labels), "verified")


def read_gold(source: str, rows: Sequence[dict[str, Any]]) -> dict[str, Gold]:
    """The labels of each row by its id; raises `InputError` with a line for every fault."""
    texts = {row["id"]: chain.texts if (chain := parse_chain(row["answer"])) else () for row in rows}

    def labelled(row: dict[str, Any]) -> tuple[str, Gold]:
        if fault := _fault(row, texts):
            raise ValueError(fault)
        return row["id"], Gold(row.get("kind", ""), tuple(step["label"] for step in row["gold"]))

    found = dict(read_rows(source, (), labelled))
    if missing := [f"{source}: has no labels for the row {name!r}" for name in texts if name not in found]:
        raise InputError(*first_faults(source, missing))
    return found


def _fault(row: dict[str, Any], texts: dict[str, tuple[str, ...]]) -> str:
    name, steps = row["id"], row.get("gold")
    if name not in texts:
        return f"no row that is judged has the id {name!r}"
    if not isinstance(row.get("kind", ""), str):
        return f"kind has to be a text, and is {row['kind']!r}"
    if not isinstance(steps, list):
        return f"gold has to be a list of steps, each with text and label, and is {steps!r}"
    for number, step in enumerate(steps, start=1):
        if not isinstance(step, dict) or not {"text", "label"} <= step.keys():
            return f"gold, step {number}: has to have text and label, and is {step!r}"
        if step["label"] is not None and step["label"] not in LABELS:
            return f"gold, step {number}: label has to be verified, false, error or null, and is {step['label']!r}"
    if not texts[name]:
        return "its answer has no steps to label: it has to be `Step N: ...` lines and, last, `The answer is N.`"
    for number, (step, text) in enumerate(zip(steps, texts[name], strict=False), start=1):
        if step["text"] != text:
            return f"gold, step {number}: is {step['text']!r}, and the answer's is {text!r}"
    if len(steps) != len(texts[name]):
        return f"gold has {len(steps)} steps, and the answer has {len(texts[name])}, the final answer included"
    return ""
