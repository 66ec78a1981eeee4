"""Models behind their transcript: nothing is paid for twice, and nothing is used before it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rltpf.llm.model import ChatModel, Completion, Request
from rltpf.llm.transcript import Transcript, request_key
from rltpf.llm.usage import Usage


class CachedModel:
    """Answers from the transcript where it can, and records the backends' replies where it cannot.

    A request goes to the backend of its role, or to the common one where `roles` has none for it.
    """

    def __init__(
        self,
        backend: ChatModel,
        transcript: Transcript,
        roles: Mapping[str, ChatModel] | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.name = backend.name
        self.usage = usage or Usage()
        self._backend = backend
        self._roles = roles or {}
        self._transcript = transcript
        self._running: dict[str, asyncio.Event] = {}

    async def complete(self, request: Request) -> Completion:
        backend = self._roles.get(request.role, self._backend)
        key = request_key(backend.name, request)
        # The same request may be in flight already. Its asker may fail or be cancelled, and then it is our turn to ask.
        while (running := self._running.get(key)) is not None:
            await running.wait()
        completion = self._transcript.get(backend.name, request)
        if completion is None:
            done = self._running[key] = asyncio.Event()
            try:
                completion = await backend.complete(request)
                self._transcript.add(backend.name, request, completion)
            except Exception:
                self.usage.count(request.role, None)
                raise
            finally:
                del self._running[key]
                done.set()
        self.usage.count(request.role, completion)
        return completion

    async def close(self) -> None:
        for backend in {self._backend, *self._roles.values()}:
            await backend.close()
        self._transcript.close()
