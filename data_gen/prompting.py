"""The prompts of data generation (see `rltpf.prompting`)."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from data_gen.config import GenerateConfig, JudgeConfig
from rltpf import prompting
from rltpf.prover.cascade import Library

HOME = Path(__file__).parent / "prompts"

ConfigT = TypeVar("ConfigT", GenerateConfig, JudgeConfig)


class Prompts(prompting.Prompts):
    """The prompts of this package, those of `folder` in their place."""

    def __init__(self, folder: Path | None = None, library: Library = "core") -> None:
        super().__init__(HOME, folder, library)


OWN = Prompts()
"""The prompts of this package for core Lean: what the demo was recorded with."""


def with_version(config: ConfigT) -> ConfigT:
    """The config with the version of its prompts; raises `InputError` where it asks for another one."""
    version = prompting.known_version(HOME, config.prompts, config.prompts_version)
    return config.model_copy(update={"prompts_version": version})
