"""The config of `rltpf evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from eval.benchmarks import BENCHMARKS
from rltpf.config import Config, faults_at
from rltpf.datasets import DatasetConfig
from rltpf.llm.settings import ModelConfig
from rltpf.prover.settings import ProverConfig


class SolverConfig(ModelConfig):
    temperature: float = Field(0.0, ge=0)
    """0, greedy, for one sample a row; above 0 for more."""


class EvaluateConfig(Config):
    output_dir: Path
    """Run directory; a run that was killed continues here."""
    benchmark: Literal[
        "gsm8k",
        "multiarith",
        "svamp",
        "asdiv",
        "aqua",
        "math",
        "math500",
        "aime24",
        "amc23",
        "olympiadbench",
        "repro",
        "repro_originals",
        "jsonl",
    ] = "gsm8k"
    """What the rows are (`rltpf evaluate --list`); `jsonl`: the answer column is the gold answer, or what
    `dataset.preset` reads from it."""
    dataset: DatasetConfig
    """The benchmark's rows."""
    samples: int = Field(1, ge=1)
    """Replies to each row. More than one give pass@k, maj@k and the average, for k of 2, 4, 8, ... and all."""
    llm: SolverConfig
    """The model to score."""
    prover: ProverConfig | None = None
    """The Lean that compares answers, too, by restricted propositional equivalence; None: none does."""
    seed: int = 42
    """The k-th of several replies is sampled with seed + k; a single one is greedy."""

    @field_validator("dataset")
    @classmethod
    def _is_the_benchmark(cls, dataset: DatasetConfig, info: ValidationInfo) -> DatasetConfig:
        benchmark = info.data.get("benchmark", "jsonl")
        if dataset.preset and benchmark != "jsonl" and dataset.preset != BENCHMARKS[benchmark].preset:
            what = f"{dataset.preset} is not the benchmark {benchmark}: set benchmark: jsonl"
            raise faults_at([(("preset",), what)])
        return dataset

    @field_validator("llm")
    @classmethod
    def _samples_differ(cls, llm: SolverConfig, info: ValidationInfo) -> SolverConfig:
        samples = info.data.get("samples")
        if samples == 1 and llm.temperature > 0:
            what = f"is {llm.temperature}, and one sample a row is scored greedily: set it to 0, or set samples"
            raise faults_at([(("temperature",), what)])
        if samples is not None and samples > 1 and llm.temperature == 0:
            raise faults_at([(("temperature",), f"is 0, and {samples} samples would all be the same: set it above 0")])
        return llm
