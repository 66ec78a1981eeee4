"""What a training run tells others: the model card in its folder, and its run in Weights & Biases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rltpf import tracking
from rltpf.journal import write_atomically
from rltpf.train.card import Facts, model_card
from rltpf.train.folder import RunFolder, base_of, is_main_process
from rltpf.train.provenance import Provenance
from rltpf.weights import digests

_SAMPLES = 20


def provenance(folder: RunFolder, rows: int) -> Provenance:
    """The provenance of the run's data set; a mixture is named by its parts."""
    options = folder.options
    name = options.get("dataset_name") or json.dumps(options.get("datasets"), ensure_ascii=False, default=str)
    return Provenance.of(name, rows, folder.state["inputs"].get("dataset_name"))


def labels(folder: RunFolder) -> tracking.Labels:
    """Group, stage and name of the run in W&B: runs whose folders lie in one folder are one experiment."""
    options = folder.options
    model = Path(base_of(options.get("model_name_or_path"))).name
    # A folder such as `sft_all` tells runs of one kind apart.
    task = folder.path.name if folder.path.name.startswith(options.kind) else options.kind
    way = "lora" if options.get("use_peft") or options.get("adapter_name_or_path") else "full"
    return tracking.Labels(
        group=folder.path.absolute().parent.name,
        job_type=options.kind,
        name=options.get("run_name") or f"{model}-{task}-{way}",
        project=options.get("project"),
    )


@contextmanager
def reported(folder: RunFolder, data: Provenance, rows: Sequence[dict[str, Any]]) -> Iterator[tracking.Tracker]:
    """A W&B run around the training; the trainer's own callback logs its metrics and every argument into it."""
    found = labels(folder)
    config = {**folder.options.published(), "dataset": data.facts(), "versions": folder.state["versions"]}
    with tracking.tracked(folder.path, found, config, resumed=folder.checkpoint() is not None) as tracker:
        tracker.used("dataset", {"sha256": data.sha256} if data.sha256 else {"name": data.name}, data.facts())
        tracker.table("samples/train", rows[:_SAMPLES])
        yield tracker
        tracker.produced("model", digests(folder.path), {"folder": str(folder.path)})


def card_writer(
    trainer: Any, folder: RunFolder, data: Provenance, tracker: tracking.Tracker | None
) -> Callable[..., None]:
    """A function in the place of the trainer's `create_model_card`, so that no save and no push leaves TRL's card."""
    facts = Facts(
        options=folder.options,
        base=base_of(folder.options.get("model_name_or_path")),
        adapter=_adapter(trainer.model),
        data=data,
        versions=folder.state["versions"],
        processes=trainer.accelerator.num_processes,
        device=trainer.args.device.type,
        url=tracker.url if tracker else None,
    )

    def write(**_: Any) -> None:
        if is_main_process():
            write_atomically(folder.path / "README.md", model_card(facts, trainer.state.log_history))

    return write


def _adapter(model: Any) -> dict[str, Any] | None:
    config = getattr(model, "peft_config", {}).get("default")
    if config is None:
        return None
    modules = config.target_modules
    return {
        "rank": config.r,
        "alpha": config.lora_alpha,
        "dropout": config.lora_dropout,
        "on": modules if isinstance(modules, str) else " ".join(sorted(modules)),
    }
