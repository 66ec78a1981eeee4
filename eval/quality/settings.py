"""The config of `rltpf quality compare`."""

from __future__ import annotations

from pathlib import Path

from rltpf.config import Config
from rltpf.llm.settings import LLMConfig


class QualityConfig(Config):
    output_dir: Path
    """Run directory; a judging that was stopped continues here."""
    llm: LLMConfig
    """The judge, which is asked at temperature 0."""
    seed: int = 42
    """Seed of the judge's sampling, for servers that use one."""
