"""`--dry_run`: the resolved config and the first prompt of each role, before anything is spent; and the first of all,
which a run shows too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from data_gen.config import GenerateConfig, JudgeConfig
from data_gen.prompting import Prompts
from rltpf.config import dump
from rltpf.datasets import load_problems
from rltpf.llm.model import Message
from rltpf.prover.cascade import Library, library_of
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import header_of
from rltpf.records import Problem


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


def first_prompt(config: GenerateConfig, problem: Problem, prompts: Prompts) -> tuple[str, Sequence[Message]]:
    """Title and messages of what is asked first about a problem."""
    if config.strategy == "reverse_qa":
        return "generator: s0", prompts.sketch("s0", question=problem.question, answer=problem.answer)
    return "formaliser: s1", prompts.sketch("s1", question=problem.question)


def first_judging_prompt(row: dict[str, Any], prompts: Prompts) -> tuple[str, Sequence[Message]]:
    """Title and messages of what is asked first about a row to judge."""
    if not row.get("formal"):
        return "formaliser: s1", prompts.sketch("s1", question=row["question"])
    known = {"question": row["question"], "telescope": row["formal"], "answer": row["answer"]}
    return "formaliser: formalise", prompts.sketch("formalise", **known)


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
