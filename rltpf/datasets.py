"""Solved problems from a file, a folder or the hub, as `Problem` records. The config names the columns or a preset."""

from __future__ import annotations

import csv
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

from pydantic import Field

from rltpf.config import Config
from rltpf.errors import InputError
from rltpf.hub import lacking
from rltpf.presets import PLAIN, PRESETS, Layout, PresetName, fitting
from rltpf.records import Problem, content_id

_FILES = (".jsonl", ".csv", ".parquet", ".json")
_SAVED = ("dataset_info.json", "dataset_dict.json")  # what save_to_disk leaves of one split, and of several
_MOST_FAULTS = 20
_MOST_MEGABYTES = 16  # in a line: one that is longer is no problem, and a file without line ends would fill the memory


class DatasetConfig(Config):
    path: str
    """A .jsonl, .csv or .parquet file, a folder that `save_to_disk` wrote, or a hub id such as openai/gsm8k."""
    name: str | None = None
    """Configuration of a hub data set, such as main."""
    split: str = "train"
    """Split of a hub data set or a folder."""
    preset: PresetName | None = None
    """The benchmark that the rows are from: its columns are known, and how a final answer is read from them."""
    question_column: str | None = None
    """Instead of the preset's columns of the question; `question` without a preset."""
    answer_column: str | None = None
    """Instead of the preset's answer column, and read in the same way; `answer` without a preset, which is the worked
    solution or final answer as it stands."""
    limit: int | None = Field(None, ge=1)
    """Only the first rows."""

    @property
    def title(self) -> str:
        """What a reader elsewhere knows it by; a file has no splits, whatever the config says."""
        parts = [public_name(self.path)]
        if Path(self.path).suffix not in _FILES:
            parts += [*([self.name] if self.name else []), f"split {self.split}"]
        return ", ".join(parts)


def public_name(path: str) -> str:
    """A hub id as it is; of a path, which says nothing on another machine, the last part."""
    place = Path(path)
    is_hub_id = len(place.parts) <= 2 and not place.is_absolute() and not path.startswith((".", "~"))
    return path if is_hub_id and place.suffix not in _FILES else place.name


def load_problems(config: DatasetConfig) -> list[Problem]:
    """The problems in the order of the data; raises `InputError` with a line for every wrong row.

    With a preset `answer` is the final answer alone, and `extra` keeps the whole row; without one, the other columns.
    An id depends on question and answer alone. Rows that repeat a problem are kept, told apart by their count.
    """
    layouts = _layouts(config)
    problems: list[Problem] = []
    faults: list[str] = []
    seen: Counter[str] = Counter()
    for place, row in islice(_rows(config), config.limit):
        solved = row if isinstance(row, str) else _solved(config, layouts, row)
        if isinstance(solved, str):
            faults.append(f"{place}: {solved}")
            if len(faults) == _MOST_FAULTS:
                faults.append(f"{config.path}: the first {_MOST_FAULTS} faults are shown")
                break
            continue
        question, answer, extra = solved
        identity = content_id(question, answer)
        repeats = seen[identity]
        seen[identity] += 1
        name = content_id(question, answer, repeats) if repeats else identity
        problems.append(Problem(name, question, answer, extra))
    if faults:
        raise InputError(*faults)
    if not problems:
        raise InputError(f"{config.path}: holds no rows")
    return problems


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """(`file:line`, row) of a JSONL file without its blank lines; a line that is no JSON object gives its fault."""
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield f"{path}:{number}", _parse(line)


