"""Shards: one run divided among processes by the content of its items, each with a run directory of its own.

output_dir/shards/0-of-3  1-of-3  2-of-3     nothing is written by two processes, on network file systems too
output_dir                                   what joins them, as if the run had not been divided
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from rltpf.config import Missing
from rltpf.errors import InputError
from rltpf.journal import Journal, scan
from rltpf.records import content_id
from rltpf.runs import RunDirectory, binding_settings, check_folder, different_settings, read_manifest

_FOLDER = "shards"
_INPUT = "input.json"
_NAME = re.compile(r"(0|[1-9]\d{0,8})-of-([1-9]\d{0,8})")
_MOST_FAULTS = 20


@dataclass(frozen=True)
class Shard:
    """Part `number`, counted from 0, of `total`."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"shard {self.number} of {self.total}"

    def holds(self, identity: str) -> bool:
        """Whether the item with this `content_id` falls to this part; its place in the input does not matter."""
        return int(identity, 16) % self.total == self.number

    def folder(self, output_dir: Path) -> Path:
        """The part's run directory; the whole of a run has `output_dir` itself."""
        return output_dir if self.total == 1 else output_dir / _FOLDER / f"{self.number}-of-{self.total}"

    def settings(self) -> dict[str, int | None]:
        """The config keys `num_shards` and `shard_id`; an undivided run has neither, however that was said."""
        if self.total == 1:
            return {"num_shards": None, "shard_id": None}
        return {"num_shards": self.total, "shard_id": self.number}

    def refuse_other_division(self, output_dir: Path) -> None:
        """Raises `InputError` where `output_dir` holds a run that is divided in another way: neither could ever be
        joined."""
        totals = {shard.total for _, shard in shard_folders(output_dir) if shard is not None} - {self.total}
        if totals:
            total = min(totals)
            raise InputError(
                f"{output_dir}: holds a run in {total} shards, and now it is {self.total}: pass --num_shards {total} "
                "and --shard_id, or choose another output_dir"
            )
        settings = binding_settings(output_dir)
        if self.total > 1 and settings is not None and settings.get("num_shards") != self.total:
            raise InputError(f"{output_dir}: holds a run that is not in {self.total} shards: choose another output_dir")


WHOLE = Shard(0, 1)


@dataclass(frozen=True)
class Part:
    """A finished shard on disk."""

    shard: Shard
    folder: Path
    manifest: dict[str, Any]

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.manifest["settings"]
        return settings

    @property
    def toolchain(self) -> str | None:
        toolchain: str | None = self.manifest["toolchain"]
        return toolchain


def find_shard(num_shards: int | None, shard_id: int | None, environment: Mapping[str, str] = os.environ) -> Shard:
    """The part that this process takes: what the config says, else this task's place in SLURM's array, else the whole.

    Raises `ValueError`, which is of `shard_id`, where they do not name one part. A SLURM array of another size than
    `num_shards` (some tasks submitted again, say) does not number the shards, so then `shard_id` has to be given.
    """
    tasks = _number(environment, "SLURM_ARRAY_TASK_COUNT", 1)
    total = tasks if num_shards is None else num_shards
    if shard_id is None and total == 1:
        return WHOLE
    if shard_id is None:
        if tasks != total:
            array = f"SLURM's array has {tasks} tasks" if tasks > 1 else "there is no SLURM array"
            raise Missing(f"is missing: num_shards is {total}, and {array}: pass --shard_id, from 0")
        shard_id = _place(tasks, environment)
    if shard_id >= total:
        what = f"num_shards is {total}" if num_shards is not None or tasks > 1 else "num_shards is missing"
        raise ValueError(f"is {shard_id}, and {what}: shards are numbered from 0 to num_shards - 1")
    return Shard(shard_id, total)


def known_part(shard_id: int | None, info: ValidationInfo) -> int | None:
    """The validator of a config's `shard_id`, which comes after `num_shards`."""
    if "num_shards" in info.data:
        find_shard(info.data["num_shards"], shard_id)
    return shard_id


def _place(tasks: int, environment: Mapping[str, str]) -> int:
    """Which task of the array this is, from 0. Arrays start anywhere and count in steps: 1-10, 0-15:4."""
    first = _number(environment, "SLURM_ARRAY_TASK_MIN", 0)
    step = _number(environment, "SLURM_ARRAY_TASK_STEP", 1)
    task = _number(environment, "SLURM_ARRAY_TASK_ID", None)
    last = _number(environment, "SLURM_ARRAY_TASK_MAX", first + step * (tasks - 1))
    # Lists such as 1,3,7 have no step, and no task could tell its place in them.
    if step < 1 or (last - first) // step + 1 != tasks or (task - first) % step or not first <= task <= last:
        raise Missing(
            f"is missing: the {tasks} tasks of SLURM's array are not evenly numbered from {first} to {last}: "
            "pass --num_shards and --shard_id, from 0"
        )
    return (task - first) // step


def _number(environment: Mapping[str, str], name: str, default: int | None) -> int:
    text = environment.get(name) or ("" if default is None else str(default))
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"is not known: {name} has to be a number, and is {text!r}: pass --num_shards and --shard_id")
    return int(text)


