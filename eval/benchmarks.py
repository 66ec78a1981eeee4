"""Benchmarks: how their rows give question and gold answer, how a model is asked, and a version that both belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from data_gen.answers import answer_prompt
from rltpf.datasets import DatasetConfig, load_problems
from rltpf.errors import InputError
from rltpf.presets import PRESETS, PresetName
from rltpf.records import Problem


def expression_prompt(question: str) -> str:
    """Asks for an answer that need not be a number: a fraction, an interval, an expression."""
    return _with_final_line(question, "`The answer is \\boxed{X}.` where X is the answer in LaTeX")


def choice_prompt(question: str) -> str:
    """Asks for the letter of one of the choices that stand below the question."""
    return _with_final_line(question, "`The answer is X.` where X is the letter of the right choice")


def _with_final_line(question: str, line: str) -> str:
    return f"{question}\n\nWrite one line for each step, `Step 1: ...`, `Step 2: ...`, and end with a line {line}."


@dataclass(frozen=True)
class Benchmark:
    """A task; scores of different versions are not comparable, so a change to its rows or prompt raises the version."""

    name: str
    version: int
    preset: PresetName | None
    """How its rows give question and gold answer; None: they are the columns themselves."""
    prompt: Callable[[str], str] = answer_prompt
    """The user message for a question; where the answer is a number, in the words that the training rows use."""


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("gsm8k", 1, "gsm8k"),
        Benchmark("multiarith", 1, "multiarith"),
        Benchmark("svamp", 1, "svamp"),
        Benchmark("asdiv", 1, "asdiv"),
        Benchmark("aqua", 1, "aqua", choice_prompt),
        Benchmark("math", 1, "math", expression_prompt),
        Benchmark("math500", 1, "math500", expression_prompt),
        Benchmark("aime24", 1, "aime"),
        Benchmark("amc23", 1, "amc"),
        Benchmark("olympiadbench", 1, "olympiadbench", expression_prompt),
        # Of one set, asked in the same words, so that nothing but the problem differs.
        Benchmark("repro", 1, "repro", expression_prompt),
        Benchmark("repro_originals", 1, "repro_originals", expression_prompt),
        Benchmark("jsonl", 1, None),
    )
}


def load(benchmark: Benchmark, dataset: DatasetConfig) -> list[Problem]:
    """The rows in order, `answer` being the gold final answer; raises `InputError` naming every row without one."""
    if preset := dataset.preset or benchmark.preset:
        return load_problems(dataset.model_copy(update={"preset": preset}))
    rows = [dataclasses.replace(row, answer=row.answer.strip()) for row in load_problems(dataset)]
    column = dataset.answer_column or "answer"
    faults = [
        f"{dataset.path}: row {number}: {column} is empty" for number, row in enumerate(rows, 1) if not row.answer
    ]
    if faults:
        raise InputError(*faults)
    return rows


def listing() -> list[tuple[str, str, str]]:
    """Name, version and columns of every benchmark; several layouts of a row are told apart by `or`."""
    return [
        (
            benchmark.name,
            str(benchmark.version),
            " or ".join(", ".join(layout.columns) for layout in PRESETS[benchmark.preset])
            if benchmark.preset
            else "question, answer (or dataset.question_column, dataset.answer_column, dataset.preset)",
        )
        for benchmark in BENCHMARKS.values()
    ]
