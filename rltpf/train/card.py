"""The model card of a training run: what was trained, on which data, with which result, and how to do it again.

A pure function from facts to the text of `README.md`, in the place of the template that TRL writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rltpf import __version__
from rltpf import markdown as md
from rltpf.train.options import Options
from rltpf.train.provenance import Generation, Provenance

_SHOWN = (
    "loss", "eval_loss", "mean_token_accuracy", "rewards/chosen", "rewards/rejected", "rewards/accuracies",
    "rewards/margins",
)  # fmt: skip
_UNTITLED = ("", "")


@dataclass(frozen=True)
class Facts:
    """What a card says of a run."""

    options: Options
    base: str
    """Name of the base model; that of the first stage where this one goes on from another."""
    adapter: Mapping[str, Any] | None
    """Rank, alpha, dropout and modules of a LoRA adapter; None for a full fine-tuning."""
    data: Provenance
    versions: Mapping[str, str]
    processes: int
    device: str
    url: str | None
    """Of the run in W&B."""


def model_card(facts: Facts, log_history: Sequence[Mapping[str, Any]]) -> str:
    """The text of `README.md`."""
    options = facts.options
    name = options.get("hub_model_id") or options.get("output_dir")
    sections = [
        f"---\n{yaml.safe_dump(_front_matter(facts), sort_keys=False, allow_unicode=True)}---",
        f"# {Path(name).name}",
        _summary(facts),
        f"```python\n{_loading(facts, name)}\n```",
        "## Data",
        _data(facts.data),
        "## Training",
        _metrics(log_history),
        f"To train it again, in {_machine(facts)}:",
        f"```\n{_command(facts)}\n```",
        "where `training_config.yaml`, in this folder too, is",
        f"```yaml\n{yaml.safe_dump(options.published(), sort_keys=True, allow_unicode=True)}```",
        "Versions: " + ", ".join(f"{library} {number}" for library, number in facts.versions.items()) + ".",
        *([f"Curves: {facts.url}"] if facts.url else []),
        "## Licence and limits",
        "The licence is that of the base model and of the data. Whatever judged the training rows, nobody has judged "
        "what this model answers: `rltpf evaluate` measures how often it is right.",
    ]
    return "\n\n".join(sections) + "\n"


def _front_matter(facts: Facts) -> dict[str, Any]:
    kind = facts.options.kind
    return {
        "library_name": "peft" if facts.adapter else "transformers",
        # Names of the hub alone: its pages link them, and a path of this machine says nothing there.
        **({"base_model": facts.base} if _is_of_hub(facts.base) else {}),
        **({"datasets": [facts.data.name]} if _is_of_hub(facts.data.name) else {}),
        "pipeline_tag": "text-generation",
        "tags": ["rltpf", "lean4", "trl", kind, *(["lora"] if facts.adapter else [])],
    }


def _is_of_hub(name: str) -> bool:
    return re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) is not None and not Path(name).exists()


def _summary(facts: Facts) -> str:
    options = facts.options
    start = options.get("adapter_name_or_path")
    before = f", from the adapter `{start}`" if start else ""
    if not start and options.get("model_name_or_path") != facts.base:
        before = f", from the model `{options.get('model_name_or_path')}`"
    how = "all of its weights"
    if facts.adapter:
        how = "a LoRA adapter of " + ", ".join(f"{key} {value}" for key, value in facts.adapter.items())
    return f"`{facts.base}` after {options.kind.upper()}{before}: {how}, trained with rltpf {__version__} and TRL."


def _loading(facts: Facts, name: str) -> str:
    cls, library = ("AutoPeftModelForCausalLM", "peft") if facts.adapter else ("AutoModelForCausalLM", "transformers")
    return f'from {library} import {cls}\n\nmodel = {cls}.from_pretrained("{name}")'


def _data(data: Provenance) -> str:
    rows = [("data set", md.code(data.name)), ("rows trained on", data.rows)]
    if data.sha256:
        rows.append(("SHA-256", f"`{data.sha256}`"))
    origin = (
        _origin(data.generation)
        if data.generation
        else "It does not lie in the folder of a generate run, so who judged the rows is not known here."
    )
    return f"{md.table(_UNTITLED, rows)}\n\n{origin}"


def _origin(run: Generation) -> str:
    settings = run.settings
    rows: list[tuple[str, Any]] = [
        ("seed problems", md.code(settings["dataset.path"])),
        ("model that stated and answered them", f"{md.code(settings['llm.model'])} ({settings['llm.backend']})"),
        ("Lean", run.toolchain or "not recorded"),
        ("rltpf", run.rltpf),
        ("started", run.time),
        ("seed", settings["seed"]),
        *run.counts.items(),
    ]
    return f"Generated in `{run.folder}`, every answer judged by Lean step by step:\n\n{md.table(_UNTITLED, rows)}"


def _metrics(log_history: Sequence[Mapping[str, Any]]) -> str:
    steps = max((entry["step"] for entry in log_history if "loss" in entry), default=0)
    rows = []
    for name in _SHOWN:
        values = [entry[name] for entry in log_history if name in entry]
        if values:
            rows.append((name, f"{values[0]:.4g}", f"{values[-1]:.4g}"))
    if not rows:
        return "No step was logged."
    return f"{steps} steps.\n\n" + md.table(("metric", "first logged", "last logged"), rows)


def _machine(facts: Facts) -> str:
    return f"{facts.processes} process{'es' if facts.processes > 1 else ''} on {facts.device}"


def _command(facts: Facts) -> str:
    kind = facts.options.kind
    start = f"rltpf train {kind}"
    if facts.processes > 1:
        start = f"accelerate launch --num_processes {facts.processes} -m rltpf.train.{kind}"
    return f"{start} --config training_config.yaml --output_dir ANOTHER_FOLDER"
