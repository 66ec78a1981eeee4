"""Files that survive a kill at any moment: append-only JSONL journals and whole-file replacement."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rltpf.errors import InputError
from rltpf.places import Places


class Line(NamedTuple):
    """One row of a JSONL file: line number from 1, byte offset and byte length with its newline, and the row."""

    number: int
    offset: int
    length: int
    row: dict[str, Any]


def scan(path: Path) -> Iterator[Line]:
    """The whole rows of a journal, one at a time.

    A last line that is not a whole row is what a killed writer leaves, and is left out. Raises `InputError` on any
    other line that is not a JSON object, since a journal with a hole in it cannot be trusted.
    """
    offset = 0
    broken: str | None = None
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if broken is not None:
                raise InputError(broken)
            if line.strip():
                try:
                    row = json.loads(line) if line.endswith(b"\n") else None
                except (ValueError, RecursionError):
                    row = None
                if isinstance(row, dict):
                    yield Line(number, offset, len(line), row)
                else:
                    broken = f"{path}:{number}: is not a JSON object: restore the file, or start again with --overwrite"
            offset += len(line)


class Journal:
    """An append-only JSONL file with one row for each value of the field `key`.

    Memory holds neither rows nor keys. A row is one `write` of one line. It is not fsynced:
    what a killed process wrote is safe in the page cache, only a crash of the machine can lose it, and then the rows at
    the end are made again; an fsync for every row would cost more than the work of small rows. Safe to use from several
    threads.
    """

    def __init__(self, path: Path, key: str = "id") -> None:
        self.path = path
        self.key = key
        self._lock = threading.Lock()
        self._places = Places()
        self._end = 0
        if path.exists():
            for line in scan(path):
                name = line.row.get(key)
                if not isinstance(name, str) or name in self._places:
                    what = f"repeats the {key} {name}" if isinstance(name, str) else f"has no {key}"
                    raise InputError(f"{path}:{line.number}: {what}: restore the file, or start again with --overwrite")
                self._places.put(name, (0, line.offset, line.length))
                self._end = line.offset + line.length
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        # Cut the torn tail off, or the next row would be glued to it.
        os.ftruncate(self._fd, self._end)

    def __contains__(self, name: str) -> bool:
        with self._lock:
            return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def append(self, row: dict[str, Any]) -> None:
        """Add a row; raises `ValueError` on a key that is there, and `OSError` (a full disk) leaving no torn line."""
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            name = row[self.key]
            if name in self._places:
                raise ValueError(f"{self.path}: a second row with the {self.key} {name}")
            written = 0
            try:
                while written < len(line):
                    written += os.pwrite(self._fd, line[written:], self._end + written)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, self._end)
                error.filename = str(self.path)
                raise
            start, self._end = self._end, self._end + len(line)
            self._places.put(name, (0, start, len(line)))

    def get(self, name: str) -> dict[str, Any] | None:
        """The row with this key, read from the file."""
        with self._lock:
            place = self._places.get(name)
        if place is None:
            return None
        _, offset, length = place
        row: dict[str, Any] = json.loads(os.pread(self._fd, length, offset))
        return row

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows in the order in which they were written, which is not that of the items."""
        for line in scan(self.path):
            yield line.row

    def close(self) -> None:
        os.close(self._fd)


@contextlib.contextmanager
def placed(path: Path) -> Iterator[None]:
    """Give an `OSError` that names no file, as those of a full disk do, the file that was being written."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Raise the `OSError` of a full disk in place of what a library makes of it, which it names in words of its own."""
    try:
        yield
    except Exception:
        _probe(folder)
        raise


def _probe(folder: Path) -> None:
    """Write a megabyte, and remove it; raises `OSError` where there is no room for it."""
    probe = folder / f".{os.getpid()}.tmp"
    try:
        with placed(folder):
            probe.write_bytes(bytes(10**6))
    finally:
        probe.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Replace a file's content at once: a reader, or a kill at any moment, meets the old text or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with placed(path), temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
