"""Scores of a model on a benchmark, with what a reader needs to trust or refute the number.

Every reply is read by both extractors and compared in two ways; all verdicts stay in the sample and are summarised side
by side.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.equivalence import MathVerifier
from eval.extraction import VERSIONS, lenient, read_as, same, strict
from rltpf import pipeline
from rltpf.intervals import wilson
from rltpf.llm.model import ChatModel, Completion, Message, ModelError, Request, Sampling
from rltpf.progress import Progress
from rltpf.records import Failure, Problem, Record

VERDICTS = ("correct_strict", "correct_lenient", "correct_math_verify")
RPE = "correct_rpe"
"""The verdict that samples have too where Lean was asked."""


@dataclass(frozen=True)
class Sample(Record):
    """One reply's outcome: the prompt, the reply, both extractions, the verdicts; `number` tells a row's replies apart.

    `correct_math_verify` compares the lenient extraction mathematically; it is None where math-verify gave no result in
    time, which counts as wrong. `correct_rpe` compares it in Lean, and is None where Lean was not asked or has no
    verdict, which counts as wrong; `rpe_reason` says why, where it was asked for. A row with an `error` has no reply
    and belongs to no score.
    """

    id: str
    question: str
    gold: str
    prompt: str
    output: str = ""
    strict: str | None = None
    lenient: str | None = None
    correct_strict: bool = False
    correct_lenient: bool = False
    correct_math_verify: bool | None = False
    finish_reason: str = ""
    completion_tokens: int = 0
    error: Failure | None = None
    number: int = 0
    correct_rpe: bool | None = None
    rpe_reason: str = ""


Reply = Completion | ModelError


async def ask(
    rows: Sequence[Problem],
    prompt: Callable[[str], str],
    model: ChatModel,
    sampling: Sampling,
    samples: int,
    concurrency: int,
    progress: Progress | None = None,
) -> list[list[Reply]]:
    """The model's replies to each row, in the rows' order; where there is none to be had, the error."""
    replies: dict[tuple[int, int], Reply] = {}

    async def reply(item: tuple[int, int]) -> tuple[tuple[int, int], Reply]:
        request = Request("solver", (Message("user", prompt(rows[item[0]].question)),), sampling)
        try:
            return item, await model.complete(request.sample(item[1]))
        except ModelError as error:
            return item, error

    await pipeline.run(
        itertools.product(range(len(rows)), range(samples)),
        reply,
        lambda result: replies.update([result]),
        concurrency=concurrency,
        progress=progress,
    )
    return [[replies[row, number] for number in range(samples)] for row in range(len(rows))]


def grade(row: Problem, prompt: str, completion: Reply, verifier: MathVerifier, number: int = 0) -> Sample:
    """The sample of one reply; `row.answer` is the gold final answer."""
    if isinstance(completion, ModelError):
        error = Failure("solver", "no_reply", str(completion))
        return Sample(row.id, row.question, row.answer, prompt, error=error, number=number)
    cut = completion.finish_reason == "length"
    by_strict, by_lenient = strict(completion.text, cut), lenient(completion.text, cut)
    equal = same(row.answer, by_lenient)
    return Sample(
        id=row.id,
        question=row.question,
        gold=row.answer,
        prompt=prompt,
        output=completion.text,
        strict=by_strict,
        lenient=by_lenient,
        correct_strict=same(row.answer, by_strict),
        correct_lenient=equal,
        correct_math_verify=(equal or (by_lenient is not None and verifier.equal(row.answer, by_lenient))),
        finish_reason=completion.finish_reason,
        completion_tokens=completion.completion_tokens,
        number=number,
    )


def summarise(samples: Sequence[Sample], verdicts: Sequence[str] = VERDICTS) -> dict[str, Any]:
    """The scores of a run: for each verdict the mean share of right replies with its standard error and 95 % interval.

    They are of the `n` rows of which every reply is there, at least one; `failed` counts the others. Where rows have
    several replies, `pass@k` has the unbiased estimate for k of 2, 4, 8, ... and all, and `maj@k` what the most
    frequent answer of all replies scores. Standard errors are over rows, so that a row's replies, which depend on one
    another, do not count as independent.
    """
    whole = list(whole_rows(samples).values())
    replies = [sample for row in whole for sample in row]
    size = len(whole[0])
    return {
        "n": len(whole),
        "samples": size,
        "failed": len({sample.id for sample in samples}) - len(whole),
        "scores": {verdict.removeprefix("correct_"): _score(whole, verdict) for verdict in verdicts},
        "no_answer": {
            "strict": sum(sample.strict is None for sample in replies),
            "lenient": sum(sample.lenient is None for sample in replies),
        },
        "cut_by_max_tokens": sum(sample.finish_reason == "length" for sample in replies),
        "completion_tokens": sum(sample.completion_tokens for sample in replies),
        "extractor_versions": VERSIONS,
    }


def whole_rows(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """The samples of each row of which every reply is there, by the row's id, in their order."""
    rows: dict[str, list[Sample]] = {}
    for sample in samples:
        rows.setdefault(sample.id, []).append(sample)
    return {id: row for id, row in rows.items() if all(sample.error is None for sample in row)}


