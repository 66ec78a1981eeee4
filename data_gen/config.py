"""The configs of `rltpf generate` and `rltpf judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from rltpf.config import SAME_RESULTS, Config
from rltpf.datasets import DatasetConfig
from rltpf.llm.settings import LLMConfig
from rltpf.prover.settings import ProverConfig
from rltpf.shards import known_part


class DecontaminateConfig(Config):
    datasets: tuple[DatasetConfig, ...] = ()
    """Evaluation sets, a list of sections as `dataset` is one: a question that shares a run of words with one of theirs
    is lost before anything is spent on it."""
    ngram_size: int = Field(13, ge=1)
    """Words in a row that questions may not share; fewer also finds phrases that many questions have."""


class GenerateConfig(Config):
    output_dir: Path
    """Run directory; a run that was killed continues here."""
    dataset: DatasetConfig
    """Seed problems."""
    license: str | None = Field(None, json_schema_extra=SAME_RESULTS)
    """Licence of the seed problems as the hub writes it, such as mit, for the card of the data sets; None: unknown."""
    decontaminate: DecontaminateConfig = DecontaminateConfig()
    """What the models will be evaluated on."""
    llm: LLMConfig
    """The teacher: it formalises, tells again, aligns and answers."""
    prover: ProverConfig = ProverConfig()
    """The Lean that judges."""
    answers_per_question: int = Field(2, ge=2)
    """Answers sampled for each question that is kept."""
    repairs: int = Field(5, ge=0)
    """Repairs of a formalisation (R of algorithm 1)."""
    strategy: Literal["seed", "reverse_qa"] = "seed"
    """The questions: those of the seed problems as they are, or new ones that are given a seed problem's answer and ask
    for one of its numbers."""
    prompts: Path | None = None
    """Folder of prompts that take the place of those with the same file names in data_gen/prompts."""
    prompts_version: str | None = None
    """The only version of the prompts that will do; None: whichever is there."""
    seed: int = 42
    """The k-th answer to a question is sampled with seed + k."""
    num_shards: int | None = Field(None, ge=1)
    """Parts of the problems, each taken by a process of its own; 1 divides nothing. None: SLURM_ARRAY_TASK_COUNT."""
    shard_id: int | None = Field(None, ge=0, validate_default=True)
    """The part that this process takes, from 0. None: this task's place in SLURM's array."""

    _names_a_part = field_validator("shard_id")(known_part)


class JudgeConfig(Config):
    output_dir: Path
    """Run directory of the verdicts; judging that was stopped continues here."""
    llm: LLMConfig | None = None
    """The formaliser. None: no model is asked, and calculations alone are judged: no answer is then verified."""
    prover: ProverConfig = ProverConfig()
    """The Lean that judges."""
    repairs: int = Field(5, ge=0)
    """Repairs of a formalisation (R of algorithm 1)."""
    prompts: Path | None = None
    """Folder of prompts that take the place of those with the same file names in data_gen/prompts."""
    prompts_version: str | None = None
    """The only version of the prompts that will do; None: whichever is there."""
    seed: int = 42
    """Seed of the formaliser's sampling."""
