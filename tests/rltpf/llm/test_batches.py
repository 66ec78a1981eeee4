from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path

import pytest

from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.batches import Batches, Reply
from rltpf.llm.model import Completion, Message, ModelError, ModelUnavailable, Request, Sampling
from rltpf.llm.settings import ModelConfig


def request(text: str, max_tokens: int = 8) -> Request:
    return Request("solver", (Message("user", text),), Sampling(max_tokens=max_tokens))


class Echo:
    """Answers with the request's words, refuses what says `no`, and ends at what says `end`."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, requests: list[Request]) -> list[Reply]:
        texts = [request.messages[0].content for request in requests]
        self.batches.append(texts)
        if "end" in texts:
            raise ModelUnavailable("ended")
        return [ModelError("refused") if text == "no" else Completion(text) for text in texts]


def ask(echo: Echo, *requests: Request, size: int = 3, by_length: bool = False) -> list[Completion | BaseException]:
    async def main() -> list[Completion | BaseException]:
        batches = Batches(echo, size, *([lambda request: request.sampling.max_tokens] if by_length else []))
        try:
            return await asyncio.gather(*map(batches.complete, requests), return_exceptions=True)
        finally:
            batches.close()

    return asyncio.run(main())


def test_requests_are_answered_in_batches_and_each_gets_its_own_reply() -> None:
    echo = Echo()
    assert ask(echo, *map(request, "abcdefg")) == [Completion(text) for text in "abcdefg"]
    assert echo.batches == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


def test_a_batch_is_of_one_kind() -> None:
    echo = Echo()
    requests = [request("a", 8), request("b", 9), request("c", 8)]
    assert ask(echo, *requests, by_length=True) == [Completion(text) for text in "abc"]
    assert echo.batches == [["a", "c"], ["b"]]


def test_an_error_of_one_request_is_its_own_and_an_exception_is_everyones() -> None:
    good, refused, other = ask(Echo(), request("a"), request("no"), request("b"))
    assert (good, other) == (Completion("a"), Completion("b"))
    assert isinstance(refused, ModelError)
    outcomes = ask(Echo(), request("a"), request("end"), request("b"), request("later"))
    assert [type(outcome) for outcome in outcomes] == [ModelUnavailable] * 3 + [Completion]


def test_without_vllm_its_server_is_recommended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError) as caught:
        build_model(ModelConfig(backend="vllm", model="m"), tmp_path / "t.jsonl")
    assert caught.value.faults == (
        "llm.backend vllm: vllm is not installed here: start a vLLM server in an environment of its own, "
        "and ask it with llm.backend openai and llm.base_url",
    )
