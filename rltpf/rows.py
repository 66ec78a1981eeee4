"""Commands from rows to rows: they read a JSONL file or standard input, and write to a file or standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.journal import write_atomically

T = TypeVar("T")

MOST_FAULTS = 20


def read_rows(source: str, texts: Sequence[str], read: Callable[[dict[str, Any]], T]) -> list[T]:
    """What `read` makes of each row of a JSONL file or, for `-`, of standard input.

    Rows have an `id` of their own and the `texts`, and none is blank; `read` raises `ValueError` for what is wrong
    besides. Raises `InputError` with a line for every fault, the first of very many.
    """
    seen: set[str] = set()

    def checked(row: dict[str, Any]) -> T:
        _check(row, ("id", *texts), seen)
        made = read(row)
        seen.add(row["id"])
        return made

    return collect(source, checked)


def collect(source: str | Path, read: Callable[[dict[str, Any]], T]) -> list[T]:
    """What `read` makes of each row of a JSONL file or, for `-`, of standard input; it raises `ValueError` for a row
    that is none.

    Raises `InputError` with a line for every fault, the first of very many, and for a file without rows: a row that
    cannot be read is never left out.
    """
    found: list[T] = []
    faults: list[str] = []
    for place, row in read_jsonl(Path("/dev/stdin" if source == "-" else source)):
        try:
            if isinstance(row, str):
                raise ValueError(row)
            found.append(read(row))
        except ValidationError as error:
            first = error.errors()[0]
            faults.append(f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}")
        except ValueError as error:
            faults.append(f"{place}: {error}")
    if faults:
        raise InputError(*first_faults(str(source), faults))
    if not found:
        raise InputError(f"{source}: holds no rows")
    return found


def check_texts(row: dict[str, Any], names: Iterable[str]) -> None:
    """Raises `ValueError` for the first of these fields that is no text."""
    for name in names:
        if not isinstance(row.get(name), str):
            raise ValueError(f"{name} has to be a text, and is {row.get(name)!r}")


def first_faults(source: str, faults: Sequence[str]) -> list[str]:
    """The faults of an input, cut where they would fill the screen: one that is no such file has one a row."""
    more = [f"{source}: {len(faults) - MOST_FAULTS} more faults"] if len(faults) > MOST_FAULTS else []
    return [*faults[:MOST_FAULTS], *more]


def _check(row: dict[str, Any], texts: Iterable[str], seen: set[str]) -> None:
    for field in texts:
        if not isinstance(row.get(field), str) or not row[field].strip():
            raise ValueError(f"{field} has to be a text, and is {row.get(field)!r}")
    if not is_text(row):
        raise ValueError("holds a lone surrogate, which is half a character")
    if row["id"] in seen:
        raise ValueError(f"a second row with the id {row['id']!r}")


def refuse_output(output: str, *inputs: str | Path) -> None:
    """Raises `InputError` where the rows could not be written in the end, or would take the place of an input: better
    before the work than after it."""
    path = Path(output)
    if output != "-" and (path.is_dir() or not os.access(path.parent, os.W_OK)):
        raise InputError(f"{output}: cannot be written: --output takes a file in a folder that is there")
    refuse_same_file(output, *inputs)


def refuse_same_file(output: str, *inputs: str | Path) -> None:
    """Raises `InputError` where an output is one of the inputs, under whatever name."""
    for source in inputs:
        if "-" not in (output, str(source)) and os.path.exists(output) and os.path.samefile(output, source):
            raise InputError(f"{output}: is the input {source}, and would be overwritten: give --output another file")


def write_rows(rows: Iterable[dict[str, Any]], output: str) -> None:
    """Write the rows to a file at once or, for `-`, to standard output."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if output == "-":
        print(text, end="")
    else:
        write_atomically(Path(output), text)
