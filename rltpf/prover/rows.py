"""Rows in, rows with verdicts out, as `rltpf lean check` and `rltpf rpe` have it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from rltpf.datasets import read_jsonl
from rltpf.errors import InputError
from rltpf.progress import Progress
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.traps import REJECTED
from rltpf.rows import first_faults

# Rows for each Lean process that are being checked or wait for a slower one before them. Of all rows in flight the
# checks come first and the traps then, so with many of them the first row would be written late.
IN_FLIGHT = 16


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file; raises `InputError` with a line for every fault of every row."""
    rows, faults = [], []
    for place, row in read_jsonl(path):
        faults += [f"{place}: {fault}" for fault in _row_faults(row)]
        if isinstance(row, dict):
            rows.append(row)
    if not rows and not faults:
        faults = [f"{path}: holds no rows"]
    if faults:
        raise InputError(*first_faults(str(path), faults))
    return rows


def _row_faults(row: dict[str, Any] | str) -> list[str]:
    if isinstance(row, str):
        return [row]
    faults = []
    if "id" not in row:
        faults.append("has no `id`")
    elif type(row["id"]) not in (str, int):
        faults.append(f"`id` must be a string or an integer, not {json.dumps(row['id'])[:40]}")
    for name in ("statement", "submission"):
        if name not in row:
            faults.append(f"has no `{name}`")
        elif not isinstance(row[name], str):
            faults.append(f"`{name}` must be a string, not {json.dumps(row[name])[:40]}")
    if not isinstance(row.get("header", ""), str):
        faults.append(f"`header` must be a string, not {json.dumps(row['header'])[:40]}")
    return faults


async def check_rows(prover: Prover, rows: Sequence[dict[str, Any]], output: TextIO, workers: int = 1) -> str:
    """Check the rows, several at once for each worker, and write each as soon as all before it are written; how many
    have each status and reason.

    The prover is closed in the end. What was judged until then is in its cache: the next start goes through it anew,
    in no time.
    """
    verdicts: Counter[tuple[str, str]] = Counter()
    flags: dict[tuple[str, str | None], asyncio.Task[tuple[str, ...]]] = {}  # most statements have many submissions

    async def traps(statement: str, header: str | None) -> tuple[str, ...]:
        key = (statement, header)
        if key not in flags:
            flags[key] = asyncio.create_task(prover.traps(statement, header))
        return await flags[key]

    async def checked(row: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        statement, header = row["statement"], row.get("header")
        report = await prover.check(statement, row["submission"], header)
        report = flagged(report, await traps(statement, header))
        verdicts[report.status, report.reason] += 1
        found = report.to_json()
        del found["closed_by"]
        return row | found, report.decided

    try:
        await write_in_order("lean check", rows, checked, output, workers)
    finally:
        for task in flags.values():
            task.cancel()
        await prover.close()
    return summary(verdicts)


def summary(verdicts: Mapping[tuple[str, str], int]) -> str:
    """A line with the number of rows of each status, and of each reason of it where it is not verified."""
    totals: Counter[str] = Counter()
    for (status, _), count in verdicts.items():
        totals[status] += count
    parts = []
    for status, total in sorted(totals.items(), key=lambda item: (item[0] != "verified", -item[1], item[0])):
        reasons = sorted((-count, reason) for (own, reason), count in verdicts.items() if own == status)
        told = ", ".join(f"{-count} {reason}" for count, reason in reasons)
        parts.append(f"{total} {status}" + ("" if status == "verified" else f" ({told})"))
    return f"lean check: {sum(totals.values())} rows: {', '.join(parts)}"


async def write_in_order(
    title: str,
    rows: Sequence[dict[str, Any]],
    judged: Callable[[dict[str, Any]], Awaitable[tuple[dict[str, Any], bool]]],
    output: TextIO,
    workers: int,
) -> None:
    """Write what `judged` makes of each row, as soon as all before it are written; several are at work for each worker.

    With a row comes whether there is a verdict on it.
    """
    with Progress(title, total=len(rows)) as progress:

        async def counted(row: dict[str, Any]) -> dict[str, Any]:
            found, decided = await judged(row)
            progress.advance(failed=not decided)
            return found

        source = iter(rows)
        waiting = deque(asyncio.create_task(counted(row)) for row in islice(source, IN_FLIGHT * workers))
        try:
            while waiting:
                # ASCII, because a row may hold lone surrogates, which have no UTF-8.
                print(json.dumps(await waiting.popleft()), file=output, flush=True)
                waiting.extend(asyncio.create_task(counted(row)) for row in islice(source, 1))
        finally:
            for task in waiting:
                task.cancel()


def flagged(report: Report, flags: tuple[str, ...]) -> Report:
    """The report with its statement's flags; a proof of what claims nothing does not count."""
    report = dataclasses.replace(report, flags=flags)
    if report.verified and REJECTED.keys() & set(flags):
        reason = next(flag for flag in flags if flag in REJECTED)
        return dataclasses.replace(report, status="rejected", reason=reason, detail=REJECTED[reason])
    return report
