"""The contract of every model that answers: a request goes in, one completion comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from rltpf.errors import RunError
from rltpf.records import Record


@dataclass(frozen=True)
class Message(Record):
    """One chat message; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True)
class Sampling(Record):
    """Sampling parameters, named as the OpenAI API names them."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None


@dataclass(frozen=True)
class Request(Record):
    """One question to a model.

    `role` says on whose behalf (generator, formaliser, back_translator, judge, solver): it routes and accounts, and is
    not sent. `schema` is the JSON schema that the reply has to obey. `attempt` separates samples that would otherwise
    be the same request, so that the second answer to a question is not the cached first one.
    """

    role: str
    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    schema: dict[str, Any] | None = None
    attempt: int = 0


@dataclass(frozen=True)
class Completion(Record):
    """A model's reply; `cached` is true where the transcript answered and nothing was paid."""

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False


class ModelError(RunError):
    """A request that ended without a completion, after all retries: the recorded failure of an item."""


class ModelUnavailable(RunError):
    """No request can succeed (wrong key, unknown model, dead server). It is no `ModelError`, for it ends the run."""


class ChatModel(Protocol):
    """Anything that completes requests: `openai`, `transformers`, `replay`."""

    name: str

    async def complete(self, request: Request) -> Completion:
        """The model's reply; raises `ModelError` when there is none to be had."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...
