"""`rltpf config validate`: everything that is wrong with config files, without starting what they are for."""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rltpf.config import Findings

# What a config can be for: the command, and its config class or, where it is none of ours, nothing.
_TARGETS = {
    "generate": ("rltpf generate", "data_gen.config:GenerateConfig"),
    "judge": ("rltpf judge", "data_gen.config:JudgeConfig"),
    "rewrite": ("rltpf rewrite", "eval.rewrite.settings:RewriteConfig"),
    "quality": ("rltpf quality compare", "eval.quality.settings:QualityConfig"),
    "evaluate": ("rltpf evaluate", "eval.settings:EvaluateConfig"),
    "select": ("rltpf select", "rltpf.selection.config:SelectConfig"),
    "pipeline": ("rltpf submit", "rltpf.submit:PipelineConfig"),
    "scribe": ("rltpf scribe", "rltpf.selection.config:ScribeConfig"),
    "sft": ("rltpf train sft", ""),
    "dpo": ("rltpf train dpo", ""),
    "kto": ("rltpf train kto", ""),
    "rltpf": ("rltpf train rltpf", ""),
    "accelerate": ("accelerate launch", ""),
}


def register(subparsers: Any) -> None:
    """Add `config` to the subparsers of the command line."""
    config = subparsers.add_parser("config", help="check config files without running anything")
    actions = config.add_subparsers(dest="action", metavar="validate", required=True)
    validator = actions.add_parser(
        "validate",
        help="list every fault of config files",
        description="Says of each file which command it is a config of, found out by its keys and then by its name and "
        "folder, and either lists all its faults or says that it is valid. Required keys may be left to the command "
        "line.",
        epilog="example: rltpf config validate configs/*/*.yaml",
    )
    validator.add_argument("files", metavar="FILE", nargs="+", type=Path, help="YAML file")
    validator.add_argument("--for", dest="target", choices=list(_TARGETS), help="what the files are for")
    validator.set_defaults(run=validate)


def validate(args: argparse.Namespace, overrides: list[str]) -> int:
    """Print a line for every valid file; raises `InputError` with the faults of all others."""
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError

    refuse_overrides(overrides)
    faults: list[str] = []
    for path in args.files:
        try:
            print(_validated(path, args.target))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*faults)
    return 0


def _validated(path: Path, target: str | None) -> str:
    """The line for a valid file; raises `InputError` with the faults of another."""
    from rltpf.config import read_yaml
    from rltpf.errors import InputError

    values = read_yaml(path)
    found = {name: _examine(name, values, path) for name in ([target] if target else _TARGETS)}
    words = set(re.findall("[a-z]+", f"{path.absolute().parent.name} {path.stem}".lower()))

    def misfit(name: str) -> tuple[float, ...]:
        findings = found[name]
        named = len(words & set(_TARGETS[name][0].split()))
        return findings.strangeness, -named, len(findings.faults), len(findings.left)

    best = min(found, key=misfit)
    if target is None and found[best].strangeness >= 2 * len(values):
        raise InputError(f"{path}: has the keys of no config: say with --for which one it is meant to be")
    if found[best].faults:
        raise InputError(*found[best].faults)
    commands = " and ".join(f"`{_TARGETS[name][0]}`" for name in found if misfit(name) == misfit(best))
    left = "".join(f" --{key}" for key in found[best].left)
    return f"{path}: valid for {commands}" + (f", which needs besides:{left}" if left else "")


def _examine(name: str, values: dict[str, Any], path: Path) -> Findings:
    command, place = _TARGETS[name]
    source = f"{path} (for `{command}`)"
    if not place:
        from rltpf.train import job, options

        if name == "rltpf":
            return job.examine(values, source)
        return options.examine(name, values, source)
    from rltpf import config

    module, _, cls = place.partition(":")
    return config.examine(getattr(importlib.import_module(module), cls), values, source)
