"""The transcript: every exchange with a model, appended before it is used. It is the cache, and it can be replayed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from rltpf.journal import Journal
from rltpf.llm.model import Completion, Request
from rltpf.records import content_id


def request_key(model: str, request: Request) -> str:
    """Sixteen digits for everything that decides the reply; the role, which only routes and accounts, is not in it."""
    sampling = request.sampling
    return content_id(
        model,
        [[message.role, message.content] for message in request.messages],
        # As floats, since 0 and 0.0 are the same temperature and not the same JSON.
        # What is not asked for is left out, so that transcripts keep their keys.
        [float(sampling.temperature), float(sampling.top_p), sampling.max_tokens, sampling.seed]
        + [True] * sampling.logprobs,
        request.schema,
        request.attempt,
    )


def exchange(model: str, request: Request, completion: Completion) -> dict[str, Any]:
    """One row of a transcript: what was asked and answered, and nothing of the connection (no key, no header)."""
    asked, reply = request.to_json(), completion.to_json()
    del reply["cached"]
    if not request.sampling.logprobs:
        del asked["sampling"]["logprobs"], reply["logprobs"]
    return {"key": request_key(model, request), "model": model, "request": asked, "completion": reply}


class Transcript:
    """An append-only JSONL file of exchanges; replies are read from the file when they are asked for.

    The file is opened, or made, at the first request: a command that is refused before leaves none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self._path, key="key")

    def __len__(self) -> int:
        return len(self._journal)

    def get(self, model: str, request: Request) -> Completion | None:
        """The recorded reply to this request, marked as cached; None where there is none."""
        row = self._journal.get(request_key(model, request))
        return None if row is None else Completion.from_json({**row["completion"], "cached": True})

    def add(self, model: str, request: Request, completion: Completion) -> None:
        """Append an exchange. When this returns, a killed process no longer loses it."""
        self._journal.append(exchange(model, request, completion))

    def close(self) -> None:
        if "_journal" in self.__dict__:
            self._journal.close()
