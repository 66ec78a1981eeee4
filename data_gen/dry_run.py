"""`--dry_run`: the resolved config and the first prompt of each role, before anything is spent."""

from __future__ import annotations

from typing import Any

from data_gen.config import GenerateConfig, JudgeConfig
from data_gen.prompting import Prompts
from rltpf.config import dump
from rltpf.datasets import load_problems
from rltpf.prover.cascade import Library, library_of
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import header_of


def show_generation(config: GenerateConfig) -> int:
    """Print what a generate run would start with; the exit code."""
    problem = load_problems(config.dataset)[0]
    if config.strategy == "reverse_qa":
        reversing = {"generator: s0": {"question": problem.question, "answer": problem.answer}}
        _show(config, reversing, question="<the question of s0>")
    else:
        _show(config, {}, question=problem.question)
    return 0


def show_judging(config: JudgeConfig, row: dict[str, Any]) -> int:
    """Print what judging these rows would start with; the exit code."""
    if config.llm is None:
        print(dump(config))
        return 0
    formal = {"telescope": row["formal"]} if row.get("formal") else {}
    _show(config, {}, question=row["question"], answer=row["answer"], **formal)
    return 0


def _show(config: GenerateConfig | JudgeConfig, first: dict[str, dict[str, str]], **values: str) -> None:
    prompts = Prompts(config.prompts, expected_library(config.prover))
    print(dump(config))
    titles = ("formaliser: s1", "formaliser: s2", "back_translator: s3", "judge: s4", "solver: answer")
    for title, known in {**first, **dict.fromkeys((*titles, "formaliser: formalise"), values)}.items():
        name = title.split(": ")[1]
        for message in prompts.sketch(name, **known):
            print(f"--- {title}, version {prompts.versions[name]} ({message.role})\n{message.content}\n")


def expected_library(config: ProverConfig) -> Library:
    """What the prover will import, as far as its settings tell: Lean itself may not be there yet."""
    return library_of(header_of(config))
