"""A pipeline as jobs of SLURM that wait for each other: data, joining, training, scores, report.

The jobs are the files of slurm/ with arguments; what is finished by its own run's record is not submitted again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, field_validator

from rltpf.config import Config
from rltpf.errors import InputError
from rltpf.runs import read_manifest
from rltpf.shards import Shard
from rltpf.train.job import VARIANTS


class Resources(Config):
    """What every stage may say."""

    sbatch: list[str] = Field(default_factory=list)
    """Options of sbatch, such as `--gres=gpu:1`, after those of the whole pipeline."""
    arguments: list[str] = Field(default_factory=list)
    """What follows the stage's command, such as `--llm.model=NAME`."""


class Generating(Resources):
    config: Path
    """A config of `rltpf generate`."""
    shards: int = Field(1, ge=1, le=10_000)
    """Tasks of the array."""


class Training(Resources):
    config: Path
    """A config of `rltpf train rltpf`."""
    variant: str = "rltpf"
    """The method, or an ablation of it: sft_verified, sft_all."""

    @field_validator("variant")
    @classmethod
    def _known(cls, variant: str) -> str:
        if variant not in VARIANTS:
            raise ValueError(f"is {variant!r}, and has to be one of {', '.join(VARIANTS)}")
        return variant


class Evaluating(Resources):
    config: Path
    """A config of `rltpf evaluate`."""
    models: dict[str, str] = Field(min_length=1)
    """Names and models; `sft` and `dpo` in output_dir are what training makes."""

    @field_validator("models")
    @classmethod
    def _named(cls, models: dict[str, str]) -> dict[str, str]:
        if wrong := [name for name in models if not re.fullmatch(r"\w[\w.-]*", name)]:
            raise ValueError(f"names a model {wrong[0]!r}: it names a folder, so use letters, digits, _, . and - alone")
        return models


class PipelineConfig(Config):
    output_dir: Path
    """Folder of the whole experiment: data/, sft/, dpo/ and eval/NAME/ come into it."""
    sbatch: list[str] = Field(default_factory=list)
    """Options of sbatch for every job, such as `--partition=NAME`."""
    generate: Generating
    train: Training
    evaluate: Evaluating


class Job(NamedTuple):
    """A stage as one call of sbatch."""

    name: str
    options: tuple[str, ...]
    arguments: tuple[str, ...]
    finished: bool

    def command(self, folder: Path, after: str | None) -> list[str]:
        """The call of sbatch; `after` is the job that has to succeed first."""
        wait = ["--kill-on-invalid-dep=yes", f"--dependency=afterok:{after}"] if after else []
        return ["sbatch", "--parsable", *wait, *self.options, str(folder / f"{self.name}.sbatch"), *self.arguments]


def jobs(config: PipelineConfig) -> list[Job]:
    """The stages in their order, each with whether it is finished."""
    root, data = config.output_dir, config.output_dir / "data"
    generate, train, evaluate = config.generate, config.train, config.evaluate
    array = (f"--array=0-{generate.shards - 1}",) if generate.shards > 1 else ()
    shards = [Shard(number, generate.shards).folder(data) for number in range(generate.shards)]
    joined = _run_finished(data)
    stages = [
        _job(
            "generate",
            config,
            generate,
            array,
            ("--config", str(generate.config), "--output_dir", str(data)),
            joined or (generate.shards > 1 and all(map(_run_finished, shards))),
        )
    ]
    if generate.shards > 1:
        stages.append(_job("merge", config, Resources(), (), (str(data),), joined))
    output = ("--dataset_name", str(data), "--output_dir", str(root), "--variant", train.variant)
    trained = all(_training_finished(root / stage) for stage in VARIANTS[train.variant])
    stages.append(_job("train", config, train, (), ("rltpf", "--config", str(train.config), *output), trained))
    # Each model is one task, so what is scored already is left out.
    left = {name: model for name, model in evaluate.models.items() if not _run_finished(root / "eval" / name)}
    names = tuple(f"{name}={model}" for name, model in left.items())
    tail = (str(root / "eval"), *names, "--", "--config", str(evaluate.config))
    stages.append(_job("evaluate", config, evaluate, (f"--array=0-{max(len(left) - 1, 0)}",), tail, not left))
    reported = (root / "report.md").is_file() and all(stage.finished for stage in stages)
    stages.append(_job("report", config, Resources(), (), (str(root),), reported))
    return stages


def check(stages: Sequence[Job]) -> None:
    """Read what is not finished as its job will, config and arguments; raises `InputError` with every fault.

    Better here than in a job that has waited for a GPU. The `env` section of a training's config comes into the
    environment of this process.
    """
    from data_gen.config import GenerateConfig
    from eval.settings import EvaluateConfig
    from rltpf.cli import parse
    from rltpf.config import load
    from rltpf.train.job import read_job

    faults: list[str] = []
    for stage in stages:
        words = list(stage.arguments)
        try:
            if stage.finished:
                continue
            if stage.name == "generate":
                args, overrides = parse(["generate", *words])
                load(GenerateConfig, args.config, overrides)
            elif stage.name == "train":
                words[words.index("--dataset_name") + 1] = "."  # the data are still to come
                read_job(words[1:])
            elif stage.name == "evaluate":
                (folder, model), words = words[:2], words[words.index("--") + 1 :]
                name, _, model = model.partition("=")
                args, overrides = parse(["evaluate", "--llm.model", model, "--output_dir", f"{folder}/{name}", *words])
                load(EvaluateConfig, args.config, overrides)
        except InputError as error:
            faults += [f"{stage.name}: {fault}" for fault in error.faults]
    if faults:
        raise InputError(*faults)


def submit(stages: Sequence[Job], folder: Path, start: Callable[[list[str]], str]) -> list[str]:
    """Submit what is not finished, each after the one before it; the lines that say what was done.

    `start` runs a command and returns what it prints: the number of the job.
    """
    lines = []
    before: str | None = None
    for stage in stages:
        if stage.finished:
            lines.append(f"{stage.name}: is finished, not submitted")
            continue
        command = stage.command(folder, before)
        before = start(command).strip().partition(";")[0]
        lines.append(f"{stage.name}: job {before}: {shlex.join(command)}")
    return lines


def preview(stages: Sequence[Job], folder: Path) -> str:
    """The commands, with a word for the number of the job before, and the text of each sbatch file."""
    number: dict[str, str] = {}

    def name_of(command: list[str]) -> str:
        stage = next(s.name for s in stages if str(folder / f"{s.name}.sbatch") in command)
        number[stage] = f"${stage.upper()}_JOB"
        return number[stage]

    lines = submit(stages, folder, name_of)
    texts = [
        f"\n== {folder / name}.sbatch\n{(folder / f'{name}.sbatch').read_text(encoding='utf-8')}" for name in number
    ]
    return "\n".join([*lines, *texts])


def _job(
    name: str, config: PipelineConfig, stage: Resources, options: tuple[str, ...], words: tuple[str, ...], done: bool
) -> Job:
    return Job(name, (*config.sbatch, *stage.sbatch, *options), (*words, *stage.arguments), done)


def _run_finished(folder: Path) -> bool:
    manifest = read_manifest(folder)
    return manifest is not None and "finished" in manifest["starts"][-1]


def _training_finished(folder: Path) -> bool:
    try:
        state: Mapping[str, object] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(state.get("finished"))
