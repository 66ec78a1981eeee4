"""Rows for training: read them, and say what is wrong with them before a model is loaded.

TRL drops or cuts rows without a word and trains happily on pairs that teach nothing; a constant or NaN loss hours later
is then hard to explain. Every fault that can be seen in the data alone is found here, with its file and line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltpf.datasets import is_text, load_table, read_jsonl
from rltpf.errors import InputError
from rltpf.hub import unreachable
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
        unreachable()  # without a hub the library would try it for minutes
        from rltpf.train.trainers import load_mixture  # brings torch

        return check_rows(options.kind, "datasets", _numbered("datasets", load_mixture(options.get("datasets"))))
    return _rows(options, "dataset_name", "dataset_train_split", "train")


def evaluation_rows(options: Options) -> list[dict[str, Any]] | None:
    """The checked rows to evaluate on, or None when `eval_strategy` asks for no evaluation."""
    if options.get("eval_strategy", "no") in ("no", False):
        return None
    own = options.get("eval_dataset_name") is not None
    if not own and str(options.get("dataset_name")).endswith(_FILES):
        raise InputError("eval_strategy needs rows: pass --eval_dataset_name FILE, or --eval_strategy no")
    return _rows(options, "eval_dataset_name" if own else "dataset_name", "dataset_test_split", "test")


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


def _rows(options: Options, key: str, split_key: str, split: str) -> list[dict[str, Any]]:
    name = str(options.get(key))
    if name.endswith(".jsonl"):
        return check_rows(options.kind, name, read_jsonl(Path(name)))
    if name.endswith(_FILES) and not Path(name).is_file():
        raise InputError(f"{name}: no such file; pass --{key} with a file that exists")
    if name.endswith(".csv"):
        raise InputError(f"{name}: messages cannot be in a CSV file: give {', '.join(_FILES)} or a folder")
    wanted = "unpaired.jsonl" if options.kind == "kto" else f"{options.kind}.jsonl"
    table = load_table(key, name, options.get("dataset_config"), options.get(split_key, split), split_key, wanted)
    return check_rows(options.kind, name, _numbered(name, table))


def _numbered(name: str, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((f"{name}:{number}", row) for number, row in enumerate(rows, start=1))


def check_rows(kind: Kind, name: str, rows: Iterable[tuple[str, dict[str, Any] | str]]) -> list[dict[str, Any]]:
    """The rows, each with its place, reduced to the columns of `kind`; one that is a text is the fault of its line.

    Raises `InputError` with one line a fault.
    """
    faults: list[str] = []
    kept = []
    for place, row in rows:
        found = [row] if isinstance(row, str) else row_faults(kind, row)
        faults += [f"{place}: {fault}" for fault in found]
        if not found and isinstance(row, dict):
            kept.append({column: row[column] for column in _COLUMNS[kind]})
    if not faults and not kept:
        faults.append(f"{name}: holds no rows; nothing can be trained")
    if not faults and kind == "kto" and len(labels := {row["label"] for row in kept}) == 1:
        faults.append(f"{name}: every `label` is {str(*labels).lower()}: KTO learns from the difference, add others")
    _refuse(faults)
    return kept


def row_faults(kind: Kind, row: dict[str, Any]) -> list[str]:
    """What makes a row useless: columns, roles, empty texts, and pairs whose two sides are the same."""
    if not is_text(row):
        return ["holds a lone surrogate, which is half a character"]
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
    """Rows by what becomes of them under `max_length`; `longest` is in tokens."""

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


def within_length(
    kind: Kind, rows: Sequence[dict[str, Any]], tokenizer: Any, max_length: int | None, keep_end: bool = False
) -> tuple[list[dict[str, Any]], Lengths]:
    """The rows to train on, and how `max_length` treats them; raises `InputError` without a chat template or when no
    row would be left.

    TRL keeps the first `max_length` tokens: a longer row loses the end of its answer, and one whose prompt alone fills
    the window is dropped silently. With `keep_end` (`truncation_mode`) the prompt loses its start instead. A pair of
    which an answer would be cut is left out here: DPO would compare answers without their ends, which may be the same.
    """
    from jinja2 import TemplateError

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
    for number, row in enumerate(rows, start=1):
        try:
            prompt = count(row["prompt"], True)
            whole = max(count(row["prompt"] + row[column], False) for column in _ANSWERS[kind])
        # A template that knows no system message, or wants roles by turns, says so in an error of its own.
        except TemplateError as error:
            raise InputError(
                f"row {number}: the chat template of the model refuses its messages: {error}: write them as it wants "
                "them, or take another model"
            ) from None
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
