"""Rows for training: read them, and say what is wrong with them before a model is loaded.

TRL drops or cuts rows without a word and trains happily on pairs that teach nothing; a constant or NaN loss hours later
is then hard to explain. Every fault that can be seen in the data alone is found here, with its file and line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.train.options import Kind, Options

_ANSWERS: dict[Kind, tuple[str, ...]] = {
    "sft": ("completion",),
    "dpo": ("chosen", "rejected"),
    "kto": ("completion",),
}
_COLUMNS: dict[Kind, tuple[str, ...]] = {
    "sft": ("prompt", "completion"),
    "dpo": ("prompt", "chosen", "rejected"),
    "kto": ("prompt", "completion", "label"),
}
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


def refuse_shared(rows: Sequence[dict[str, Any]], evaluation: Sequence[dict[str, Any]] | None) -> None:
    """Raise `InputError` where a prompt to evaluate on is trained on too: the score would measure memory."""
    trained = {json.dumps(row["prompt"], sort_keys=True) for row in rows}
    shared = [row for row in evaluation or [] if json.dumps(row["prompt"], sort_keys=True) in trained]
    if shared:
        text = " ".join(shared[0]["prompt"][-1]["content"].split())
        raise InputError(
            f"{len(shared)} of {len(evaluation or [])} evaluation rows have a prompt that is trained on, the first is "
            f"{text[:60]!r}: take them out of one of the two data sets"
        )


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
    if not faults and kind == "kto" and len(labels := {row["label"] for row in kept}) == 1:
        faults.append(f"{name}: every `label` is {str(*labels).lower()}: KTO learns from the difference, add others")
    _refuse(faults)
    return kept


def row_faults(kind: Kind, row: Any) -> list[str]:
    """What makes a row useless: columns, roles, empty texts, and pairs whose two sides are the same."""
    if not isinstance(row, dict):
        return [f"a row is an object, this is a {type(row).__name__}"]
    missing = [column for column in _COLUMNS[kind] if column not in row]
    if missing:
        needs = ", ".join(_COLUMNS[kind])
        hint = ""
        if "messages" in row:
            hint = "; split `messages` into the two, or the prompt is trained on too"
        elif "completions" in row:
            hint = "; stepwise rows are for process reward models, for which TRL has no trainer any more"
        return [f"{kind.upper()} needs the columns {needs}, and this row has no {', '.join(missing)}{hint}"]
    faults = [fault for column in ("prompt", *_ANSWERS[kind]) for fault in _messages_faults(column, row[column])]
    if kind == "kto" and not isinstance(row["label"], bool):
        faults.append(f"`label` is {row['label']!r}: it must be true or false")
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
    """Rows by what `max_length` does to them; `longest` is in tokens."""

    rows: int
    longest: int
    cut: int
    dropped: int

    def __str__(self) -> str:
        return f"{self.rows} rows up to {self.longest} tokens, max_length cuts {self.cut} and drops {self.dropped}"


def refuse_losses(lengths: Lengths, max_length: int | None, allowed: float) -> None:
    """Raise `InputError` when `max_length` cuts or drops more than the allowed share of the rows."""
    lost = lengths.cut + lengths.dropped
    share = lost / lengths.rows
    if share > allowed:
        raise InputError(
            f"max_length {max_length} cuts or drops {lost} of {lengths.rows} rows, more than max_truncated "
            f"{allowed:g} of them: raise it (the longest row has {lengths.longest} tokens), or allow it with "
            f"--max_truncated {math.ceil(100 * share) / 100:g}"
        )


def measure(
    kind: Kind, rows: Sequence[dict[str, Any]], tokenizer: Any, max_length: int | None, keep_end: bool = False
) -> Lengths:
    """How `max_length` treats the rows; raises `InputError` without a chat template or when every row would be dropped.

    TRL keeps the first `max_length` tokens: a longer row loses the end of its answer, and one whose prompt alone fills
    the window is dropped silently. With `keep_end` (`truncation_mode`) the prompt loses its start and no row goes.
    """
    if not tokenizer.chat_template:
        raise InputError(
            "the tokenizer has no chat template, and the rows are messages: use an instruct model, or pass "
            "--chat_template_path with a model or a .jinja file (SFT)"
        )

    def count(messages: list[dict[str, str]], generation: bool) -> int:
        encoded = tokenizer.apply_chat_template(messages, add_generation_prompt=generation, return_dict=True)
        return len(encoded["input_ids"])

    longest = cut = dropped = 0
    limit = max_length if max_length is not None else float("inf")
    for row in rows:
        prompt = count(row["prompt"], True)
        whole = max(count(row["prompt"] + row[column], False) for column in _ANSWERS[kind])
        longest = max(longest, whole)
        if prompt >= limit and not keep_end:
            dropped += 1
        elif whole > limit:
            cut += 1
    if dropped == len(rows):
        raise InputError(
            f"max_length {max_length} is within every prompt: all {len(rows)} rows would be dropped, raise it"
        )
    return Lengths(len(rows), longest, cut, dropped)
