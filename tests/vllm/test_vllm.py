"""vLLM with the small real model, in this process and behind its own server: `make test-vllm`."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from rltpf import smollm2
from rltpf.llm import build_model
from rltpf.llm.model import Completion, Message, ModelError, Request, Sampling
from rltpf.llm.settings import ModelConfig
from rltpf.llm.structured import complete_json

pytest.importorskip("vllm")

SETTINGS = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}


class Fruit(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    count: int


GREEDY = Request("solver", (Message("user", "What is the capital of France?"),), Sampling(max_tokens=16, logprobs=True))
FRUIT = Request(
    "judge",
    (Message("user", "There are 12 apples. Reply with JSON that has the name of the fruit and its count."),),
    Sampling(max_tokens=64),
    Fruit.model_json_schema(),
)
SAMPLE = Request("solver", (Message("user", "Tell a story."),), Sampling(temperature=1.0, max_tokens=12, seed=5))


def check(config: ModelConfig, folder: Path) -> None:
    """A reply with log-probabilities, JSON that obeys its schema, samples by seed, and a request that is refused."""

    async def main() -> None:
        model = build_model(config, folder / "transcript.jsonl")
        try:
            too_long = replace(GREEDY, messages=(Message("user", "many words " * 9000),))
            greedy, fruit, first, second, refused = await asyncio.gather(
                model.complete(GREEDY),
                complete_json(model, FRUIT, Fruit.model_validate),
                model.complete(SAMPLE),
                model.complete(SAMPLE.sample(1)),
                model.complete(too_long),
                return_exceptions=True,
            )
        finally:
            await model.close()
        assert isinstance(greedy, Completion)
        assert greedy.logprobs is not None
        assert "".join(token for token, _ in greedy.logprobs).strip() == greedy.text.strip()
        assert all(logprob <= 0 for _, logprob in greedy.logprobs)
        assert isinstance(fruit, Fruit)
        assert isinstance(first, Completion)
        assert isinstance(second, Completion)
        assert first.text != second.text
        assert first.completion_tokens == 12
        assert first.finish_reason == "length"
        assert isinstance(refused, ModelError)
        assert "refuses the request" in str(refused)

    asyncio.run(main())


def test_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    check(ModelConfig(backend="vllm", model=str(smollm2.folder())), tmp_path)


@pytest.fixture
def server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # `vllm serve` looks for a distribution of the name vllm, and the one for CPUs has another.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(smollm2.folder())]
    command += ["--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--dtype", "bfloat16", "--max-model-len", "2048", "--enforce-eager"]
    process = subprocess.Popen(command, env={**os.environ, **SETTINGS})
    try:
        deadline = time.monotonic() + 240
        while True:
            assert process.poll() is None, "the server ended before it answered"
            assert time.monotonic() < deadline, "the server did not answer in time"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)


def test_behind_its_server(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    check(ModelConfig(model="smollm2", base_url=server), tmp_path)
