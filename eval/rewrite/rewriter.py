"""One problem's way through all operations, with the loop back to the rewriter."""

from __future__ import annotations

import dataclasses

from eval.rewrite.records import Candidate, Rewrite
from eval.rewrite.stages import Stages
from rltpf.prover.prover import Prover
from rltpf.prover.session import LeanSession

TRIED_ANEW = frozenset(("rewrite", "prove", "verify", "guard", "extract", "classify"))
"""Stages after which another rewrite is tried. Those before the proof delete a candidate (figure 2)."""


async def rewrite_problem(candidate: Candidate, stages: Stages, prover: Prover, rewrites: int) -> Candidate:
    """The candidate with its rewrites, retained or with the end of the last one."""
    lean = LeanSession(prover)
    tried: list[Rewrite] = []
    while len(tried) < rewrites:
        tried.append(await _attempt(candidate.question, tried, stages, lean))
        error = tried[-1].error
        if error is None or error.stage not in TRIED_ANEW:
            break
    return dataclasses.replace(candidate, rewrites=tuple(tried), error=tried[-1].error, usage=lean.usage)


async def _attempt(question: str, earlier: list[Rewrite], stages: Stages, lean: LeanSession) -> Rewrite:
    rewrite = await stages.rewrite(question, [old for old in earlier if old.question])
    if rewrite.kept:
        rewrite = await stages.screen(rewrite)
    for operation in (stages.formalise, stages.prove, stages.guard):
        if rewrite.kept:
            rewrite = await operation(rewrite, lean)
    for reading in (stages.extract, stages.classify):
        if rewrite.kept:
            rewrite = await reading(rewrite)
    return rewrite
