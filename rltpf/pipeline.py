"""The driver of every stage: items flow as coroutines, and each result is kept as soon as it is there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from rltpf.progress import Progress

T = TypeVar("T")
R = TypeVar("R")


def in_flight(requests: int, workers: int) -> int:
    """How many items at once keep a model that takes `requests` and `workers` of Lean busy: as many again wait."""
    return 2 * (requests + workers)


async def run(
    items: Iterable[T],
    stage: Callable[[T], Awaitable[R]],
    keep: Callable[[R], None],
    *,
    concurrency: int,
    progress: Progress | None = None,
) -> None:
    """Take every item through `stage`, at most `concurrency` at once, and hand each result to `keep` when it is there.

    Items are drawn when there is room for them, so memory does not grow with their number. `keep` (a journal's append)
    is called from the event loop, never twice at once, in the order in which items finish.

    What can go wrong with an item is for `stage` to turn into a result with an `error`. An exception that it lets
    through (a bug, a dead server, a full disk) stops the drawing of new items; those in flight finish and are kept;
    then it is raised. Cancellation (Ctrl-C) drops the items in flight at once: their replies are in the transcript, and
    the next start asks for nothing twice.
    """
    source = iter(items)
    failure: Exception | None = None

    async def worker() -> None:
        nonlocal failure
        try:
            while failure is None and (item := next(source, _END)) is not _END:
                result = await stage(item)  # type: ignore[arg-type]
                keep(result)
                if progress is not None:
                    progress.advance(failed=_failed(result))
        except Exception as error:
            failure = failure or error

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    if failure is not None:
        raise failure


_END = object()


def _failed(result: object) -> bool:
    """Whether a record, or a row of JSON, carries an `error`."""
    error = result.get("error") if isinstance(result, Mapping) else getattr(result, "error", None)
    return error is not None


def conserve(stage: str, total: int, kept: int, lost: Mapping[str, int]) -> str:
    """Print `stage: in = kept + every kind of loss` to stderr and return it; `AssertionError` if it does not add up."""
    losses = {reason: count for reason, count in sorted(lost.items()) if count}
    line = f"{stage}: {total} in = {kept} kept" + "".join(f" + {count} {reason}" for reason, count in losses.items())
    if total != kept + sum(losses.values()):
        raise AssertionError(f"{line}: rows were lost or doubled")
    print(line, file=sys.stderr)
    return line
