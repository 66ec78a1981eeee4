"""The config of `rltpf evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from rltpf.config import Config
from rltpf.datasets import DatasetConfig
from rltpf.llm.settings import LLMConfig


class EvaluateConfig(Config):
    output_dir: Path
    """Run directory; a run that was killed continues here."""
    benchmark: Literal["gsm8k", "jsonl"] = "gsm8k"
    """`gsm8k`: the gold answer follows `####`; `jsonl`: the answer column is the gold answer."""
    dataset: DatasetConfig
    """The benchmark's rows."""
    llm: LLMConfig
    """The model to score; it is asked greedily, with temperature 0."""

    @model_validator(mode="after")
    def _greedy(self) -> Self:
        if "temperature" in self.llm.model_fields_set and self.llm.temperature != 0:
            raise ValueError("llm.temperature: pass@1 is scored greedily: leave it out or set it to 0")
        return self
