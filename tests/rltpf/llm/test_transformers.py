from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rltpf.errors import InputError
from rltpf.llm.model import Completion, Message, ModelError, ModelUnavailable, Request, Sampling
from rltpf.llm.settings import LLMConfig
from rltpf.llm.transformers import TransformersModel, load_pretrained

pytestmark = pytest.mark.slow


def request(text: str, **sampling: float | int) -> Request:
    return Request("solver", (Message("user", text),), Sampling(**{"max_tokens": 12, **sampling}))  # type: ignore[arg-type]


def ask(model: Path | str, *requests: Request, batch: int = 8) -> list[Completion]:
    async def main() -> list[Completion]:
        backend = TransformersModel(LLMConfig(backend="transformers", model=str(model), max_concurrent=batch))
        try:
            return await asyncio.gather(*map(backend.complete, requests))
        finally:
            await backend.close()

    return asyncio.run(main())


def greedy_logprobs(folder: Path, text: str, steps: int) -> list[tuple[str, float]]:
    """The greedy continuation with its log-probabilities, made token by token with the bare model."""
    import torch

    model, tokenizer = load_pretrained(str(folder))
    ids = list(
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=True
        )["input_ids"]
    )
    reply: list[tuple[str, float]] = []
    while len(reply) < steps:
        with torch.no_grad():
            logprob, token = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1).max(-1)
        if token == tokenizer.eos_token_id:
            break
        ids.append(int(token))
        reply.append((tokenizer.decode(int(token)), float(logprob)))
    return reply


def greedy(folder: Path, text: str, steps: int) -> tuple[str, list[tuple[str, float]]]:
    """The greedy continuation and its tokens with their log-probabilities, made token by token with the bare model."""
    import torch

    model, tokenizer = load_pretrained(str(folder))
    tokens = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=True
    )
    ids = list(tokens["input_ids"])
    reply: list[int] = []
    logprobs: list[tuple[str, float]] = []
    while len(reply) < steps:
        with torch.no_grad():
            logprob, token = model(torch.tensor([ids + reply])).logits[0, -1].log_softmax(-1).max(-1)
        if token == tokenizer.eos_token_id:
            break
        reply.append(int(token))
        logprobs.append((tokenizer.decode(int(token)), float(logprob)))
    return str(tokenizer.decode(reply, skip_special_tokens=True)), logprobs


def test_greedy_replies_in_a_batch_are_those_of_the_bare_model(tiny_model: Path) -> None:
    texts = ["3 + 4", "How many apples are there, if there are 12 and then 5 more?", "x"]
    replies = ask(tiny_model, *(request(text) for text in texts))
    assert [reply.text for reply in replies] == [greedy(tiny_model, text, 12)[0] for text in texts]
    assert replies[0].finish_reason in ("stop", "length")
    assert replies[0].completion_tokens <= 12
    assert replies[1].prompt_tokens > replies[2].prompt_tokens


def test_a_sampled_reply_does_not_depend_on_its_batch(tiny_model: Path) -> None:
    sampled = [request("3 + 4", temperature=1.0, seed=seed) for seed in range(6)]
    together = ask(tiny_model, *sampled, request("another, greedy and longer question"))
    alone = [ask(tiny_model, one)[0] for one in sampled]
    assert [reply.text for reply in together[:6]] == [reply.text for reply in alone]
    assert len({reply.text for reply in alone}) > 1


def test_a_tiny_top_p_is_greedy(tiny_model: Path) -> None:
    nearly, plain = ask(tiny_model, request("3 + 4", temperature=1.0, top_p=1e-6), request("3 + 4"))
    assert nearly.text == plain.text


