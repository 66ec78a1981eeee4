"""Data sets in TRL's formats, every row with its Lean text and verdicts: pure functions, and the folder of them all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_gen.allocate import Allocation
from data_gen.answers import answer_prompt
from data_gen.audit import SEAL, seal
from data_gen.records import Answer, Question
from data_gen.stepwise import stepwise
from rltpf.datasets import read_jsonl
from rltpf.journal import placed
from rltpf.records import canonical_json, content_id

COLUMNS = {
    "sft": ("prompt", "completion"),
    "dpo": ("prompt", "chosen", "rejected"),
    "unpaired": ("prompt", "completion", "label"),
    "stepwise": ("prompt", "completions", "labels"),
}
"""The kinds of data sets, and what TRL reads of each; the other columns say where a row is from."""


def data_sets(allocations: Sequence[Allocation]) -> dict[str, list[dict[str, Any]]]:
    """The rows of every kind, in the order of the questions; of rows that teach the same the first one."""
    rows = {
        "sft": sft_rows(allocations),
        "dpo": dpo_rows(allocations),
        "unpaired": unpaired_rows(allocations),
        "stepwise": stepwise_rows(allocations),
    }
    return {kind: _distinct(found, COLUMNS[kind]) for kind, found in rows.items()}


def sft_rows(allocations: Iterable[Allocation]) -> list[dict[str, Any]]:
    """Rows with `prompt` and `completion`: TRL computes the loss on completions alone for this shape, not for
    `messages`."""
    return [
        _row(answer, prompt=_user(answer.question), completion=_assistant(answer))
        for allocation in allocations
        for answer in allocation.sft
    ]


def dpo_rows(allocations: Iterable[Allocation]) -> list[dict[str, Any]]:
    """Rows with `prompt`, `chosen` (verified) and `rejected` (refuted)."""
    return [
        {
            "id": content_id(chosen.id, rejected.id),
            "question_id": chosen.question_id,
            "prompt": _user(chosen.question),
            "chosen": _assistant(chosen),
            "rejected": _assistant(rejected),
            "chosen_verdict": chosen.verdict,
            "rejected_verdict": rejected.verdict,
            "chosen_steps": _steps(chosen),
            "rejected_steps": _steps(rejected),
            "chosen_lean": chosen.lean,
            "rejected_lean": rejected.lean,
        }
        for allocation in allocations
        for chosen, rejected in allocation.dpo
    ]


def unpaired_rows(allocations: Iterable[Allocation]) -> list[dict[str, Any]]:
    """Rows with `prompt`, `completion` and `label`, true where verified: every answer that Lean decided."""
    return [
        _row(
            answer,
            prompt=_user(answer.question),
            completion=_assistant(answer),
            label=answer.verdict == "verified",
        )
        for allocation in allocations
        for answer in allocation.decided
    ]


def stepwise_rows(allocations: Iterable[Allocation]) -> list[dict[str, Any]]:
    """Rows with `prompt`, `completions` and `labels`, one for each step that Lean decided, up to the first false one.

    TRL has no messages in this format: the parts are texts that follow each other, the completions on lines of their
    own.
    """
    return [_stepwise(answer) for allocation in allocations for answer in allocation.decided]


def to_jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """One canonical JSON object a line, so that equal data sets are equal bytes; each with its seal (see `audit`)."""
    return "".join(f"{canonical_json({**row, SEAL: seal(row)})}\n" for row in rows)


def contaminated(questions: Iterable[Question]) -> str:
    """The questions that were removed for their words, with these, one a line."""
    return "".join(
        f"{canonical_json({'id': question.id, 'question': question.question, 'shared': question.error.detail})}\n"
        for question in questions
        if question.error is not None and question.error.reason == "contaminated"
    )


def save_folder(folder: Path, files: Mapping[str, Path], card: str) -> None:
    """Write what JSONL files hold as a folder that `datasets.load_from_disk` opens, each kind under its name, and the
    card.

    Kinds without rows are left out, since such a data set cannot be opened. The new folder takes the old one's place in
    the end, so a kill leaves one of them whole, or none.
    """
    import datasets

    rows = {kind: [row for _, row in read_jsonl(file)] for kind, file in files.items()}
    sets = {kind: datasets.Dataset.from_list(found) for kind, found in rows.items() if found}
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    datasets.disable_progress_bars()
    with placed(new):
        datasets.DatasetDict(sets).save_to_disk(new)
        (new / "README.md").write_text(card, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def _user(question: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": answer_prompt(question)}]


def _assistant(answer: Answer) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": answer.answer}]


def _steps(answer: Answer) -> list[dict[str, Any]]:
    # TRL infers one column type from all rows, so a missing claim is the empty string and not null.
    return [
        {"text": step.text, "claim": step.claim or "", "outcome": step.outcome, "reason": step.reason}
        for step in answer.steps
    ]


def _stepwise(answer: Answer) -> dict[str, Any]:
    labelled = stepwise(answer.steps)
    return _row(
        answer,
        prompt="".join(f"{text}\n" for text in (answer_prompt(answer.question), *labelled.given)),
        completions=list(labelled.completions),
        labels=list(labelled.labels),
    )


def _row(answer: Answer, **columns: Any) -> dict[str, Any]:
    """What TRL reads of one answer, and what the audit does."""
    return {
        "id": answer.id,
        "question_id": answer.question_id,
        **columns,
        "verdict": answer.verdict,
        "steps": _steps(answer),
        "lean": answer.lean,
    }


def _distinct(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Answers that differ only behind their first false step are one and the same stepwise row."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(canonical_json([row[column] for column in columns]), row)
    return list(seen.values())
