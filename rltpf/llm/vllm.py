"""A model in this process by vLLM, where it is installed: batches of many lengths, and JSON schemas that hold.

Written against vLLM 0.32.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from rltpf.errors import InputError
from rltpf.llm.batches import Batches, Reply
from rltpf.llm.model import Completion, ModelError, ModelUnavailable, Request
from rltpf.llm.settings import ModelConfig


class VLLMModel:
    """Answers with `vllm.LLM.chat`, up to `max_concurrent` requests at once."""

    def __init__(self, config: ModelConfig) -> None:
        if importlib.util.find_spec("vllm") is None:
            raise InputError(
                "llm.backend vllm: vllm is not installed here: start a vLLM server in an environment of its own, "
                "and ask it with llm.backend openai and llm.base_url"
            )
        self.name = config.model
        self._max_concurrent = config.max_concurrent
        self._engine: Any = None
        self._batches = Batches(self._generate, config.max_concurrent)

    async def complete(self, request: Request) -> Completion:
        """The reply; raises `ModelError` if vLLM refuses the request, `ModelUnavailable` if the model does not load."""
        return await self._batches.complete(request)

    async def close(self) -> None:
        self._batches.close()
        # vLLM ends its engine process when nobody holds it any more.
        self._engine = None

    def _generate(self, requests: list[Request]) -> list[Reply]:
        if self._engine is None:
            self._engine = _load(self.name, self._max_concurrent)
        return self._chat(requests)

    def _chat(self, requests: list[Request]) -> list[Reply]:
        from vllm.exceptions import VLLMClientError, VLLMServerError

        messages = [[message.to_json() for message in request.messages] for request in requests]
        try:
            outputs = self._engine.chat(messages, [_parameters(request) for request in requests], use_tqdm=False)
        except VLLMServerError as error:
            raise ModelUnavailable(f"vLLM with {self.name} ended: {' '.join(str(error).split())[:300]}") from None
        except (VLLMClientError, ValueError) as error:
            # One request that vLLM refuses, because it is too long say, takes its whole batch with it.
            if len(requests) == 1:
                return [ModelError(f"{self.name} refuses the request: {' '.join(str(error).split())[:300]}")]
            return [reply for request in requests for reply in self._chat([request])]
        return [_completion(request, output) for request, output in zip(requests, outputs, strict=True)]


def _load(name: str, max_concurrent: int) -> Any:
    # Standard output belongs to the command's results. vLLM reads this when it is imported.
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    from vllm import LLM

    try:
        return LLM(model=name, max_num_seqs=max_concurrent)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelUnavailable(f"{name}: cannot be loaded by vLLM: {' '.join(str(error).split())[:300]}") from None


def _parameters(request: Request) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    sampling = request.sampling
    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed,
        # The sampled token's alone, and none of its rivals'.
        logprobs=0 if sampling.logprobs else None,
        structured_outputs=None if request.schema is None else StructuredOutputsParams(json=request.schema),
    )


def _completion(request: Request, output: Any) -> Completion:
    (reply,) = output.outputs
    logprobs = None
    if request.sampling.logprobs:
        steps = [step[token] for token, step in zip(reply.token_ids, reply.logprobs, strict=True)]
        # The token that ends a reply is none of its text.
        if reply.finish_reason == "stop":
            steps.pop()
        logprobs = tuple((step.decoded_token, step.logprob) for step in steps)
    return Completion(
        text=reply.text,
        finish_reason=reply.finish_reason,
        prompt_tokens=len(output.prompt_token_ids),
        completion_tokens=len(reply.token_ids),
        logprobs=logprobs,
    )
