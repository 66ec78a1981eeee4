"""The `openai` backend against a real server with a real small model: `transformers serve`."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltpf import smollm2
from rltpf.llm import build_model
from rltpf.llm.model import ChatModel, Completion, Message, ModelError, ModelUnavailable, Request, Sampling
from rltpf.llm.openai import OpenAIModel
from rltpf.llm.settings import LLMConfig
from rltpf.llm.transformers import TransformersModel

pytestmark = pytest.mark.slow

GREEDY = Request("solver", (Message("user", "What is the capital of France?"),), Sampling(max_tokens=12))


@pytest.fixture(scope="module")
def model_folder() -> Path:
    return smollm2.fetch()


@pytest.fixture(scope="module")
def url(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(model_folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, log.read_text()[-2000:]
                assert time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def answered(model: ChatModel, *requests: Request) -> list[Completion | BaseException]:
    async def main() -> list[Completion | BaseException]:
        try:
            return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(main())


def config(model: Path | str, url: str) -> LLMConfig:
    return LLMConfig(model=str(model), base_url=url, retries=1)


def test_it_answers_as_the_model_in_this_process_does(model_folder: Path, url: str, tmp_path: Path) -> None:
    [served] = answered(build_model(config(model_folder, url), tmp_path / "transcript.jsonl"), GREEDY)
    [here] = answered(TransformersModel(LLMConfig(backend="transformers", model=str(model_folder))), GREEDY)
    assert isinstance(served, Completion)
    assert isinstance(here, Completion)
    assert served.text == here.text
    assert (served.prompt_tokens, served.completion_tokens) == (here.prompt_tokens, here.completion_tokens)
    # The transcript answers where there is no server any more.
    [kept] = answered(build_model(config(model_folder, "http://127.0.0.1:9/v1"), tmp_path / "transcript.jsonl"), GREEDY)
    assert isinstance(kept, Completion)
    assert (kept.text, kept.cached) == (served.text, True)


def test_log_probabilities_that_are_not_sent_are_an_error(model_folder: Path, url: str) -> None:
    asking = Request("solver", GREEDY.messages, Sampling(max_tokens=4, logprobs=True))
    [refused] = answered(OpenAIModel(config(model_folder, url)), asking)
    assert isinstance(refused, ModelError | ModelUnavailable)
    assert "log" in str(refused)


def test_a_model_that_the_server_does_not_have_ends_the_run(url: str) -> None:
    [outcome] = answered(OpenAIModel(config("no/such-model", url)), GREEDY)
    assert isinstance(outcome, ModelError | ModelUnavailable)
    assert "no/such-model" in str(outcome)
