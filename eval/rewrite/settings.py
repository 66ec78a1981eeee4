"""The config of `rltpf rewrite`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from rltpf.config import Config
from rltpf.datasets import DatasetConfig
from rltpf.llm.settings import LLMConfig
from rltpf.prover.settings import ProverConfig
from rltpf.shards import known_part


class RewriteConfig(Config):
    output_dir: Path
    """Run directory; a run that was killed continues here."""
    dataset: DatasetConfig
    """The benchmark's problems."""
    level_column: str | None = None
    """Column that divides the problems into strata, such as `level` of MATH; None: they are one stratum."""
    target: int | None = Field(200, ge=1)
    """Retained problems at which a stratum ends; None: all problems are tried. Shards share it out among themselves."""
    method: Literal["repro", "auto_dataset", "itd", "varbench"] = "repro"
    """repro keeps what Lean proves. The others are its baselines, which prove nothing: of the models they ask the role
    rewriter alone, and of the keys below they heed prompts, seed and shards."""
    llm: LLMConfig
    """The models; each role may have its own."""
    prover: ProverConfig = ProverConfig()
    """The Lean that judges."""
    similarity_limit: float = Field(0.8, gt=0, le=1)
    """How similar in its letters a rewrite may be to the original and to the rewrites before it."""
    rewrites: int = Field(2, ge=1)
    """Rewrites of a problem that are tried."""
    formalizations: int = Field(3, ge=1)
    """Lean statements of a rewrite that are tried."""
    atp: Literal["model", "tactics"] = "model"
    """Who proves: the role `prover`, or a cascade of Lean's own tactics."""
    proofs: int = Field(3, ge=1)
    """Proofs that the model may try, the k of pass@k."""
    prompts: Path | None = None
    """Folder of prompts that take the place of those with the same file names in eval/rewrite/prompts, or
    eval/baselines/prompts."""
    prompts_version: str | None = None
    """The only version of the prompts that will do; None: whichever is there."""
    seed: int = 42
    """Decides the order in which problems are drawn, and how the models are sampled."""
    num_shards: int | None = Field(None, ge=1)
    """Parts of the problems, each taken by a process of its own; 1 divides nothing. None: SLURM_ARRAY_TASK_COUNT."""
    shard_id: int | None = Field(None, ge=0, validate_default=True)
    """The part that this process takes, from 0. None: this task's place in SLURM's array."""

    _names_a_part = field_validator("shard_id")(known_part)
