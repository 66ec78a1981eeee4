"""Rows for training: read them, and say what is wrong with them before a model is loaded.

TRL drops or cuts rows without a word and trains happily on pairs that teach nothing; a constant or NaN loss hours later
is then hard to explain. Every fault that can be seen in the data alone is found here, with its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.train.options import Kind, Options

_COLUMNS: dict[Kind, tuple[str, ...]] = {"sft": ("prompt", "completion"), "dpo": ("prompt", "chosen", "rejected")}
_ROLES = {"system", "user", "assistant", "tool"}
_FILES = (".jsonl", ".json", ".parquet")
_SHOWN = 20  # faults printed before "and N more"


def training_rows(options: Options) -> list[dict[str, Any]]:
    """The checked rows of `dataset_name` (or of the mixture `datasets`), with only the columns that are trained on."""
    if options.get("datasets"):
        from trl import DatasetMixtureConfig, get_dataset

        mixture = DatasetMixtureConfig(datasets=options.get("datasets"))
        return check_rows(options.kind, "datasets", enumerate(get_dataset(mixture)["train"], start=1))
    split = options.get("dataset_train_split", "train")
    return _rows(options, options.get("dataset_name"), split)


def evaluation_rows(options: Options) -> list[dict[str, Any]] | None:
    """The checked rows to evaluate on, or None when `eval_strategy` asks for no evaluation."""
    if options.get("eval_strategy", "no") in ("no", False):
        return None
    split = options.get("dataset_test_split", "test")
    name = options.get("eval_dataset_name")
    if name is None and str(options.get("dataset_name")).endswith(_FILES):
        raise InputError("eval_strategy needs rows: pass --eval_dataset_name FILE, or --eval_strategy no")
    return _rows(options, name or options.get("dataset_name"), split)


def _rows(options: Options, name: str, split: str) -> list[dict[str, Any]]:
    if name.endswith(".jsonl"):
        return check_rows(options.kind, name, read_jsonl(name))
    return check_rows(options.kind, name, enumerate(_load(name, options.get("dataset_config"), split), start=1))


def read_jsonl(path: str) -> list[tuple[int, Any]]:
    """(line number, value) of every line that is not blank; raises `InputError` for lines that are not JSON."""
    try:
        # Not `splitlines`, which breaks lines at characters that JSON texts may hold, such as U+2028.
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; pass --dataset_name with a file that exists") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    rows, faults = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append((number, json.loads(line)))
        except json.JSONDecodeError as error:
            faults.append(f"{path}:{number}: not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            faults.append(f"{path}:{number}: not usable JSON: {error}")
    _refuse(faults)
    return rows


def _load(name: str, config: str | None, split: str) -> Iterable[Any]:
    if name.endswith(_FILES) and not Path(name).is_file():
        raise InputError(f"{name}: no such file; pass --dataset_name with a file that exists")
    import datasets

    try:
        if name.endswith(_FILES):
            return datasets.load_dataset(Path(name).suffix[1:], data_files=name, split="train")
        if Path(name, "dataset_dict.json").is_file():
            return datasets.load_from_disk(name)[split]
        if Path(name, "state.json").is_file():
            return datasets.load_from_disk(name)
        return datasets.load_dataset(name, name=config, split=split)
    except (OSError, ValueError, KeyError, datasets.exceptions.DatasetsError) as error:
        raise InputError(f"dataset_name {name}, split {split}: {' '.join(str(error).split())}") from None


def check_rows(kind: Kind, name: str, rows: Iterable[tuple[int, Any]]) -> list[dict[str, Any]]:
    """The rows reduced to the columns of `kind`; raises `InputError` with one line a fault, each with its place."""
    faults, kept = [], []
    for number, row in rows:
        found = row_faults(kind, row)
        faults += [f"{name}:{number}: {fault}" for fault in found]
        if not found:
            kept.append({column: row[column] for column in _COLUMNS[kind]})
    if not faults and not kept:
        faults.append(f"{name}: holds no rows; nothing can be trained")
    _refuse(faults)
    return kept


def row_faults(kind: Kind, row: Any) -> list[str]:
    """What makes a row useless: columns, roles, empty texts, and pairs whose two sides are the same."""
    if not isinstance(row, dict):
        return [f"a row is an object, this is a {type(row).__name__}"]
    missing = [column for column in _COLUMNS[kind] if column not in row]
    if missing:
        needs = ", ".join(_COLUMNS[kind])
        hint = "; split `messages` into the two, or the prompt is trained on too" if "messages" in row else ""
        return [f"{kind.upper()} needs the columns {needs}, and this row has no {', '.join(missing)}{hint}"]
    faults = [fault for column in _COLUMNS[kind] for fault in _messages_faults(column, row[column])]
    if not faults and row["prompt"][-1]["role"] not in ("user", "tool"):
        faults.append("`prompt` must end with the user's message")
    if kind == "dpo" and not faults and _texts(row["chosen"]) == _texts(row["rejected"]):
        faults.append("`chosen` and `rejected` are the same text: such a pair has no gradient")
    return faults


def _messages_faults(column: str, messages: Any) -> list[str]:
    if not isinstance(messages, list) or not messages:
        return [f"`{column}` must be a non-empty list of {{role, content}} messages"]
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return [f"`{column}`: every message needs a `role` and a text `content`"]
        if message.get("role") not in _ROLES:
            return [f"`{column}`: role {message.get('role')!r} is none of {', '.join(sorted(_ROLES))}"]
        if not message["content"].strip():
            return [f"`{column}` has an empty {message['role']} message"]
        if column != "prompt" and message["role"] not in ("assistant", "tool"):
            return [f"`{column}` is what the model learns to say: role {message['role']!r} belongs into `prompt`"]
    return []


def _texts(messages: list[dict[str, str]]) -> list[str]:
    return [message["content"].strip() for message in messages]


def _refuse(faults: Sequence[str]) -> None:
    if len(faults) > _SHOWN:
        faults = [*faults[:_SHOWN], f"and {len(faults) - _SHOWN} more faults in the data"]
    if faults:
        raise InputError(*faults)


@dataclass(frozen=True)
class Lengths:
    """Rows by what becomes of them under `max_length`; `longest` is in tokens."""

    rows: int
    longest: int
    cut: int
    dropped: int

    def __str__(self) -> str:
        return f"{self.rows} rows up to {self.longest} tokens, max_length cuts {self.cut} and drops {self.dropped}"


def within_length(
    kind: Kind, rows: Sequence[dict[str, Any]], tokenizer: Any, max_length: int | None, keep_end: bool = False
) -> tuple[list[dict[str, Any]], Lengths]:
    """The rows to train on, and how `max_length` treats them; raises `InputError` without a chat template or when no
    row would be left.

    TRL keeps the first `max_length` tokens: a longer row loses the end of its answer, and one whose prompt alone fills
    the window is dropped silently. With `keep_end` (`truncation_mode`) the prompt loses its start instead. A pair of
    which an answer would be cut is left out here: DPO would compare answers without their ends, which may be the same.
    """
    if not tokenizer.chat_template:
        raise InputError(
            "the tokenizer has no chat template, and the rows are messages: use an instruct model, or pass "
            "--chat_template_path with a model or a .jinja file (SFT)"
        )

    def count(messages: list[dict[str, str]], generation: bool) -> int:
        encoded = tokenizer.apply_chat_template(messages, add_generation_prompt=generation, return_dict=True)
        return len(encoded["input_ids"])

    kept = []
    longest = cut = 0
    limit = max_length if max_length is not None else float("inf")
    for row in rows:
        prompt = count(row["prompt"], True)
        whole = max(count(row["prompt"] + row[column], False) for column in _COLUMNS[kind][1:])
        longest = max(longest, whole)
        cuts_answer = (whole - prompt if keep_end else whole) > limit
        if (cuts_answer and kind == "dpo") or (prompt >= limit and not keep_end):
            continue
        kept.append(row)
        cut += whole > limit
    if not kept:
        found = "cuts an answer of every pair" if kind == "dpo" else "is within every prompt"
        raise InputError(f"max_length {max_length} {found}: all {len(rows)} rows would be dropped, raise it")
    return kept, Lengths(len(rows), longest, cut, len(rows) - len(kept))
