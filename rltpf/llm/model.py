"""The contract of every model that answers: a request goes in, one completion comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    logprobs: bool = False
    """Whether the reply comes with the log-probabilities of its tokens."""


@dataclass(frozen=True)
class Request(Record):
    """One question to a model.

    `role` says on whose behalf (see `Roles` of the settings): it routes and accounts, and is not sent. `schema` is the
    JSON schema that the reply has to obey. `attempt` separates samples that would otherwise be the same request, so
    that the second answer to a question is not the cached first one; it is not sent either, so `sample` makes another
    seed with it.
    """

    role: str
    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    schema: dict[str, Any] | None = None
    attempt: int = 0

    def sample(self, number: int, stride: int = 1) -> Request:
        """Another sample of this request, or itself for 0: the attempt `number` later, and its seed so many strides."""
        seed = self.sampling.seed
        sampling = replace(self.sampling, seed=None if seed is None else seed + number * stride)
        return replace(self, attempt=self.attempt + number, sampling=sampling)


@dataclass(frozen=True)
class Completion(Record):
    """A model's reply; `cached` is true where the transcript answered and nothing was paid.

    `logprobs` has the reply's tokens as texts, each with its natural log-probability, where the request asked for them.
    """

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False
    logprobs: tuple[tuple[str, float], ...] | None = None


class ModelError(RunError):
    """A request that ended without a completion, after all retries: the recorded failure of an item."""


class NotRecorded(ModelError):
    """A request that a replay does not know: no later start will have a reply to it either."""


class ModelUnavailable(RunError):
    """No request can succeed (wrong key, unknown model, dead server). It is no `ModelError`, for it ends the run."""


class ChatModel(Protocol):
    """Anything that completes requests: `openai`, `transformers`, `vllm`, `replay`."""

    name: str

    async def complete(self, request: Request) -> Completion:
        """The model's reply; raises `ModelError` when there is none to be had."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...
