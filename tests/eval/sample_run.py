"""A run folder made by hand, small enough to check every number of its report."""

import json
from pathlib import Path
from typing import Any

from eval.score import Sample, summarise

METRICS: dict[str, Any] = {
    "questions": {
        "in": 30,
        "kept": 25,
        "lost": {"s2:not_elaborated": 2, "s2:contradictory": 1, "s4:not_aligned": 2},
    },
    "phases": [
        {"phase": "s1", "in": 30, "out": 30},
        {"phase": "s2", "in": 30, "out": 27},
        {"phase": "s3", "in": 27, "out": 27},
        {"phase": "s4", "in": 27, "out": 25},
    ],
    "answers": {
        "in": 50,
        "verified": 30,
        "false": 14,
        "error": 6,
        "reasons": {"error:unproved": 2, "error:timeout": 4},
    },
    "iterations": [
        dict(
            zip(
                (
                    "iteration",
                    "chains",
                    "chains_elaborated",
                    "steps",
                    "steps_elaborated",
                    "verified",
                    "false",
                    "error",
                    "tokens",
                ),
                row,
                strict=True,
            )
        )
        for row in (
            (1, 50, 33, 180, 144, 20, 10, 20, 36_000),
            (2, 20, 10, 60, 45, 6, 2, 12, 17_000),
            (3, 12, 8, 32, 24, 4, 2, 6, 12_006),
        )
    ],
    "allocation": {"sft_rows": 20, "dpo_pairs": 9, "discarded_questions": 2, "error_questions": 4},
    "lengths": {"words": {"chosen": {"mean": 67.9}, "rejected": {"mean": 56.1}}},
    "llm": {
        "formaliser": {
            "calls": 10,
            "cached": 90,
            "failed": 2,
            "prompt_tokens": 5000,
            "completion_tokens": 700,
            "cost": None,
        },
        "solver": {"calls": 1, "cached": 49, "failed": 0, "prompt_tokens": 80, "completion_tokens": 60, "cost": None},
    },
    "lean": {"checks": 812, "seconds": 93.14, "toolchain": "4.99.0, embedded"},
    "wall_seconds": 200.4,
}


def _answer(question: str, verdict: str, claim: str) -> dict[str, Any]:
    outcome = "verified" if verdict == "verified" else "false"
    return {
        "question": question,
        "answer": "Step 1: 16 - 3 = 13\nThe answer is 13.",
        "verdict": verdict,
        "steps": [{"text": "16 - 3 = 13 | left", "claim": claim, "outcome": outcome, "reason": ""}],
        "lean": f"theorem step_1 : {claim} := by norm_num",
    }


ANSWERS = [
    _answer("How many ducks?", "verified", "1 = 1"),
    _answer("How many eggs?", "error", "2 = 2"),
    _answer("How many eggs?", "false", "left = 12"),
    _answer("How many eggs?", "verified", "left = 13"),
]

SFT_LOG = [
    {"loss": 1.5, "grad_norm": 2.0, "epoch": 0.5, "step": 1},
    {"loss": 1.25, "grad_norm": 2.0, "epoch": 1.0, "step": 2},
    {"loss": 0.8, "grad_norm": 1.0, "epoch": 1.5, "step": 3},
    {"train_runtime": 26.4, "train_loss": 1.18, "epoch": 1.5, "step": 3},
]

DPO_LOG = [
    {"loss": 0.6931, "rewards/margins": 0.0, "rewards/accuracies": 0.0, "epoch": 1.0, "step": 1},
    {"loss": 0.55, "rewards/margins": 0.31, "rewards/accuracies": 0.75, "epoch": 2.0, "step": 2},
    {"train_runtime": 61.0, "train_loss": 0.62, "epoch": 2.0, "step": 2},
]

REWRITING = {"candidates": {"in": 16, "kept": 10, "ended": {"screen:applied_no": 4, "prove:no_proof": 2}}}

SENSITIVITY = {
    "verdict": "math_verify",
    "models": {
        "lora": {
            "all": {
                "n": 8, "original": 0.5, "rewritten": 0.375, "absolute": -12.5, "relative": -25.0,
                "interval_95": [-37.5, 0.0], "lost": 1, "gained": 0, "p_value": 1.0,
            }
        }
    },
}  # fmt: skip

RIGHT = {"base": "00000100", "sft": "01100101", "dpo": "11101111"}


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _evaluation(folder: Path, right: str) -> None:
    samples = [
        Sample(
            f"r{index}", "q", "1", "p", "o", "1", "1",
            correct_strict=bit == "1", correct_lenient=True, correct_math_verify=True, finish_reason="stop",
        )
        for index, bit in enumerate(right)
    ]  # fmt: skip
    _lines(folder / "samples.jsonl", [sample.to_json() for sample in samples])
    metrics = {
        "model": folder.name,
        "benchmark": {"name": "gsm8k", "version": 1, "path": "rows.jsonl"},
        "max_tokens": 256,
        **summarise(samples),
    }
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")


def build(folder: Path) -> Path:
    """A whole run in `folder`."""
    _lines(folder / "data" / "answers.jsonl", ANSWERS)
    (folder / "data" / "metrics.json").write_text(json.dumps(METRICS), encoding="utf-8")
    _lines(folder / "sft" / "log_history.jsonl", SFT_LOG)
    _lines(folder / "dpo" / "log_history.jsonl", DPO_LOG)
    for name, right in RIGHT.items():
        _evaluation(folder / "eval" / name, right)
    _evaluation(folder / "rewritten" / "lora", "01100001")
    (folder / "rewrite").mkdir()
    (folder / "rewrite" / "metrics.json").write_text(json.dumps(REWRITING), encoding="utf-8")
    (folder / "sensitivity").mkdir()
    (folder / "sensitivity" / "sensitivity.json").write_text(json.dumps(SENSITIVITY), encoding="utf-8")
    return folder
