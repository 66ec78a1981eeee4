"""Benchmarks: where the gold answer stands in a row, how a model is asked, and a version that both belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from data_gen.answers import answer_prompt
from rltpf.datasets import DatasetConfig, load_problems
from rltpf.errors import InputError
from rltpf.presets import after_hashes
from rltpf.records import Problem


@dataclass(frozen=True)
class Benchmark:
    """A task; scores of different versions are not comparable, so a change to `gold` or `prompt` raises the version."""

    name: str
    version: int
    gold: Callable[[str], str]
    """The gold final answer from a row's answer column; empty where it has none."""
    prompt: Callable[[str], str] = answer_prompt
    """The user message for a question: the words that the training rows use."""


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("gsm8k", 1, after_hashes),
        Benchmark("jsonl", 1, str.strip),
    )
}


def load(benchmark: Benchmark, dataset: DatasetConfig) -> list[Problem]:
    """The rows in order, `answer` being the gold final answer; raises `InputError` naming every row without one."""
    if dataset.preset:
        return load_problems(dataset)
    rows = [dataclasses.replace(row, answer=benchmark.gold(row.answer)) for row in load_problems(dataset)]
    faults = [
        f"{dataset.path}: row {number}: {dataset.answer_column or 'answer'} gives no final answer "
        f"as {benchmark.name} writes them"
        for number, row in enumerate(rows, 1)
        if not row.answer
    ]
    if faults:
        raise InputError(*faults)
    return rows
