"""`audit`: does a data set still say what Lean says? See `audit` for what that establishes, and what it does not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from data_gen.audit import SEAL, Theorem, answers, seal, theorems
from data_gen.export import COLUMNS
from data_gen.formal import Refusal
from eval.rewrite import audit as rewriting
from eval.rewrite.audit import Released
from eval.rewrite.release import FILE as REWRITTEN
from rltpf import pipeline
from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.hub import loading
from rltpf.progress import Progress
from rltpf.prover.prover import Prover
from rltpf.prover.rows import IN_FLIGHT
from rltpf.runs import write_atomically

MOST_SHOWN = 20
_FILES = (*(f"{kind}.jsonl" for kind in COLUMNS), f"data/{REWRITTEN}", REWRITTEN)
_FOLDER = "dataset_dict.json"

Part = tuple[Theorem, ...] | Released
"""What Lean is asked about at once: the theorems of an answer, or a rewritten problem."""


Status = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What the audit says of a row, or of one answer; `undecided` where Lean timed out or crashed. `theorems` counts
    those of an answer that were checked."""

    status: Status
    reason: str
    detail: str = ""
    theorems: int = 0
    seconds: float = 0.0


def find_data_sets(names: Sequence[str]) -> list[Path]:
    """The files and the folders for `load_from_disk` that are meant: a run's folder stands for its files, `-` for
    standard input."""
    found, faults = [], []
    for name in names:
        path = Path("/dev/stdin" if name == "-" else name)
        if path.is_dir() and not (path / _FOLDER).is_file():
            files = [path / known for known in _FILES if (path / known).is_file()]
        else:
            files = [path]
        found += files
        if not files:
            faults.append(f"{path}: holds no {', '.join(_FILES)} or {_FOLDER}: name a data set or a run")
    if faults:
        raise InputError(*faults)
    return found


def read_rows(paths: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """The rows with their places (`file:line`); raises `InputError` with a line for every fault."""
    rows, faults = [], []
    for path in paths:
        for place, row in _read_folder(path) if path.is_dir() else read_jsonl(path):
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


def _read_folder(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(`folder/kind: row N`, row) of a folder that `save_to_disk` wrote."""
    import datasets

    with loading(str(path)):
        sets = datasets.load_from_disk(path)
    for kind, rows in sets.items():
        for number, row in enumerate(rows, start=1):
            yield f"{path / kind}: row {number}", row


def _fault(row: dict[str, Any]) -> str:
    if not is_text(row):
        return "holds a lone surrogate, which is half a character"
    try:
        rewriting.released(row) if rewriting.is_rewritten(row) else answers(row)
    except ValueError as error:
        return str(error)
    return ""


async def audit_rows(
    prover: Prover, rows: Sequence[dict[str, Any]], workers: int
) -> tuple[list[Finding], list[Finding]]:
    """A finding for every row, in their order, and those of the answers that Lean was asked about.

    The data sets of a run have their answers in common, and each is checked once, however many rows hold it.
    """
    taken = [_take_apart(row) for row in rows]
    distinct = dict.fromkeys(part for parts in taken if not isinstance(parts, Finding) for part in parts)
    found: dict[Part, Finding] = {}

    async def audited(part: Part) -> tuple[Part, Finding]:
        return part, await _audit_part(prover, part)

    with Progress("answers", total=len(distinct)) as progress:

        def keep(result: tuple[Part, Finding]) -> None:
            part, finding = result
            found[part] = finding
            progress.advance(failed=finding.status != "passed")

        await pipeline.run(distinct, audited, keep, concurrency=IN_FLIGHT * workers)
    return [_conclude(row, parts, found) for row, parts in zip(rows, taken, strict=True)], list(found.values())


def _take_apart(row: dict[str, Any]) -> list[Part] | Finding:
    """The parts of a row, one for each of its answers, or why they do not agree."""
    if rewriting.is_rewritten(row):
        return [rewriting.released(row)]
    try:
        return [tuple(theorems(answer)) for answer in answers(row)]
    except Refusal as refusal:
        return Finding("failed", refusal.reason, str(refusal))


async def _audit_part(prover: Prover, part: Part) -> Finding:
    """What Lean objects to in an answer."""
    if isinstance(part, Released):
        passed, reason, detail, seconds = await rewriting.check(prover, part)
        status: Status = "undecided" if passed is None else "passed" if passed else "failed"
        return Finding(status, reason, detail, 1, seconds)
    checked, seconds = 0, 0.0
    for claim in part:
        report = await prover.check(claim.statement, claim.text)
        checked, seconds = checked + 1, seconds + report.seconds
        if not report.verified:
            said = report.detail or next((message.text for message in report.messages), "")
            detail = " ".join(f"{claim.name}: {said}".split())
            return Finding("failed" if report.decided else "undecided", report.reason, detail, checked, seconds)
    # The last theorem has the hypotheses of all.
    report = await prover.close_goal(part[-1].statement, "absurdity")
    seconds += report.seconds
    if report.verified:
        return Finding("failed", "vacuous", "the hypotheses contradict each other", checked, seconds)
    if not report.decided:
        return Finding("undecided", report.reason, report.detail, checked, seconds)
    return Finding("passed", "ok", "", checked, seconds)


def _conclude(row: dict[str, Any], parts: list[Part] | Finding, found: Mapping[Part, Finding]) -> Finding:
    """What is wrong with a row, the worst of it: its parts do not agree, or else Lean objects, or else the seal is
    another's."""
    if isinstance(parts, Finding):
        return parts
    for finding in (found[part] for part in parts):
        if finding.status != "passed":
            return finding
    if row.get(SEAL) != seal(row):
        return Finding("failed", "seal", "the row is not as it was exported" if SEAL in row else "the row has no seal")
    return Finding("passed", "ok")


def write_rows(path: Path, rows: Sequence[dict[str, Any]], findings: Sequence[Finding]) -> None:
    """Write the rows with what was found of each."""
    audited = (
        row | {"status": found.status, "reason": found.reason, "detail": found.detail}
        for row, found in zip(rows, findings, strict=True)
    )
    write_atomically(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in audited))


def table(findings: Sequence[Finding], answers: Sequence[Finding]) -> Table:
    """The counts of rows, each failure with its reason, and what the answers cost."""
    table = Table("audit", "count", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    table.add_row("rows", f"{len(findings):,}")
    table.add_row("  passed", f"{sum(found.status == 'passed' for found in findings):,}")
    for status in ("failed", "undecided"):
        for reason, count in Counter(found.reason for found in findings if found.status == status).most_common():
            table.add_row(f"  {status}: {reason}", f"{count:,}")
    table.add_row("Lean theorems", f"{sum(found.theorems for found in answers):,}")
    table.add_row("Lean seconds", f"{sum(found.seconds for found in answers):,.0f}")
    return table


def complaints(places: Sequence[str], findings: Sequence[Finding]) -> list[str]:
    """A line for each row that did not pass, the first ones."""
    lines = [
        f"{place}: {found.reason}: {found.detail}"
        for place, found in zip(places, findings, strict=True)
        if found.status != "passed"
    ]
    return lines if len(lines) <= MOST_SHOWN else [*lines[:MOST_SHOWN], f"{len(lines) - MOST_SHOWN} more rows failed"]
