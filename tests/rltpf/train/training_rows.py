"""Rows that the training tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def assistant(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def sft_row(number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "prompt": user(f"What is {number} + 1?"),
        "completion": assistant(f"It is {number + 1}."),
    }


def dpo_row(number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "prompt": user(f"What is {number} + 1?"),
        "chosen": assistant(f"It is {number + 1}."),
        "rejected": assistant(f"It is {number + 3}, I think."),
    }


def kto_row(number: int) -> dict[str, Any]:
    """Even numbers are answered right."""
    pair = dpo_row(number)
    label = number % 2 == 0
    return {"id": str(number), "prompt": pair["prompt"], "completion": pair["chosen" if label else "rejected"],
            "label": label}  # fmt: skip


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