def find_unfinished(output_dir: Path, total: int) -> Shard | None:
    """A shard that has not come to its end."""
    # From the last one down, since arrays start with the first: a thousand shards that look for each other would else
    # read a million manifests.
    shards = (Shard(number, total) for number in reversed(range(total)))
    return next((shard for shard in shards if not _is_finished(read_manifest(shard.folder(output_dir)))), None)


def find_parts(output_dir: Path, command: str) -> list[Part]:
    """All shards of a run of `command`, in their order.

    Raises `InputError` with a line for each that is missing, unfinished, of another run, or made with other settings
    or another Lean, and for every folder beside them that is no shard.
    """
    check_folder(output_dir)
    entries = shard_folders(output_dir)
    totals = sorted({shard.total for _, shard in entries if shard is not None})
    if not totals:
        raise InputError(f"{output_dir}: holds no shards: --num_shards and --shard_id make them")
    if len(totals) > 1:
        found = " and ".join(map(str, totals))
        raise InputError(f"{output_dir / _FOLDER}: holds shards of runs in {found} parts: remove those of one run")
    faults = [f"{path}: is no shard: move it elsewhere" for path, shard in entries if shard is None]
    parts: list[Part] = []
    for shard in (Shard(number, totals[0]) for number in range(totals[0])):
        if len(faults) >= _MOST_FAULTS:
            faults.append(f"{output_dir}: the first {_MOST_FAULTS} faults are shown")
            break
        part = Part(shard, shard.folder(output_dir), read_manifest(shard.folder(output_dir)) or {})
        if found_faults := _faults(part, command, parts[0] if parts else None):
            faults += [f"{part.folder}: {shard}: {fault}" for fault in found_faults]
        else:
            parts.append(part)
    if faults:
        raise InputError(*faults)
    return parts


def _faults(part: Part, command: str, first: Part | None) -> list[str]:
    """Why a shard cannot be joined, with the `first` whose settings count."""
    if not part.folder.is_dir():
        return [f"is missing: start it with --num_shards {part.shard.total} --shard_id {part.shard.number}"]
    if part.manifest.get("command") != command:
        return [f"holds no run of `{command}`"]
    if not _is_finished(part.manifest):
        return ["is not finished: start its command again"]
    number, total = part.settings.get("shard_id"), part.settings.get("num_shards")
    if (number, total) != (part.shard.number, part.shard.total):
        return [f"holds shard {number} of {total}: move it to its place"]
    if first is None:
        return []
    ours, others = ({**part.settings, "shard_id": None} for part in (part, first))
    faults = [
        f"{key}: is {found}, and in {first.shard} it is {due}" for key, found, due in different_settings(ours, others)
    ]
    if part.toolchain != first.toolchain:
        faults.append(f"its verdicts are from Lean {part.toolchain}, and those of {first.shard} from {first.toolchain}")
    return faults


def note_input(run: RunDirectory, ids: Sequence[str], shard: Shard) -> None:
    """Write into a shard's run directory the whole input's length and digest, and the shard's own places in it.

    The joining needs the order of the input, and so it needs the data itself no more.
    """
    places = {identity: place for place, identity in enumerate(ids) if shard.holds(identity)}
    note = {"rows": len(ids), "digest": content_id(*ids), "places": places}
    run.write(_INPUT, json.dumps(note) + "\n")


def input_order(parts: Sequence[Part]) -> list[str]:
    """The ids of the whole input in its order; raises `InputError` with a line for each shard of another input."""
    notes = [json.loads((part.folder / _INPUT).read_text(encoding="utf-8")) for part in parts]
    if faults := [
        f"{part.folder}: {part.shard}: its problems are from another input than those of {parts[0].shard}: "
        "bring the input back and start the shard again with --overwrite"
        for part, note in zip(parts, notes, strict=True)
        if note["digest"] != notes[0]["digest"]
    ]:
        raise InputError(*faults)
    places = {place: identity for note in notes for identity, place in note["places"].items()}
    return [places[place] for place in range(notes[0]["rows"])]


def join_journals(name: str, key: str, folders: Iterable[Path], target: Path) -> Journal:
    """The rows of the journals `name` in all folders, in a new one in `target`; the first with each key counts.

    Requests to models may repeat from shard to shard. Nothing of an earlier join stays, since the shards may have been
    started again since.
    """
    (target / f"{name}.jsonl").unlink(missing_ok=True)
    joined = Journal(target / f"{name}.jsonl", key)
    for row in _rows(folder / f"{name}.jsonl" for folder in folders):
        if row[key] not in joined:
            joined.append(row)
    return joined


def _rows(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from (line.row for line in scan(path))


def _is_finished(manifest: dict[str, Any] | None) -> bool:
    """Whether the last start came to its end: one that is under way may be changing what it finished before."""
    return manifest is not None and "finished" in manifest["starts"][-1]


def shard_folders(output_dir: Path) -> list[tuple[Path, Shard | None]]:
    """What is in the folder of the shards, and which shard each is; hidden files are the file system's own."""
    folder = output_dir / _FOLDER
    found = sorted(path for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []
    return [(path, _named(path.name)) for path in found]


def _named(name: str) -> Shard | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number, total = map(int, match.groups())
    return Shard(number, total) if number < total and total > 1 else None
