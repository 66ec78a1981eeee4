"""Data sets in TRL's conversational format, every row with its Lean text and verdicts. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from data_gen.allocate import Allocation
from data_gen.answers import answer_prompt
from data_gen.audit import SEAL, seal
from data_gen.records import Answer
from rltpf.records import canonical_json, content_id


def sft_rows(allocations: Iterable[Allocation]) -> list[dict[str, Any]]:
    """Rows with `prompt` and `completion`: TRL computes the loss on completions alone for this shape, not for
    `messages`."""
    return [
        {
            "id": answer.id,
            "question_id": answer.question_id,
            "prompt": _user(answer.question),
            "completion": _assistant(answer),
            "verdict": answer.verdict,
            "steps": _steps(answer),
            "lean": answer.lean,
        }
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


def to_jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """One canonical JSON object a line, so that equal data sets are equal bytes; each with its seal (see `audit`)."""
    return "".join(f"{canonical_json({**row, SEAL: seal(row)})}\n" for row in rows)


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
