"""The config of `rltpf evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from rltpf.config import Config, faults_at
from rltpf.datasets import DatasetConfig
from rltpf.llm.settings import ModelConfig


class SolverConfig(ModelConfig):
    temperature: float = Field(0.0, ge=0, le=0)
    """Always 0: pass@1 is scored greedily."""


class EvaluateConfig(Config):
    output_dir: Path
    """Run directory; a run that was killed continues here."""
    benchmark: Literal["gsm8k", "jsonl"] = "gsm8k"
    """`gsm8k`: the gold answer follows `####`; `jsonl`: the answer column is the gold answer, or what
    `dataset.preset` reads from it."""
    dataset: DatasetConfig
    """The benchmark's rows."""
    llm: SolverConfig
    """The model to score."""

    @field_validator("dataset")
    @classmethod
    def _is_the_benchmark(cls, dataset: DatasetConfig, info: ValidationInfo) -> DatasetConfig:
        benchmark = info.data.get("benchmark", "jsonl")
        if dataset.preset and benchmark not in ("jsonl", dataset.preset):
            what = f"{dataset.preset} is not the benchmark {benchmark}: set benchmark: jsonl"
            raise faults_at([(("preset",), what)])
        return dataset
