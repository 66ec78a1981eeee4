"""A run of Weights & Biases for a command that was asked to report to it; nothing here knows what the command does.

W&B asks for a key on the terminal where it has none, which hangs a job: here a missing key is a fault of the input.
Its environment variables (`WANDB_PROJECT`, `WANDB_RUN_GROUP`, `WANDB_MODE=offline`, ...) win over our defaults.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltpf.errors import InputError, RunError
from rltpf.journal import write_atomically
from rltpf.records import canonical_json, content_id

PROJECT = "rltpf"
_IDENTITY = "wandb.json"
_WITHOUT_KEY = ("offline", "dryrun", "disabled")
_MESSAGE = {"role", "content"}


def is_asked_for(report_to: str | Sequence[str] | None) -> bool:
    """Whether `report_to` names W&B; `all` means what is installed."""
    names = [report_to] if isinstance(report_to, str) else report_to or []
    return "wandb" in names or ("all" in names and importlib.util.find_spec("wandb") is not None)


def check() -> None:
    """Raise `InputError` where W&B is not installed, or would ask for a key."""
    if importlib.util.find_spec("wandb") is None:
        raise InputError("report_to wandb: wandb is not installed: `pip install 'rltpf[wandb]'`, or --report_to none")
    import wandb

    try:
        settings = wandb.setup().settings
        silent = settings.silent
        # To greet who logs in, wandb asks the server for the name, and waits for minutes where no network answers.
        settings.silent = True
        try:
            ready = settings.mode in _WITHOUT_KEY or wandb.login(prompt=False, verify=False)
        finally:
            settings.silent = silent
    except (wandb.Error, ValueError) as error:
        raise InputError(f"report_to wandb: {_one_line(error)}") from None
    if not ready:
        raise InputError(
            "report_to wandb: no key for W&B here: run `wandb login`, set WANDB_API_KEY, or set WANDB_MODE=offline "
            "and `wandb sync` later"
        )


@dataclass(frozen=True)
class Labels:
    """How a run is found again in W&B."""

    group: str
    """The experiment, whose stages are compared with each other."""
    job_type: str
    """The stage, such as `sft` or `evaluate`."""
    name: str
    project: str | None = None


class Tracker:
    """The W&B run of this process."""

    def __init__(self, run: Any) -> None:
        self._run = run

    @property
    def url(self) -> str | None:
        """The run's page; None offline."""
        return None if self._run.offline else self._run.url

    @property
    def name(self) -> str:
        """Group and name of the run, as W&B has them."""
        return f"{self._run.group}/{self._run.name}"

    def produced(self, kind: str, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Log an artifact, such as a `dataset` or a `model`, that this run made.

        `identity`, such as its digest, names it and is its only content, so that runs which say the same of it are
        linked; `facts` are its metadata.
        """
        self._run.log_artifact(_artifact(kind, identity, facts))

    def used(self, kind: str, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """As `produced`, of what this run was given."""
        artifact = _artifact(kind, identity, facts)
        # W&B cannot take an artifact offline: there the run logs the same one again, which links it to it, too.
        if self._run.offline:
            self._run.log_artifact(artifact)
        else:
            self._run.use_artifact(artifact)

    def summarise(self, values: Mapping[str, Any]) -> None:
        """Set the values that stand for the run where runs are compared."""
        self._run.summary.update(dict(values))

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Log rows as a table; message lists become readable text, other values that are no text or number JSON."""
        import wandb

        columns = list(dict.fromkeys(column for row in rows for column in row))
        cells = [[_cell(row.get(column)) for column in columns] for row in rows]
        self._run.log({name: wandb.Table(columns=[*columns], data=cells)})


@contextmanager
def tracked(folder: Path, labels: Labels, config: Mapping[str, Any], resumed: bool = False) -> Iterator[Tracker]:
    """A W&B run around the body, marked as failed where that raises.

    `wandb.json` in the folder of the command's results keeps the run's id, so that a command that is `resumed` there
    goes on with the same curves. Raises `RunError` where the server does not answer.
    """
    import wandb

    given: dict[str, Any] = {
        "project": labels.project or os.environ.get("WANDB_PROJECT") or PROJECT,
        "group": os.environ.get("WANDB_RUN_GROUP") or labels.group,
        "job_type": os.environ.get("WANDB_JOB_TYPE") or labels.job_type,
        "name": labels.name,
    }
    earlier = _read_identity(folder) if resumed else None
    try:
        run = wandb.init(**given, config=dict(config), id=earlier, resume="allow" if earlier else None)
    except (wandb.Error, OSError) as error:
        raise RunError(
            f"W&B: {_one_line(error)}: start again with WANDB_MODE=offline and `wandb sync` later, or --report_to none"
        ) from None
    failed = True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / _IDENTITY, json.dumps({**given, "id": run.id, "url": Tracker(run).url}) + "\n")
        yield Tracker(run)
        failed = False
    finally:
        run.finish(exit_code=int(failed))


def _artifact(kind: str, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> Any:
    import wandb

    artifact = wandb.Artifact(f"{kind}-{content_id(identity)}", type=kind, metadata=dict(facts))
    with artifact.new_file(f"{kind}.json", encoding="utf-8") as file:
        file.write(canonical_json(identity) + "\n")
    return artifact


def _read_identity(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / _IDENTITY).read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) and item.keys() >= _MESSAGE for item in value):
        return "\n\n".join(f"{message['role']}: {message['content']}" for message in value)
    return json.dumps(value, ensure_ascii=False)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
