"""A model in this process: a hub id or a local folder, also one with a GGUF file or a LoRA adapter; in batches."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.hub import loading, refuse_missing_model
from rltpf.llm.batches import Batches, Reply
from rltpf.llm.model import Completion, Message, ModelError, ModelUnavailable, Request, Sampling
from rltpf.llm.settings import ModelConfig
from rltpf.llm.transcript import request_key


class TransformersModel:
    """Answers with `model.generate`, up to `max_concurrent` requests in a batch, in a thread of its own.

    A sampled reply depends on the request's seed and content and not on its neighbours in the batch (up to the rounding
    of a padded batch), so that a resumed run samples the same.
    """

    def __init__(self, config: ModelConfig) -> None:
        refuse_missing_model("llm.model", config.model)
        self.name = config.model
        self._loaded: tuple[Any, Any] | None = None
        # A batch goes on until its longest reply is made, so it has one length limit.
        self._batches = Batches(self._generate, config.max_concurrent, lambda request: request.sampling.max_tokens)

    async def complete(self, request: Request) -> Completion:
        """The reply; raises `ModelError` if the prompt does not fit, `ModelUnavailable` if the model does not load."""
        return await self._batches.complete(request)

    async def close(self) -> None:
        self._batches.close()
        self._loaded = None

    def _generate(self, requests: list[Request]) -> list[Reply]:
        if self._loaded is None:
            try:
                with loading(self.name):
                    self._loaded = load_pretrained(self.name)
            except InputError as error:
                raise ModelUnavailable(str(error)) from None
        from jinja2 import TemplateError

        model, tokenizer = self._loaded
        if not tokenizer.chat_template:
            raise ModelUnavailable(f"{self.name}: the tokenizer has no chat template: take an instruct model")
        try:
            prompts = [_tokens(tokenizer, request.messages) for request in requests]
        # A template that knows no system message, or wants roles by turns, says so in an error of its own.
        except TemplateError as error:
            raise ModelUnavailable(f"{self.name}: its chat template refuses the messages: {error}") from None
        room = getattr(model.config, "max_position_embeddings", None)
        replies: list[Reply | None] = [
            ModelError(f"the prompt has {len(prompt)} tokens, and {self.name} takes {room}")
            if room is not None and len(prompt) >= room
            else None
            for prompt in prompts
        ]
        fitting = [index for index, reply in enumerate(replies) if reply is None]
        if fitting:
            answers = _answers(
                model, tokenizer, [prompts[i] for i in fitting], [requests[i] for i in fitting], self.name
            )
            for index, answer in zip(fitting, answers, strict=True):
                replies[index] = answer
        return [reply for reply in replies if reply is not None]


def load_pretrained(name: str) -> tuple[Any, Any]:
    """(model, tokenizer) of a folder or hub id, ready to generate: on the GPU when there is one, adapters merged."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # it would run through our own line
    folder = Path(name)
    adapter = folder / "adapter_config.json"
    base = json.loads(adapter.read_text(encoding="utf-8"))["base_model_name_or_path"] if adapter.exists() else name
    # CPUs without bfloat16 units run a batch in bfloat16 at a third of float32's speed.
    options: dict[str, Any] = {"dtype": "auto" if torch.cuda.is_available() else torch.float32}
    tokenizer_options: dict[str, Any] = {}
    if gguf := sorted(Path(base).glob("*.gguf")):
        from transformers import GgufConfig

        options = {
            "dtype": torch.float32,
            "gguf_file": gguf[0].name,
            # Without this the model keeps a quantizer that refuses to be saved or trained.
            "quantization_config": GgufConfig(dequantize=True),
        }
        tokenizer_options = {"gguf_file": gguf[0].name}
    model: Any = AutoModelForCausalLM.from_pretrained(base, **options)
    own_tokenizer = adapter.exists() and (folder / "tokenizer_config.json").exists()
    tokenizer = AutoTokenizer.from_pretrained(
        name if own_tokenizer else base, **({} if own_tokenizer else tokenizer_options)
    )
    if adapter.exists():
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, name).merge_and_unload()
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = tokenizer.eos_token_id
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def _tokens(tokenizer: Any, messages: tuple[Message, ...]) -> list[int]:
    rows = [message.to_json() for message in messages]
    tokens: list[int] = tokenizer.apply_chat_template(rows, add_generation_prompt=True, return_dict=True)["input_ids"]
    return tokens


