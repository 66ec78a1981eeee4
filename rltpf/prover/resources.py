"""What a process and its descendants use, from `/proc`; nothing is known where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def own_bytes(pid: int) -> int:
    """Memory that these processes hold and that is no page of a file, swapped out or not.

    Pages of the library's files are shared by all workers, and given back when somebody needs the memory. Read from
    `status`, since `smaps` walks the pages of a whole gigabyte for each look.
    """
    return sum(_kilobytes(process) for process in _tree(pid)) * 1024


def cpu_seconds(pid: int) -> float:
    """Processor time that the processes have taken, in all their threads."""
    return sum(_ticks(process) for process in _tree(pid)) / _TICKS


def ended(pid: int) -> bool:
    """Whether the process is dead and waits to be reaped."""
    return _stat(Path(f"/proc/{pid}"))[:1] == ["Z"]


def _tree(pid: int) -> Iterator[Path]:
    process = Path(f"/proc/{pid}")
    yield process
    # A sandbox puts programs of its own between us and Lean.
    for children in process.glob("task/*/children"):
        for child in _read(children).split():
            yield from _tree(int(child))


def _kilobytes(process: Path) -> int:
    fields = (line.split() for line in _read(process / "status").splitlines())
    return sum(int(field[1]) for field in fields if field[0] in ("RssAnon:", "RssShmem:", "VmSwap:"))


def _ticks(process: Path) -> int:
    fields = _stat(process)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _stat(process: Path) -> list[str]:
    """The fields of `stat` after the program's name, which may hold spaces and parentheses."""
    return _read(process / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # it has ended, or belongs to somebody else
