"""What infrastructure or the model kept from a verdict: one line for the reader, a row each in `unfinished.jsonl`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.llm.model import NotRecorded
from rltpf.records import Failure, canonical_json
from rltpf.runs import RunDirectory

_NAME = "unfinished.jsonl"


def note_unfinished(run: RunDirectory, kind: str, failures: Sequence[Failure]) -> int:
    """Write the failures, whose `stage` is the item's id, and say so; the exit code, 1 where there are any."""
    if not failures:
        (run.path / _NAME).unlink(missing_ok=True)
        return 0
    rows = [{"id": failure.stage, "reason": failure.reason, "detail": failure.detail} for failure in failures]
    path = run.write(_NAME, "".join(f"{canonical_json(row)}\n" for row in rows))
    first = failures[0]
    unknown = sum(failure.reason == NotRecorded.__name__ for failure in failures)
    prospect = "which the same command takes up again"
    if unknown == len(failures):
        prospect = "since the transcript has no reply for them, and a second start would find none either"
    elif unknown:
        prospect += f", but for {unknown} that the transcript has no reply for"
    print(
        f"{len(failures)} {kind} without a verdict, {prospect}; all are in {path}, "
        f"the first is {first.stage}: {first.reason}: {' '.join(first.detail.split())}",
        file=sys.stderr,
    )
    return 1
