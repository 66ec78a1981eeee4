"""Models that answer: one contract (`model.py`), several backends, one transcript."""

from __future__ import annotations

from pathlib import Path

from rltpf.errors import InputError
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import ChatModel
from rltpf.llm.settings import LLMConfig
from rltpf.llm.transcript import Transcript


def build_model(config: LLMConfig, transcript: Path) -> CachedModel:
    """The configured model behind the transcript at this path; raises `InputError` where the config cannot work."""
    return CachedModel(_backend(config), Transcript(transcript))


def _backend(config: LLMConfig) -> ChatModel:
    if config.backend == "openai":
        from rltpf.llm.openai import OpenAIModel

        return OpenAIModel(config)
    if config.backend == "transformers":
        from rltpf.llm.transformers import TransformersModel

        return TransformersModel(config)
    from rltpf.llm.replay import ReplayModel

    if config.transcript is None:
        raise InputError("llm.transcript: is missing: backend replay needs a recorded transcript")
    return ReplayModel(config.transcript, config.model)
