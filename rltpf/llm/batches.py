"""Requests that arrive one by one, answered many at a time by a model in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

from rltpf.llm.model import Completion, ModelError, Request

COLLECT_SECONDS = 0.02
"""How long the first request of a batch waits for others."""

Reply = Completion | ModelError


class Batches:
    """Hands batches of at most `size` requests to `answer`, one after the other, in a thread of its own.

    `answer` gives a reply to each of its requests, in their order; what it raises is raised to all of them. A batch
    has requests of one `kind`.
    """

    def __init__(
        self,
        answer: Callable[[list[Request]], list[Reply]],
        size: int,
        kind: Callable[[Request], Hashable] = lambda request: None,
    ) -> None:
        self._answer = answer
        self._size = size
        self._kind = kind
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def complete(self, request: Request) -> Completion:
        """The reply to one request; raises the `ModelError` that stands in its place."""
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._serve())
        return await answer

    def close(self) -> None:
        """Answer nobody any more. A batch that is being generated cannot be stopped, and nobody waits for it."""
        if self._worker is not None:
            self._worker.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _serve(self) -> None:
        """Answer batch after batch until nobody waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(COLLECT_SECONDS)
            self._waiting = [entry for entry in self._waiting if not entry[1].cancelled()]
            batch = self._take()
            if not batch:
                continue
            try:
                replies = await loop.run_in_executor(self._thread, self._answer, [request for request, _ in batch])
            except Exception as error:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (_, answer), reply in zip(batch, replies, strict=True):
                if answer.done():
                    continue
                if isinstance(reply, Completion):
                    answer.set_result(reply)
                else:
                    answer.set_exception(reply)

    def _take(self) -> list[tuple[Request, asyncio.Future[Completion]]]:
        """The next batch: requests of one kind, in their order."""
        if not self._waiting:
            return []
        kind = self._kind(self._waiting[0][0])
        batch = [entry for entry in self._waiting if self._kind(entry[0]) == kind][: self._size]
        self._waiting = [entry for entry in self._waiting if entry not in batch]
        return batch