def test_logprobs_are_those_of_the_bare_model_and_change_no_reply(tiny_model: Path) -> None:
    asked = [
        request("3 + 4", logprobs=True),
        # Nothing is left to sample from but the most probable token: greedy, and by way of temperature and noise.
        request("3 + 4", temperature=0.5, top_p=1e-6, logprobs=True),
        request("9 - 2, and some more words", temperature=0.8, seed=1, logprobs=True),
        request("9 - 2", temperature=0.8, seed=2),
    ]
    replies = ask(tiny_model, *asked)
    plain = ask(tiny_model, *(replace(one, sampling=replace(one.sampling, logprobs=False)) for one in asked))
    assert [reply.text for reply in replies] == [reply.text for reply in plain]
    assert (replies[3].logprobs, plain[0].logprobs) == (None, None)
    _, expected = greedy(tiny_model, "3 + 4", 12)
    for reply in replies[:2]:
        assert reply.logprobs is not None
        assert [token for token, _ in reply.logprobs] == [token for token, _ in expected]
        assert [value for _, value in reply.logprobs] == pytest.approx([value for _, value in expected], abs=1e-3)


def test_sampling_follows_the_softmax() -> None:
    import torch

    from rltpf.llm.transformers import _perturb

    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    counts = [0, 0, 0]
    whole = (Sampling(temperature=1.0), torch.Generator().manual_seed(1))
    for _ in range(4000):
        counts[int(_perturb([whole], None, logits.clone()).argmax())] += 1
    # Standard deviations are at most 0.008.
    assert [count / 4000 for count in counts] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    nucleus = (Sampling(temperature=1.0, top_p=0.6), torch.Generator().manual_seed(1))
    drawn = {int(_perturb([nucleus], None, logits.clone()).argmax()) for _ in range(500)}
    assert drawn == {0, 1}


def test_requests_of_different_lengths_and_more_than_a_batch_are_all_answered(tiny_model: Path) -> None:
    requests = [request(f"{n} + 1", max_tokens=4 + n % 2) for n in range(7)]
    replies = ask(tiny_model, *requests, batch=2)
    assert [reply.completion_tokens <= 4 + n % 2 for n, reply in enumerate(replies)] == [True] * 7


def test_a_prompt_that_does_not_fit_fails_alone(tiny_model: Path) -> None:
    async def main() -> list[Completion | BaseException]:
        backend = TransformersModel(LLMConfig(backend="transformers", model=str(tiny_model)))
        requests = (request("9 " * 600), request("3 + 4"))
        answers = await asyncio.gather(*map(backend.complete, requests), return_exceptions=True)
        await backend.close()
        return answers

    long, short = asyncio.run(main())
    assert isinstance(long, ModelError)
    assert "and " + str(tiny_model) + " takes 512" in str(long)
    assert isinstance(short, Completion)


def test_a_damaged_model_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        ask(tmp_path, request("3 + 4"))


@pytest.mark.parametrize("damaged", ["model.safetensors", "tokenizer.json"])
def test_a_file_that_was_cut_ends_the_run(tiny_model: Path, tmp_path: Path, damaged: str) -> None:
    shutil.copytree(tiny_model, tmp_path, dirs_exist_ok=True)
    (tmp_path / damaged).write_bytes((tiny_model / damaged).read_bytes()[:5000])
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        ask(tmp_path, request("3 + 4"))


def test_a_template_that_refuses_the_roles_ends_the_run(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path, dirs_exist_ok=True)
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('System role not supported') }}")
    with pytest.raises(ModelUnavailable, match="its chat template refuses the messages: System role not supported"):
        ask(tmp_path, request("3 + 4"))


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_folder_without_a_model_is_refused_before_anything_starts(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is no folder with a model"):
        ask(tmp_path / name, request("3 + 4"))


def test_an_adapter_folder_loads_its_base(tiny_model: Path, tmp_path: Path) -> None:
    import torch
    from peft import LoraConfig, get_peft_model

    base, _ = load_pretrained(str(tiny_model))
    torch.manual_seed(1)
    tuned = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
    tuned.save_pretrained(str(tmp_path))
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        expected = tuned(ids).logits
        merged, tokenizer = load_pretrained(str(tmp_path))
        assert torch.allclose(merged(ids).logits, expected, atol=1e-5)
        plain, _ = load_pretrained(str(tiny_model))
        assert not torch.allclose(plain(ids).logits, expected, atol=1e-3)
    assert tokenizer.chat_template
