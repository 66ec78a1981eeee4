"""The prompts of rewriting (see `rltpf.prompting`)."""

from __future__ import annotations

from pathlib import Path

from eval.rewrite.settings import RewriteConfig
from rltpf.prompting import Prompts, known_version
from rltpf.prover.cascade import Library

HOME = Path(__file__).parent / "prompts"


def build_prompts(folder: Path | None = None, library: Library = "core") -> Prompts:
    """The prompts of this package, those of `folder` in their place."""
    return Prompts(HOME, folder, library)


def with_version(config: RewriteConfig) -> RewriteConfig:
    """The config with the version of its prompts; raises `InputError` where it asks for another one."""
    version = known_version(HOME, config.prompts, config.prompts_version)
    return config.model_copy(update={"prompts_version": version})
