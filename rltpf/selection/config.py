"""The configs of `rltpf select` and `rltpf scribe`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from rltpf.config import Config
from rltpf.llm.settings import LLMConfig
from rltpf.prover.settings import ProverConfig


class SelectConfig(Config):
    output_dir: Path
    """Run directory; a selection that was stopped continues here."""
    llm: LLMConfig
    """The formaliser; the judge, which says where an answer stands; the rewriter; and the checker for the majority."""
    prover: ProverConfig = ProverConfig()
    """The Lean that judges."""
    rule: Literal["first", "proof", "majority"] = "proof"
    """Which candidate is selected: the first whose statement elaborates; the first that is proved, refuted ones left
    out; or the most frequent value among those whose statement a model, the checker, finds to say what the problem says
    (FANS). Only the first needs no proofs."""
    independent: bool = False
    """Whether every candidate is formalised by itself too, as a control: as many formaliser calls as candidates."""
    seed: int = 42
    """Seed of all sampling."""


class ScribeConfig(Config):
    output_dir: Path
    """Run directory; a run that was stopped continues here. The data set is in its folder data."""
    llm: LLMConfig
    """The formaliser, and the rewriter whose replies are filtered: a teacher, or the model that was trained so far."""
    prover: ProverConfig = ProverConfig()
    """The Lean that filters."""
    samples: int = Field(8, ge=1)
    """Most replies of the rewriter for one problem; the first that passes is kept."""
    tests: int = Field(4, ge=2)
    """Other answers of the problem that the function is tried on: Lean has to take what it writes for all of them."""
    labels: int = Field(0, ge=0)
    """Of these answers, for how many the rewriter first writes the block itself, a request each: the function is then
    asked for with these blocks, and has to give them. The first phase, without a trained model, goes this way."""
    hard: bool = False
    """Whether only problems are kept whose base answer is not found in the statement as it stands."""
    earlier: tuple[Path, ...] = ()
    """Run directories of earlier phases: their examples come first, and their problems are not tried again."""
    test_share: float = Field(0.1, ge=0, lt=1)
    """Share of the problems that are held out for evaluation, drawn by the question before anything else."""
    seed: int = 42
    """Seed of all sampling, and of the problems that are held out."""

    @model_validator(mode="after")
    def _one_is_unseen(self) -> ScribeConfig:
        if self.labels >= self.tests:
            raise ValueError(f"labels is {self.labels}, and has to be below tests, {self.tests}: one answer is unseen")
        return self
