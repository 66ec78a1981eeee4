"""Replies that have to be JSON: read, checked by the caller's parser, and asked for again when they do not pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from rltpf.llm.model import ChatModel, Completion, ModelError, Request

T = TypeVar("T")

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
# Any number far from the small ones by which callers tell their samples apart.
RESEED = 1_000_003


class MalformedReply(ModelError):
    """No reply obeyed the schema; the message says what was wrong with the last one."""


async def complete_json(model: ChatModel, request: Request, parse: Callable[[Any], T], tries: int = 3) -> T:
    """The parsed reply. `parse` takes the JSON value and raises `ValueError` (pydantic's is one) on what does not fit.

    A reply that does not parse is asked for again with the next attempt number and another seed, `tries` times in all.
    Raises `MalformedReply` after the last one, and the model's own errors.
    """
    fault = ""
    for number in range(tries):
        reply = await model.complete(request.sample(number, RESEED))
        try:
            return parse(read_json(reply.text))
        except ValueError as error:
            fault = " ".join(str(error).split())[:300]
            if reply.finish_reason == "length":
                fault = f"cut off at max_tokens {request.sampling.max_tokens}: {fault}"
    raise MalformedReply(f"{tries} replies did not obey the schema, the last one: {fault}")


async def complete_until(
    model: ChatModel, request: Request, accepts: Callable[[str], bool], tries: int = 3
) -> Completion:
    """The first reply whose text is accepted, asked for as by `complete_json`; where none is, the last one."""
    for number in range(tries):
        reply = await model.complete(request.sample(number, RESEED))
        if accepts(reply.text):
            break
    return reply


def read_json(text: str) -> Any:
    """The JSON value that a reply is, or that its last fenced block holds; raises `ValueError`."""
    blocks = _FENCE.findall(text)
    value = json.loads(blocks[-1] if blocks else text)
    # An escape may stand for half a character, which no file takes; the error is a ValueError.
    json.dumps(value, ensure_ascii=False).encode()
    return value