def _score(rows: Sequence[Sequence[Sample]], verdict: str) -> dict[str, Any]:
    right = [sum(bool(getattr(sample, verdict)) for sample in row) for row in rows]
    size = len(rows[0])
    mean, error = mean_and_error([count / size for count in right])
    low, high = wilson(sum(right), len(rows)) if size == 1 else _normal(mean, error)
    score: dict[str, Any] = {"right": sum(right), "pass@1": mean, "stderr": error, "interval_95": [low, high]}
    if size > 1:
        score["pass@k"] = {
            str(k): _with_error([pass_at_k(size, count, k) for count in right]) for k in (*_powers_below(size), size)
        }
        score["maj@k"] = {str(size): _with_error([float(majority_right(row, verdict)) for row in rows])}
    return score


def _powers_below(size: int) -> list[int]:
    return [2**power for power in range(1, size.bit_length()) if 2**power < size]


def _with_error(values: Sequence[float]) -> dict[str, float | None]:
    mean, error = mean_and_error(values)
    return {"value": mean, "stderr": error}


def majority_right(row: Sequence[Sample], verdict: str) -> bool:
    """Whether the most frequent answer of a row's replies is right; of equally frequent ones the first, replies without
    an answer left out. Answers are those of the extractor that the verdict goes by."""
    extractor = "strict" if verdict == "correct_strict" else "lenient"
    answers = [
        (read_as(sample.gold, answer), sample) for sample in row if (answer := getattr(sample, extractor)) is not None
    ]
    if not answers:
        return False
    counts = Counter(answer for answer, _ in answers)
    # `max` keeps the first of equals.
    _, winner = max(answers, key=lambda item: counts[item[0]])
    return bool(getattr(winner, verdict))


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error (divisor n - 1); None for fewer than two values."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, None
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)


def _normal(mean: float, error: float | None, z: float = 1.959964) -> tuple[float, float]:
    # One row says nothing about the spread of rows.
    half = 1.0 if error is None else z * error
    return max(0.0, mean - half), min(1.0, mean + half)


def pass_at_k(n: int, right: int, k: int) -> float:
    """Unbiased pass@k of one problem from n samples of which `right` are right: 1 - C(n - right, k) / C(n, k).

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1. Raises `ValueError` unless
    0 <= right <= n and 1 <= k <= n.
    """
    if not (0 <= right <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} from {right} right of {n} samples: need 0 <= right <= n and 1 <= k <= n")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def paired_difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Difference of two scores on the same rows, each a row's share of right replies, and its standard error from the
    rows' own differences (divisor n - 1).

    Raises `ValueError` for different lengths or fewer than two rows.
    """
    mean, error = mean_and_error([b - a for a, b in zip(before, after, strict=True)])
    if error is None:
        raise ValueError(f"{len(before)} rows: a standard error needs at least two")
    return mean, error
