"""`--dry_run`: the resolved config and the first prompt of each role, before anything is spent."""

from __future__ import annotations

from typing import Any

from data_gen import prompting
from data_gen.config import GenerateConfig, JudgeConfig
from rltpf.config import Config, dump
from rltpf.datasets import load_problems


def show_generation(config: GenerateConfig) -> int:
    """Print what a generate run would start with; the exit code."""
    question = load_problems(config.dataset)[0].question
    _show(config, question, "<the first answer>", "<the telescope of s2>")
    return 0


def show_judging(config: JudgeConfig, row: dict[str, Any]) -> int:
    """Print what judging these rows would start with; the exit code."""
    _show(config, row["question"], row["answer"], row.get("formal") or "<the telescope of s2>")
    return 0


def _show(config: Config, question: str, answer: str, telescope: str) -> None:
    print(dump(config))
    prompts: dict[str, dict[str, Any]] = {
        "formaliser: s1": {"question": question},
        "formaliser: s2": {"question": question, "symbols": "<the symbols of s1>"},
        "back_translator: s3": {"telescope": telescope},
        "judge: s4": {"question": question, "retelling": "<the retelling of s3>"},
        "solver: answer": {"question": question},
        "formaliser: formalise": {
            "question": question,
            "telescope": telescope,
            "answer": answer,
            "entries": "<as many as steps, and one>",
        },
    }
    for title, values in prompts.items():
        for message in prompting.messages(title.split(": ")[1], **values):
            print(f"--- {title} ({message.role})\n{message.content}\n")
