"""Commands from rows to rows: they read a JSONL file or standard input, and write to a file or standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.journal import write_atomically

T = TypeVar("T")


def read_rows(source: str, texts: Sequence[str], read: Callable[[dict[str, Any]], T]) -> list[T]:
    """What `read` makes of each row of a JSONL file or, for `-`, of standard input.

    Rows have an `id` of their own and the `texts`, and none is blank; `read` raises `ValueError` for what is wrong
    besides. Raises `InputError` with a line for every fault.
    """
    found: list[T] = []
    faults: list[str] = []
    seen: set[str] = set()
    for place, row in read_jsonl(Path("/dev/stdin" if source == "-" else source)):
        try:
            if isinstance(row, str):
                raise ValueError(row)
            _check(row, ("id", *texts), seen)
            found.append(read(row))
            seen.add(row["id"])
        except ValueError as error:
            faults.append(f"{place}: {error}")
    if faults:
        raise InputError(*faults)
    if not found:
        raise InputError(f"{source}: holds no rows")
    return found


def _check(row: dict[str, Any], texts: Iterable[str], seen: set[str]) -> None:
    for field in texts:
        if not isinstance(row.get(field), str) or not row[field].strip():
            raise ValueError(f"{field} has to be a text, and is {row.get(field)!r}")
    if not is_text(row):
        raise ValueError("holds a lone surrogate, which is half a character")
    if row["id"] in seen:
        raise ValueError(f"a second row with the id {row['id']!r}")


def refuse_output(output: str) -> None:
    """Raises `InputError` where the rows could not be written in the end: better before the work than after it."""
    path = Path(output)
    if output != "-" and (path.is_dir() or not os.access(path.parent, os.W_OK)):
        raise InputError(f"{output}: cannot be written: --output takes a file in a folder that is there")


def write_rows(rows: Iterable[dict[str, Any]], output: str) -> None:
    """Write the rows to a file at once or, for `-`, to standard output."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if output == "-":
        print(text, end="")
    else:
        write_atomically(Path(output), text)
