"""Equality of answers by restricted propositional equivalence in Lean, for those that are expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from eval.expressions import read
from eval.fps import Binder
from eval.rpe import Question, equivalence
from eval.score import Sample
from rltpf import pipeline
from rltpf.progress import Progress
from rltpf.prover.prover import Prover

UNREAD = "unread"
"""The reason where an answer is no expression: Lean is not asked."""

Pair = tuple[str, str]


async def compare(prover: Prover, samples: list[Sample], concurrency: int) -> list[Sample]:
    """The samples with `correct_rpe` and `rpe_reason`: Lean's word on gold answer and lenient extraction, where these
    are not the same text. Every pair of answers is compared once."""
    pairs = sorted({pair for sample in samples if (pair := _open_pair(sample))})
    found: dict[Pair, tuple[bool | None, str]] = {}

    async def decide(pair: Pair) -> tuple[Pair, tuple[bool | None, str]]:
        return pair, await _same(prover, *pair)

    with Progress("rpe", len(pairs)) as progress:
        await pipeline.run(pairs, decide, lambda item: found.update([item]), concurrency=concurrency, progress=progress)
    return list(_compared(samples, found))


def _open_pair(sample: Sample) -> Pair | None:
    if sample.error is not None or sample.lenient is None or sample.correct_lenient:
        return None
    return sample.gold, sample.lenient


def _compared(samples: Iterable[Sample], found: dict[Pair, tuple[bool | None, str]]) -> Iterable[Sample]:
    for sample in samples:
        if pair := _open_pair(sample):
            verdict, reason = found[pair]
            yield replace(sample, correct_rpe=verdict, rpe_reason=reason)
        else:
            yield replace(sample, correct_rpe=sample.correct_lenient)


async def _same(prover: Prover, gold: str, answer: str) -> tuple[bool | None, str]:
    known, given = read(gold), read(answer)
    if known is None or given is None:
        return None, UNREAD
    variables = tuple(Binder(kind, name) for name, kind in sorted({**known.variables, **given.variables}.items()))
    decided = await equivalence(prover, Question("Rat", variables, None, given.term, f"answer = {known.term}"))
    return (decided.equivalent if decided.decided else None), decided.reason
