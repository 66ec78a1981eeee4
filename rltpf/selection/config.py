"""The config of `rltpf select`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rltpf.config import Config
from rltpf.llm.settings import LLMConfig
from rltpf.prover.settings import ProverConfig


class SelectConfig(Config):
    output_dir: Path
    """Run directory; a selection that was stopped continues here."""
    llm: LLMConfig
    """The formaliser; the judge, which says where an answer stands; and the rewriter."""
    prover: ProverConfig = ProverConfig()
    """The Lean that judges."""
    rule: Literal["first", "proof", "majority"] = "proof"
    """Which candidate is selected: the first whose statement elaborates; the first that is proved, refuted ones left
    out; or the most frequent value among those. Only the first needs no proofs."""
    independent: bool = False
    """Whether every candidate is formalised by itself too, as a control: as many formaliser calls as candidates."""
    seed: int = 42
    """Seed of all sampling."""
