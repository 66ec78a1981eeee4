"""The prompts of rewriting (see `rltpf.prompting`)."""

from __future__ import annotations

from pathlib import Path

from eval.rewrite.settings import RewriteConfig
from rltpf.prompting import Prompts, known_version
from rltpf.prover.cascade import Library

_EVAL = Path(__file__).parents[1]
HOME = _EVAL / "rewrite" / "prompts"
BASELINES = _EVAL / "baselines" / "prompts"


def build_prompts(home: Path = HOME, folder: Path | None = None, library: Library = "core") -> Prompts:
    """The prompts in `home`, those of `folder` in their place."""
    return Prompts(home, folder, library)


def home_of(config: RewriteConfig) -> Path:
    """The folder of the method's prompts."""
    return HOME if config.method == "repro" else BASELINES


def with_version(config: RewriteConfig) -> RewriteConfig:
    """The config with the version of its prompts; raises `InputError` where it asks for another one."""
    version = known_version(home_of(config), config.prompts, config.prompts_version)
    return config.model_copy(update={"prompts_version": version})
