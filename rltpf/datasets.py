"""Solved problems from a file or the hub, as `Problem` records. A column mapping in the config names the columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from rltpf.config import Config
from rltpf.errors import InputError
from rltpf.records import Problem, content_id

_MOST_FAULTS = 20


class DatasetConfig(Config):
    path: str
    """A .jsonl or .parquet file, a folder that `save_to_disk` wrote, or a hub id such as openai/gsm8k."""
    name: str | None = None
    """Configuration of a hub data set, such as main."""
    split: str = "train"
    """Split of a hub data set or a folder."""
    question_column: str = "question"
    answer_column: str = "answer"
    """The worked solution or final answer; other columns travel along."""
    limit: int | None = Field(None, ge=1)
    """Only the first rows."""


def load_problems(config: DatasetConfig) -> list[Problem]:
    """The problems in the order of the data; raises `InputError` with a line for every wrong row.

    An id depends on question and answer alone. Rows that repeat a problem are kept, told apart by their count.
    """
    problems: list[Problem] = []
    faults: list[str] = []
    seen: Counter[str] = Counter()
    for place, row in islice(_rows(config), config.limit):
        fault = row if isinstance(row, str) else _fault(config, row)
        if fault or isinstance(row, str):
            faults.append(f"{place}: {fault}")
            if len(faults) == _MOST_FAULTS:
                faults.append(f"{config.path}: the first {_MOST_FAULTS} faults are shown")
                break
            continue
        rest = dict(row)
        question, answer = rest.pop(config.question_column), str(rest.pop(config.answer_column))
        identity = content_id(question, answer)
        repeats = seen[identity]
        seen[identity] += 1
        name = content_id(question, answer, repeats) if repeats else identity
        problems.append(Problem(name, question, answer, rest))
    if faults:
        raise InputError(*faults)
    if not problems:
        raise InputError(f"{config.path}: holds no rows")
    return problems


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """(`file:line`, row) of a JSONL file without its blank lines; a line that is no JSON object gives its fault."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}:{number}", _parse(line)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None


def _parse(line: str) -> dict[str, Any] | str:
    try:
        row = json.loads(line)
    except ValueError as error:
        return f"is not JSON: {error}"
    except RecursionError:
        return "is not usable JSON: it nests too deep"
    return row if isinstance(row, dict) else f"is a JSON {type(row).__name__}, and has to be an object"


def _rows(config: DatasetConfig) -> Iterable[tuple[str, dict[str, Any] | str]]:
    path = Path(config.path)
    if path.suffix in (".jsonl",):
        return read_jsonl(path)
    if path.suffix and not path.exists():
        raise InputError(f"{path}: No such file or directory")
    return ((f"{config.path}: row {number}", row) for number, row in enumerate(_load(config, path), start=1))


def _load(config: DatasetConfig, path: Path) -> Any:
    import datasets

    try:
        if path.is_file():
            return datasets.load_dataset(path.suffix[1:], data_files=config.path, split="train")
        if path.is_dir() and (path / "dataset_info.json").exists():
            return datasets.load_from_disk(config.path)
        if path.is_dir() and (path / "dataset_dict.json").exists():
            return datasets.load_from_disk(config.path)[config.split]
        return datasets.load_dataset(config.path, config.name, split=config.split)
    # The library raises a dozen kinds of errors, all of which mean that this data cannot be had.
    except Exception as error:
        raise InputError(f"{config.path}: cannot be loaded: {' '.join(str(error).split())[:300]}") from None


def is_text(value: Any) -> bool:
    r"""Whether a JSON value can be written as UTF-8: lone surrogates such as "\ud83d" cannot."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _fault(config: DatasetConfig, row: dict[str, Any]) -> str:
    for key, column in (("question_column", config.question_column), ("answer_column", config.answer_column)):
        if column not in row:
            return f"has no column {column!r}: set {key} to one of {', '.join(row)}"
    question, answer = row[config.question_column], row[config.answer_column]
    if not isinstance(question, str) or not question.strip():
        return f"{config.question_column} has to be a text, and is {question!r}"
    # JSON true is a Python int, and no answer.
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or answer == "":
        return f"{config.answer_column} has to be a text or a number, and is {answer!r}"
    if not is_text([question, answer]):
        return "holds a lone surrogate, which is half a character"
    return ""
