"""Greedy pass@1 of a model on a benchmark, with what a reader needs to trust or refute the number.

Every reply is read by both extractors and compared in two ways; all verdicts stay in the sample and are summarised side
by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.equivalence import MathVerifier
from eval.extraction import VERSIONS, lenient, normalise, same, strict
from rltpf import pipeline
from rltpf.llm.model import ChatModel, Completion, Message, ModelError, Request, Sampling
from rltpf.progress import Progress
from rltpf.records import Failure, Problem, Record

VERDICTS = ("correct_strict", "correct_lenient", "correct_math_verify")


@dataclass(frozen=True)
class Sample(Record):
    """One row's outcome: the prompt, the reply, both extractions, the verdicts.

    `correct_math_verify` compares the lenient extraction mathematically; it is None where math-verify gave no result in
    time, which counts as wrong. A row with an `error` has no reply and belongs to no score.
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


async def ask(
    rows: Sequence[Problem],
    prompt: Callable[[str], str],
    model: ChatModel,
    max_tokens: int,
    concurrency: int,
    progress: Progress | None = None,
) -> list[Completion | ModelError]:
    """The model's greedy reply to each row, in the rows' order; where there is none to be had, the error."""
    replies: dict[int, Completion | ModelError] = {}

    async def reply(item: tuple[int, Problem]) -> tuple[int, Completion | ModelError]:
        message = Message("user", prompt(item[1].question))
        try:
            sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
            return item[0], await model.complete(Request("solver", (message,), sampling))
        except ModelError as error:
            return item[0], error

    await pipeline.run(
        enumerate(rows),
        reply,
        lambda result: replies.update([result]),
        concurrency=concurrency,
        progress=progress,
    )
    return [replies[index] for index in range(len(rows))]


def grade(row: Problem, prompt: str, completion: Completion | ModelError, verifier: MathVerifier) -> Sample:
    """The sample of one reply; `row.answer` is the gold final answer."""
    if isinstance(completion, ModelError):
        return Sample(row.id, row.question, row.answer, prompt, error=Failure("solver", "no_reply", str(completion)))
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
        correct_math_verify=(
            equal or (by_lenient is not None and verifier.same(normalise(row.answer), normalise(by_lenient)))
        ),
        finish_reason=completion.finish_reason,
        completion_tokens=completion.completion_tokens,
    )


def summarise(samples: Sequence[Sample]) -> dict[str, Any]:
    """The scores of a run: for each verdict the share of right answers with its standard error and 95 % interval.

    They are of the `n` rows that have a reply, at least one; `failed` counts the others.
    """
    failed = sum(sample.error is not None for sample in samples)
    samples = [sample for sample in samples if sample.error is None]
    scores = {}
    for verdict in VERDICTS:
        right = sum(bool(getattr(sample, verdict)) for sample in samples)
        low, high = wilson(right, len(samples))
        scores[verdict.removeprefix("correct_")] = {
            "right": right,
            "pass@1": right / len(samples),
            "stderr": standard_error(right, len(samples)),
            "interval_95": [low, high],
        }
    return {
        "n": len(samples),
        "failed": failed,
        "scores": scores,
        "no_answer": {
            "strict": sum(sample.strict is None for sample in samples),
            "lenient": sum(sample.lenient is None for sample in samples),
        },
        "cut_by_max_tokens": sum(sample.finish_reason == "length" for sample in samples),
        "completion_tokens": sum(sample.completion_tokens for sample in samples),
        "extractor_versions": VERSIONS,
    }


def standard_error(right: int, n: int) -> float | None:
    """Standard error of `right / n`, from the sample variance (divisor n - 1); None for fewer than two samples."""
    share = right / n
    return math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else None


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a share; unlike share +- z * stderr it is not empty at 0 and at n."""
    share = right / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def pass_at_k(n: int, right: int, k: int) -> float:
    """Unbiased pass@k of one problem from n samples of which `right` are right: 1 - C(n - right, k) / C(n, k).

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1. Raises `ValueError` unless
    0 <= right <= n and 1 <= k <= n.
    """
    if not (0 <= right <= n and 1 <= k <= n):
        raise ValueError(f"pass@{k} from {right} right of {n} samples: need 0 <= right <= n and 1 <= k <= n")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def paired_difference(before: Sequence[bool], after: Sequence[bool]) -> tuple[float, float]:
    """Difference of two scores on the same rows, and its standard error from the rows' own differences (divisor n - 1).

    Raises `ValueError` for different lengths or fewer than two rows.
    """
    differences = [int(b) - int(a) for a, b in zip(before, after, strict=True)]
    n = len(differences)
    if n < 2:
        raise ValueError(f"{n} rows: a standard error needs at least two")
    mean = sum(differences) / n
    variance = sum((difference - mean) ** 2 for difference in differences) / (n - 1)
    return mean, math.sqrt(variance / n)
