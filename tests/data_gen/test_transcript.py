"""The recorded transcript belongs to the prompts as they are."""

import asyncio
from pathlib import Path

import pytest

from data_gen.answers import sample_answer
from data_gen.config import GenerateConfig
from data_gen.formalize import Symbols
from data_gen.prompting import OWN
from rltpf.config import load
from rltpf.datasets import load_problems
from rltpf.llm.model import Request, Sampling
from rltpf.llm.replay import ReplayModel


def test_every_question_of_the_demo_is_recorded() -> None:
    """After a change of a prompt or of the sampling, `make transcript` records anew what the demo replays."""
    config = load(GenerateConfig, Path("configs/generate/demo.yaml"))
    assert config.llm.transcript is not None
    model = ReplayModel(config.llm.transcript, config.llm.model)
    sampling = Sampling(config.llm.temperature, config.llm.top_p, config.llm.max_tokens, config.seed)
    problems = load_problems(config.dataset)
    assert len(problems) >= 24

    async def ask() -> None:
        for problem in problems:
            messages = OWN.messages("s1", question=problem.question)
            await model.complete(Request("formaliser", messages, sampling, Symbols.model_json_schema()))

    asyncio.run(ask())


def test_answers_are_told_apart_by_their_seed() -> None:
    class Seeds:
        name = "seeds"

        async def complete(self, request: Request):  # type: ignore[no-untyped-def]
            raise RuntimeError((request.sampling.seed, request.attempt))

        async def close(self) -> None:
            pass

    for number, expected in ((0, (42, 0)), (1, (43, 1))):
        with pytest.raises(RuntimeError) as caught:
            asyncio.run(sample_answer(Seeds(), "Q", number, Sampling(seed=42)))
        assert caught.value.args[0] == expected
