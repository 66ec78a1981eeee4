"""`rltpf rpe`: rows in, rows with the equivalence of their submissions out, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from eval.fps import SIZES, metrics
from eval.rpe import Equivalence, Question, equivalence
from rltpf.datasets import is_text
from rltpf.prover.prover import Prover
from rltpf.prover.rows import write_in_order
from rltpf.rows import collect

FIELDS = ("answer_type", "intros", "header", "submission", "formal_answer")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file, whatever they hold; raises `InputError` where one is no object."""
    return collect(path, lambda row: row)


def question(row: dict[str, Any]) -> Question | str:
    """What the row asks, or what is wrong with it."""
    if type(row.get("id")) not in (str, int):
        return "id: has to be a string or an integer"
    if not is_text([row.get(name) for name in FIELDS]):
        return "holds a lone surrogate, which is half a character"
    try:
        return Question.from_json({"header": None} | {name: row[name] for name in FIELDS if name in row})
    except ValidationError as error:
        return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg'].lower()}" for e in error.errors()[:3])


async def judge_rows(prover: Prover, rows: Sequence[dict[str, Any]], output: TextIO, workers: int = 1) -> str:
    """Judge the rows and write each in the order of the input; the summary. The prover is closed in the end."""
    judged: list[dict[str, Any]] = []

    async def one(row: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        asked = question(row)
        if isinstance(asked, str):
            found = Equivalence(False, "", "row_error", asked)
        else:
            found = await equivalence(prover, asked)
        result = row | found.to_json()
        judged.append(result)
        return result, found.decided

    try:
        await write_in_order("rpe", rows, one, output, workers)
    finally:
        await prover.close()
    return summary(judged)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """How many rows had each reason, and the metrics of every benchmark that rows name in `bench`."""
    reasons = Counter(row["reason"] for row in rows)
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda r: (-r[1], r[0])))
    lines = [f"rpe: {len(rows)} rows: {counts}"]
    for bench, size in SIZES.items():
        if own := [row for row in rows if row.get("bench") == bench]:
            lines.append(f"{bench}: {metrics(own, size).line()}")
    return "\n".join(lines)
