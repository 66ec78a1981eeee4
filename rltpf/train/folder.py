"""The output folder of a training run: may it be used, where does it go on, and is it finished."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from rltpf.errors import InputError
from rltpf.hub import refuse_folder_without_model
from rltpf.journal import write_atomically
from rltpf.train.options import Options

# Options that change neither the data nor the weights: they may differ when a run goes on.
_FREE = {
    "output_dir", "overwrite_output_dir", "resume_from_checkpoint", "report_to", "run_name", "project", "disable_tqdm",
    "logging_steps", "logging_strategy", "logging_first_step", "log_level", "save_steps", "save_strategy",
    "save_total_limit", "push_to_hub", "hub_token", "hub_model_id", "hub_strategy", "hub_private_repo", "local_rank",
}  # fmt: skip
_LIBRARIES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")


def is_main_process() -> bool:
    """Whether this process speaks and writes for all; launchers say so in RANK before torch is there."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str) -> None:
    """A progress line on stderr, from the main process only."""
    if is_main_process():
        print(text, file=sys.stderr, flush=True)


class RunFolder:
    """`output_dir` with its `run.json` (config, input hashes, versions, finished or not) and its checkpoints.

    A second run with the same config continues from the newest complete checkpoint, or finds the run finished. Another
    config or other data is refused, since the checkpoints would not belong to it; `overwrite_output_dir` starts again.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.path = Path(options.get("output_dir"))
        self.overwrite = bool(options.get("overwrite_output_dir"))
        earlier = {} if self.overwrite else self._earlier()
        if earlier:
            self._refuse_other(earlier)
        self.finished = bool(earlier.get("finished"))

    @cached_property
    def state(self) -> dict[str, Any]:
        """What `run.json` says of this run while it is not finished."""
        config = {key: value for key, value in sorted(self.options.values.items()) if key not in _FREE}
        return {
            "kind": self.options.kind,
            "config": config,
            "inputs": {
                key: digest
                for key in ("dataset_name", "eval_dataset_name", "adapter_name_or_path", "model_name_or_path")
                if (digest := _digest(config.get(key)))
            },
            "versions": {name: version(name) for name in _LIBRARIES},
            "world_size": int(os.environ.get("WORLD_SIZE", "1")),
            "finished": False,
        }

    def checkpoint(self) -> str | None:
        """The checkpoint to continue from: the one asked for, else the newest complete one, else None."""
        asked = self.options.get("resume_from_checkpoint")
        if asked:
            if not _complete(Path(asked)):
                raise InputError(f"resume_from_checkpoint {asked}: no complete checkpoint there")
            return str(asked)
        if self.overwrite:
            return None
        steps = [path for path in self._checkpoints() if _complete(path)]
        return str(max(steps, key=lambda path: int(path.name.rpartition("-")[2]))) if steps else None

    def start(self) -> None:
        """Claim the folder: `run.json`, and `training_config.yaml`, which repeats this run when given to `--config`."""
        if not is_main_process():
            return
        self.path.mkdir(parents=True, exist_ok=True)
        if self.overwrite:
            for path in self._checkpoints():
                shutil.rmtree(path)
        self._save({})
        values = yaml.safe_dump(self.options.published(), sort_keys=True, allow_unicode=True)
        write_atomically(self.path / "training_config.yaml", values)

    def finish(self, log_history: Iterable[dict[str, Any]]) -> None:
        """Write `log_history.jsonl` for plots, remove TRL's copy of the reference adapter, mark the run finished."""
        if not is_main_process():
            return
        write_atomically(self.path / "log_history.jsonl", "".join(json.dumps(entry) + "\n" for entry in log_history))
        shutil.rmtree(self.path / "ref", ignore_errors=True)
        self._save({"finished": True})

    def _save(self, changes: dict[str, Any]) -> None:
        write_atomically(
            self.path / "run.json", json.dumps({**self.state, **changes}, indent=2, ensure_ascii=False) + "\n"
        )

    def _checkpoints(self) -> list[Path]:
        return [path for path in self.path.glob("checkpoint-*") if path.name.rpartition("-")[2].isdigit()]

    def _earlier(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.path / "run.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            if self._checkpoints():
                raise InputError(
                    f"{self.path} holds checkpoints of a run that is not ours: "
                    "pick another --output_dir, or remove them with --overwrite_output_dir true"
                ) from None
            return {}
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror}: pick another --output_dir") from None
        except ValueError:
            raise InputError(f"{self.path}/run.json is damaged: start again with --overwrite_output_dir true") from None

    def _refuse_other(self, earlier: dict[str, Any]) -> None:
        old, new = {**earlier["config"], **earlier["inputs"]}, {**self.state["config"], **self.state["inputs"]}
        new = json.loads(json.dumps(new))
        differ = [
            f"{key} (there {old.get(key)!r}, here {new.get(key)!r})"
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
        if earlier["kind"] != self.options.kind:
            differ.insert(0, f"kind (there {earlier['kind']}, here {self.options.kind})")
        if differ:
            raise InputError(
                f"{self.path} holds a run with other settings or data: {'; '.join(differ)}. "
                "Pick another --output_dir, or start again with --overwrite_output_dir true"
            )
        there, here = earlier["world_size"], self.state["world_size"]
        # Another number makes other batches: fewer or more steps, and rows trained on twice or never.
        if there != here and not earlier["finished"] and self._checkpoints():
            raise InputError(
                f"{self.path} holds a run that is not finished, of {there} process{'es' if there > 1 else ''} where "
                f"this is one of {here}. Launch {there} (accelerate's --num_processes), or start again with "
                "--overwrite_output_dir true"
            )


def check_start(options: Options) -> None:
    """Raise `InputError` where a folder to start from is none with a model; a hub's name has one slash at most."""
    for key in ("model_name_or_path", "adapter_name_or_path"):
        name = options.get(key) or ""
        if name.count("/") > 1 and not Path(name).exists():
            raise InputError(f"{key} {name}: no such folder; train the stage before, or give its output_dir")
        if name:
            refuse_folder_without_model(key, name)
    if (adapter := options.get("adapter_name_or_path")) and Path(adapter).is_dir():
        refuse_incomplete_adapter(f"adapter_name_or_path {adapter}", Path(adapter))


def refuse_incomplete_adapter(what: str, folder: Path) -> None:
    """Raise `InputError` where a folder lacks a file of a LoRA adapter; `what` says in the error which folder it is."""
    for file in ("adapter_config.json", "adapter_model.*"):
        if not any(folder.glob(file)):
            raise InputError(f"{what}: no {file} there: give the output_dir of a LoRA run")


def base_of(model: str) -> str:
    """The model that a chain of our training runs began with; `model` itself where it is no folder of one."""
    try:
        earlier = json.loads(Path(model, "run.json").read_text(encoding="utf-8"))["config"]["model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return model
    return base_of(str(earlier))


def _digest(name: str | None) -> str | None:
    """Hash of a local input: the file, the weights of an adapter folder, or what `run.json` says of a model that we
    trained, whose weights are many; None for a hub id and other folders."""
    path = Path(name or "")
    if path.is_dir():
        adapter = path / "adapter_model.safetensors"
        path = adapter if adapter.is_file() else path / "run.json"
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() if name and path.is_file() else None


def _complete(checkpoint: Path) -> bool:
    """Whether the checkpoint was written to its end: `trainer_state.json` is the last file of it."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
