"""Models that answer: one contract (`model.py`), several backends, one transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.hub import refuse_missing_model
from rltpf.llm.cached import CachedModel
from rltpf.llm.limits import RateLimit
from rltpf.llm.model import ChatModel
from rltpf.llm.settings import ModelConfig, Roles
from rltpf.llm.transcript import Transcript
from rltpf.llm.usage import Usage

# These go with each request: roles that differ in nothing else share a backend, and with it the loaded model.
_PER_REQUEST = frozenset({"temperature", "top_p", "max_tokens", "prompt_price", "completion_price"})


def build_model(config: ModelConfig, transcript: Path) -> CachedModel:
    """The configured models, each role's own, behind the transcript at this path; raises `InputError` where the config
    cannot work."""
    backends: dict[Any, ChatModel] = {}
    limits: dict[Any, RateLimit] = {}

    def backend(role: str) -> ChatModel:
        own = config.for_role(role)
        key = tuple(value for name, value in own if name not in _PER_REQUEST)
        if key not in backends:
            rates = own.requests_per_minute, own.tokens_per_minute
            # A server counts what one model is asked, by however many backends.
            limit = limits.setdefault((own.model, own.base_url, rates), RateLimit(*rates))
            backends[key] = _backend(own, limit)
        return backends[key]

    roles = {role: backend(role) for role in Roles.model_fields}
    return CachedModel(backend(""), Transcript(transcript), roles, Usage(config.cost))


def refuse_missing_models(config: ModelConfig) -> None:
    """Raises `InputError` where a model to be loaded here is at none of the places that it can be at.

    Comes before data is read, which may take long, and in a dry run, which builds no model.
    """
    faults: dict[str, str] = {}
    for role in ("", *Roles.model_fields):
        own = config.for_role(role)
        if own.backend not in ("transformers", "vllm") or own.model in faults:
            continue
        try:
            refuse_missing_model(f"llm.roles.{role}.model" if own != config.for_role("") else "llm.model", own.model)
        except InputError as error:
            faults[own.model] = str(error)
    if faults:
        raise InputError(*faults.values())


def _backend(config: ModelConfig, limit: RateLimit) -> ChatModel:
    if config.backend == "openai":
        from rltpf.llm.openai import OpenAIModel

        return OpenAIModel(config, limit)
    if config.backend == "transformers":
        from rltpf.llm.transformers import TransformersModel

        return TransformersModel(config)
    if config.backend == "vllm":
        from rltpf.llm.vllm import VLLMModel

        return VLLMModel(config)
    from rltpf.llm.replay import ReplayModel

    assert config.transcript is not None
    return ReplayModel(config.transcript, config.model)
