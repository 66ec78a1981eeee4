"""Reads what W&B wrote offline: a 7-byte header, then records as in LevelDB's log, each a protobuf message."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BLOCK = 32768
_HEADER = struct.Struct("<IHB")  # CRC, which is not checked here, length, type
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


@dataclass
class OfflineRun:
    folder: Path
    run: Any = None
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[Any] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None

    def table(self, name: str) -> dict[str, Any]:
        """The columns and rows that were logged under a name."""
        (path,) = (row[f"{name}/path"] for row in self.history if f"{name}/path" in row)
        return dict(json.loads((self.folder / "files" / path).read_text()))


def read_offline_run(folder: Path) -> OfflineRun:
    """The one run under WANDB_DIR."""
    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    return _read(path)


def read_offline_runs(folder: Path) -> list[OfflineRun]:
    """The runs under WANDB_DIR, the earliest first."""
    runs = map(_read, folder.glob("wandb/offline-run-*/run-*.wandb"))
    return sorted(runs, key=lambda found: found.run.start_time.ToNanoseconds())


def _read(path: Path) -> OfflineRun:
    from wandb.proto.wandb_internal_pb2 import Record

    found = OfflineRun(path.parent)
    for data in _records(path.read_bytes()):
        record = Record.FromString(data)
        if record.HasField("run"):
            found.run = record.run
            found.config.update(_values(record.run.config.update))
        elif record.HasField("config"):
            found.config.update(_values(record.config.update))
        elif record.HasField("history"):
            found.history.append(_values(record.history.item))
        elif record.HasField("summary"):
            found.summary.update(_values(record.summary.update))
        elif record.HasField("artifact"):
            found.artifacts.append(record.artifact)
        elif record.HasField("exit"):
            found.exit_code = record.exit.exit_code
    return found


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def _records(data: bytes) -> Iterator[bytes]:
    place, parts = 7, b""
    while place + _HEADER.size <= len(data):
        if _BLOCK - place % _BLOCK < _HEADER.size:  # too little room for a header: zeros up to the next block
            place += _BLOCK - place % _BLOCK
            continue
        _, length, kind = _HEADER.unpack_from(data, place)
        place += _HEADER.size
        parts = parts * (kind in (_MIDDLE, _LAST)) + data[place : place + length]
        place += length
        if kind in (_FULL, _LAST):
            yield parts