def read_csv(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """(`file:line`, row) of a CSV file (RFC 4180, a header first, blank lines skipped), every value a text.

    A row with more or fewer fields than the header gives its fault, and so does wrong quoting, which ends the file.
    """
    # A limit of the whole process, 128 KiB at first, which a worked solution can pass.
    csv.field_size_limit(_MOST_MEGABYTES * 10**6)
    reader = csv.reader(_lines(path), strict=True)
    header: list[str] = []
    start = 1
    try:
        for fields in reader:
            place, start = f"{path}:{start}", reader.line_num + 1
            if not fields:
                continue
            if not header:
                header = fields
                if twice := [name for name, times in Counter(header).items() if times > 1]:
                    raise InputError(f"{place}: the header has the column {twice[0]!r} twice: rename one")
            elif len(fields) != len(header):
                yield place, f"has to have the header's {len(header)} fields, and has {len(fields)}"
            else:
                yield place, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        yield f"{path}:{start}", f"is not CSV: {error}: check the quotes from here on"


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text file with their ends; raises `InputError` naming the line that is none."""
    try:
        with path.open("rb") as file:
            for number in count(1):
                line = file.readline(_MOST_MEGABYTES * 10**6 + 1)
                if len(line) > _MOST_MEGABYTES * 10**6:
                    raise InputError(f"{path}:{number}: is longer than {_MOST_MEGABYTES} MB: write one row a line")
                if not line:
                    return
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if "\0" in text:
                    raise InputError(f"{path}:{number}: holds a NUL byte, so this is no text file")
                yield text
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}:{number}: is not UTF-8 text") from None


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
    if path.suffix == ".jsonl":
        return read_jsonl(path)
    if path.suffix == ".csv":
        return read_csv(path)
    # A hub id may have a dot too, as in AI-MO/NuminaMath-1.5.
    if path.suffix[1:].isalpha() and not path.exists():
        raise InputError(f"{path}: No such file or directory")
    table = load_table("dataset.path", config.path, config.name, config.split, "dataset.split")
    return ((f"{config.path}: row {number}", row) for number, row in enumerate(table, start=1))


def load_table(key: str, path: str, name: str | None, split: str, split_key: str, wanted: str = "") -> Any:
    """The rows of a .parquet or .json file, a folder or a hub data set, as the datasets library gives them.

    Raises `InputError`, which says of a folder that is no data set what it holds: one of several files, `wanted` where
    it is there. `key` and `split_key` are the settings that have path and split.
    """
    place = Path(path)
    if place.is_file() and place.suffix not in (".parquet", ".json"):
        raise InputError(f"{path}: is no .jsonl, .csv or .parquet file")
    missing = "" if place.exists() else lacking(path)
    import datasets

    # It would say a second time what is wrong with a file.
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    hint = ""
    try:
        if place.is_file():
            return datasets.load_dataset(place.suffix[1:], data_files=path, split="train")
        if (place / _SAVED[0]).exists():
            return datasets.load_from_disk(path)
        if (place / _SAVED[1]).exists():
            splits = datasets.load_from_disk(path)
            if split not in splits:
                raise ValueError(f"it has no split {split!r}, but {', '.join(splits)}: set {split_key}")
            return splits[split]
        if place.is_dir():
            hint = _way_out(place, wanted)
        return datasets.load_dataset(path, name, split=split)
    # The library raises a dozen kinds of errors, all of which mean that this data cannot be had.
    except Exception as error:
        if missing:
            raise InputError(f"{path}: {missing} ({key})") from None
        raise InputError(f"{path}: cannot be loaded: {' '.join(str(error).split())[:300]}{hint}") from None


def _way_out(folder: Path, wanted: str) -> str:
    """What to give in place of a folder that is no data set."""
    found = sorted(file.name for file in folder.iterdir() if file.suffix in _FILES[:3])
    saved = sorted(file.parent.name for name in _SAVED for file in folder.glob(f"*/{name}"))
    if not found and not saved:
        return ": name a .jsonl, .csv or .parquet file, or a folder that save_to_disk wrote"
    best = wanted if wanted in found else (found + saved)[0]
    return f"; it holds {', '.join(found + saved)}: name one of them, such as {folder / best}"


def is_text(value: Any) -> bool:
    r"""Whether a JSON value can be written as UTF-8: lone surrogates such as "\ud83d" cannot."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _layouts(config: DatasetConfig) -> list[Layout]:
    """The layouts of the preset, with the columns that the config names in their place."""
    named: dict[str, Any] = {}
    if config.question_column:
        named["question"] = (config.question_column,)
    if config.answer_column:
        named["answer"] = config.answer_column
    layouts = PRESETS[config.preset] if config.preset else (Layout(("question",), "answer", PLAIN),)
    return [dataclasses.replace(layout, **named) for layout in layouts]


def _solved(config: DatasetConfig, layouts: list[Layout], row: dict[str, Any]) -> tuple[str, str, dict[str, Any]] | str:
    """Question, answer and extra of a row, or what is wrong with it."""
    layout = next((layout for layout in layouts if not layout.missing(row)), None)
    if layout is None:
        fault = _missing(config, layouts[0], row)
        if config.path.endswith(".jsonl"):
            return fault
        # In a table the columns are the same in every row, and one line says it.
        raise InputError(f"{config.path}: {fault}")
    solved = layout.solved(row)
    if isinstance(solved, str):
        return solved
    if not is_text(solved):
        return "holds a lone surrogate, which is half a character"
    return *solved, row if config.preset else {key: row[key] for key in row if key not in layout.columns}


def _missing(config: DatasetConfig, layout: Layout, row: dict[str, Any]) -> str:
    column = layout.missing(row)[0]
    if column == layout.options:
        way = "the columns are"
    else:
        way = f"set dataset.{'answer_column' if column == layout.answer else 'question_column'} to one of"
    fault = f"has no column {column!r}: {way} {', '.join(row)}"
    presets = [] if config.question_column or config.answer_column else fitting(row)
    return f"{fault} (did you mean dataset.preset: {' or '.join(presets)}?)" if presets else fault
