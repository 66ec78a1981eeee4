"""A model behind its transcript: nothing is paid for twice, and nothing is used before it is kept."""

from __future__ import annotations

import asyncio

from rltpf.llm.model import ChatModel, Completion, Request
from rltpf.llm.transcript import Transcript, request_key
from rltpf.llm.usage import Usage


class CachedModel:
    """Answers from the transcript where it can, and records the backend's replies where it cannot."""

    def __init__(self, backend: ChatModel, transcript: Transcript) -> None:
        self.name = backend.name
        self.usage = Usage()
        self._backend = backend
        self._transcript = transcript
        self._running: dict[str, asyncio.Event] = {}

    async def complete(self, request: Request) -> Completion:
        key = request_key(self.name, request)
        # The same request may be in flight already. Its asker may fail or be cancelled, and then it is our turn to ask.
        while (running := self._running.get(key)) is not None:
            await running.wait()
        completion = self._transcript.get(self.name, request)
        if completion is None:
            done = self._running[key] = asyncio.Event()
            try:
                completion = await self._backend.complete(request)
                self._transcript.add(self.name, request, completion)
            except Exception:
                self.usage.count(request.role, None)
                raise
            finally:
                del self._running[key]
                done.set()
        self.usage.count(request.role, completion)
        return completion

    async def close(self) -> None:
        await self._backend.close()
        self._transcript.close()