def _answers(model: Any, tokenizer: Any, prompts: list[list[int]], requests: list[Request], name: str) -> list[Reply]:
    import torch
    from transformers import GenerationConfig

    width = max(map(len, prompts))
    # Padded on the left, so that every prompt ends where its reply begins.
    padded = [[tokenizer.pad_token_id] * (width - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    eos = model.generation_config.eos_token_id
    ends = set(eos if isinstance(eos, list) else [eos]) | {tokenizer.eos_token_id}
    ends.discard(None)
    limit = requests[0].sampling.max_tokens
    samplers = [_sampler(request, name) for request in requests]
    steps: list[Any] = []

    def with_logprobs(input_ids: Any, scores: Any) -> Any:
        """`_perturb`, and note what the token that will be taken has as log-probability at temperature 1."""
        logprobs = scores.float().log_softmax(-1)
        scores = _perturb(samplers, input_ids, scores)
        steps.append(logprobs.gather(-1, scores.argmax(-1, keepdim=True)))
        return scores

    asked = any(request.sampling.logprobs for request in requests)
    with torch.inference_mode():
        output = model.generate(
            input_ids=torch.tensor(padded, device=model.device),
            attention_mask=torch.tensor(mask, device=model.device),
            generation_config=GenerationConfig(
                do_sample=False, max_new_tokens=limit, eos_token_id=sorted(ends), pad_token_id=tokenizer.pad_token_id
            ),
            logits_processor=[with_logprobs if asked else functools.partial(_perturb, samplers)],
        )
    logprobs = torch.cat(steps, dim=-1).tolist() if asked else []
    completions: list[Reply] = []
    for index, row in enumerate(output[:, width:].tolist()):
        length = next((place for place, token in enumerate(row) if token in ends), None)
        reply = row if length is None else row[:length]
        text = tokenizer.decode(reply, skip_special_tokens=True)
        reason = "length" if length is None else "stop"
        tokens = None
        if requests[index].sampling.logprobs:
            tokens = tuple(zip(map(tokenizer.decode, reply), logprobs[index][: len(reply)], strict=True))
        completions.append(
            Completion(text, reason, len(prompts[index]), len(reply) + (length is not None), logprobs=tokens)
        )
    return completions


def _sampler(request: Request, name: str) -> tuple[Sampling, Any]:
    """The request's sampling and a random generator that depends on the request alone."""
    import torch

    # The same sample with log-probabilities and without.
    plain = replace(request, sampling=replace(request.sampling, logprobs=False))
    return request.sampling, torch.Generator().manual_seed(int(request_key(name, plain), 16) >> 1)


def _perturb(samplers: list[tuple[Sampling, Any]], input_ids: Any, scores: Any) -> Any:
    """Scores (batch, vocabulary) with Gumbel noise, whose largest is a sample; each row draws from its own generator.

    The place of the maximum of logits / T + Gumbel noise is distributed as softmax(logits / T). Rows of temperature 0
    stay greedy.
    """
    import torch

    scores = scores.float()
    for index, (sampling, generator) in enumerate(samplers):
        if sampling.temperature == 0:
            continue
        logits = scores[index] / sampling.temperature
        if sampling.top_p < 1:
            ordered, order = logits.softmax(-1).sort(descending=True)
            # The smallest set of tokens whose probability reaches top_p: those before which less is gathered.
            logits[order[ordered.cumsum(-1) - ordered >= sampling.top_p]] = -torch.inf
        noise = torch.rand(logits.shape, generator=generator).clamp_min(1e-20)
        scores[index] = logits - (-noise.log()).log().to(logits.device)
    return scores
