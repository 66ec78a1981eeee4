"""`audit`: does a data set still say what Lean says? See `audit` for what that establishes, and what it does not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from data_gen.audit import SEAL, answers, seal, theorems
from data_gen.formal import Refusal
from eval.rewrite import audit as rewritten
from eval.rewrite.release import FILE as REWRITTEN
from rltpf import pipeline
from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.progress import Progress
from rltpf.prover.prover import Prover
from rltpf.prover.rows import IN_FLIGHT
from rltpf.runs import write_atomically

DATA_SETS = ("sft.jsonl", "dpo.jsonl")
MOST_SHOWN = 20


@dataclass(frozen=True)
class Finding:
    """What the audit says of a row; `undecided` where Lean timed out or crashed. `theorems` counts those checked."""

    status: Literal["passed", "failed", "undecided"]
    reason: str
    detail: str = ""
    theorems: int = 0
    seconds: float = 0.0


def find_data_sets(names: Sequence[str]) -> list[Path]:
    """The files that are meant: a run's folder stands for its data sets, `-` for standard input."""
    found, faults = [], []
    for name in names:
        path = Path("/dev/stdin" if name == "-" else name)
        known = (*DATA_SETS, f"data/{REWRITTEN}", REWRITTEN)
        files = [path / data_set for data_set in known if (path / data_set).is_file()] if path.is_dir() else [path]
        found += files
        if not files:
            faults.append(
                f"{path}: holds neither {' nor '.join((*DATA_SETS, REWRITTEN))}: name a data set or the folder of a run"
            )
    if faults:
        raise InputError(*faults)
    return found


def read_rows(paths: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """The rows with their places (`file:line`); raises `InputError` with a line for every fault."""
    rows, faults = [], []
    for path in paths:
        for place, row in read_jsonl(path):
            if isinstance(row, str):
                faults.append(f"{place}: {row}")
            elif fault := _fault(row):
                faults.append(f"{place}: {fault}")
            else:
                rows.append((place, row))
    if faults:
        more = [f"{len(faults) - MOST_SHOWN} more faults"] if len(faults) > MOST_SHOWN else []
        raise InputError(*faults[:MOST_SHOWN], *more)
    if not rows:
        raise InputError(f"{', '.join(map(str, paths))}: no rows to audit")
    return rows


def _fault(row: dict[str, Any]) -> str:
    if not is_text(row):
        return "holds a lone surrogate, which is half a character"
    if rewritten.is_rewritten(row):
        return rewritten.fault(row)
    try:
        answers(row)
    except ValueError as error:
        return str(error)
    return ""


async def audit_row(prover: Prover, row: dict[str, Any]) -> Finding:
    """What is wrong with a row, the worst of it: its parts do not agree, or else Lean objects, or else the seal is
    another's."""
    if rewritten.is_rewritten(row):
        passed, reason, detail, seconds = await rewritten.check_row(prover, row)
        status: Literal["passed", "failed", "undecided"] = (
            "undecided" if passed is None else "passed" if passed else "failed"
        )
        return Finding(status, reason, detail, 1, seconds)
    try:
        chains = [theorems(answer) for answer in answers(row)]
    except Refusal as refusal:
        return Finding("failed", refusal.reason, str(refusal))
    checked, seconds = 0, 0.0
    for chain in chains:
        for claim in chain:
            report = await prover.check(claim.statement, claim.text)
            checked, seconds = checked + 1, seconds + report.seconds
            if not report.verified:
                said = report.detail or next((message.text for message in report.messages), "")
                detail = " ".join(f"{claim.name}: {said}".split())
                return Finding("failed" if report.decided else "undecided", report.reason, detail, checked, seconds)
        # The last theorem has the hypotheses of all.
        report = await prover.close_goal(chain[-1].statement, "absurdity")
        seconds += report.seconds
        if report.verified:
            return Finding("failed", "vacuous", "the hypotheses contradict each other", checked, seconds)
        if not report.decided:
            return Finding("undecided", report.reason, report.detail, checked, seconds)
    if row.get(SEAL) != seal(row):
        detail = "the row is not as it was exported" if SEAL in row else "the row has no seal"
        return Finding("failed", "seal", detail, checked, seconds)
    return Finding("passed", "ok", "", checked, seconds)


async def audit_rows(prover: Prover, rows: Sequence[dict[str, Any]], workers: int) -> list[Finding]:
    """A finding for every row, in their order; the prover is closed in the end."""
    findings: dict[int, Finding] = {}

    async def audited(number: int) -> tuple[int, Finding]:
        return number, await audit_row(prover, rows[number])

    with Progress("audit", total=len(rows)) as progress:

        def keep(result: tuple[int, Finding]) -> None:
            number, finding = result
            findings[number] = finding
            progress.advance(failed=finding.status != "passed")

        try:
            await pipeline.run(range(len(rows)), audited, keep, concurrency=IN_FLIGHT * workers)
        finally:
            await prover.close()
    return [findings[number] for number in range(len(rows))]


def write_rows(path: Path, rows: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> None:
    """Write the rows with what was found of each."""
    audited = (
        row | {"status": found.status, "reason": found.reason, "detail": found.detail}
        for row, found in zip(rows, findings, strict=True)
    )
    write_atomically(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in audited))


def table(findings: Sequence[Finding]) -> Table:
    """The counts, each failure with its reason, and what they cost."""
    table = Table("audit", "count", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    table.add_row("rows", f"{len(findings):,}")
    table.add_row("  passed", f"{sum(found.status == 'passed' for found in findings):,}")
    for status in ("failed", "undecided"):
        for reason, count in Counter(found.reason for found in findings if found.status == status).most_common():
            table.add_row(f"  {status}: {reason}", f"{count:,}")
    table.add_row("Lean theorems", f"{sum(found.theorems for found in findings):,}")
    table.add_row("Lean seconds", f"{sum(found.seconds for found in findings):,.0f}")
    return table


def complaints(places: Sequence[str], findings: Sequence[Finding]) -> list[str]:
    """A line for each row that did not pass, the first ones."""
    lines = [
        f"{place}: {found.reason}: {found.detail}"
        for place, found in zip(places, findings, strict=True)
        if found.status != "passed"
    ]
    return lines if len(lines) <= MOST_SHOWN else [*lines[:MOST_SHOWN], f"{len(lines) - MOST_SHOWN} more rows failed"]
