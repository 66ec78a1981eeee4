"""`judge`: verdicts on answers that somebody else sampled, row by row."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from data_gen.calculated import judge_calculations
from data_gen.config import JudgeConfig
from data_gen.dry_run import first_judging_prompt
from data_gen.formal import Refusal, check_telescope
from data_gen.formalize import Formaliser, check_in_lean
from data_gen.judge import Judge
from data_gen.prompting import Prompts
from data_gen.records import Judgement, Question
from rltpf import pipeline
from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import ChatModel, ModelError
from rltpf.llm.settings import LLMConfig
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.session import InfraError, LeanSession
from rltpf.records import Failure
from rltpf.runs import Journal, RunDirectory
from rltpf.unfinished import note_unfinished

ROWS_IN_FLIGHT = 32

Stage = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""From a row to the row with its verdict; raises `Refusal`, `InfraError` or `ModelError` where there is none."""


def checked(row: dict[str, Any]) -> dict[str, Any]:
    """The row; raises `ValueError` where its telescope, if it has one, is none."""
    if row.get("formal") is not None:
        if not isinstance(row["formal"], str):
            raise ValueError(f"formal has to be a text, and is {row['formal']!r}")
        try:
            check_telescope(row["formal"])
        except Refusal as refusal:
            raise ValueError(f"formal: {refusal}") from None
    return row


async def judge_rows(config: JudgeConfig, run: RunDirectory, rows: Sequence[dict[str, Any]]) -> int:
    """Judge the rows that have no verdict yet and journal each; the exit code, 1 where infrastructure kept some from
    a verdict."""
    prover = build_prover(config.prover)
    model: CachedModel | None = None
    prompts = Prompts(config.prompts, prover.library)
    stage: Stage = partial(_without_model, prover)
    if config.llm is None:
        print("no llm: calculations alone are judged, and no answer can be verified", file=sys.stderr)
    else:
        model = build_model(config.llm, run.transcript)
        stage = _with_model(config, config.llm, model, prover, prompts)
    run.begin(prover.toolchain_id)
    verdicts = run.journal("verdicts")
    unfinished: list[Failure] = []

    async def verdict(row: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return await stage(row)
        except Refusal as refusal:
            return _lost(row, Failure("s2", refusal.reason, str(refusal)))
        except (InfraError, ModelError) as error:
            unfinished.append(Failure(row["id"], type(error).__name__, str(error)))
            return None

    def keep(result: dict[str, Any] | None) -> None:
        if result is not None:
            verdicts.append(result)

    try:
        _refuse_other_answers(run, verdicts, rows)
        todo = [row for row in rows if row["id"] not in verdicts]
        if todo and model is not None:
            show_opening(run, config, *first_judging_prompt(todo[0], prompts))
        usage = model.usage if model is not None else None
        with Progress("answers", len(rows), len(rows) - len(todo), usage) as progress:
            await pipeline.run(todo, verdict, keep, concurrency=ROWS_IN_FLIGHT, progress=progress)
    finally:
        if model is not None:
            await model.close()
        await prover.close()
        verdicts.close()
    return note_unfinished(run, "answers", unfinished)


def _refuse_other_answers(run: RunDirectory, verdicts: Journal, rows: Sequence[dict[str, Any]]) -> None:
    """Raises `InputError` where the run has a verdict by a row's id that is not on its question and answer."""
    faults = [
        f"{run.path}: has a verdict on another {field} with the id {row['id']!r}: choose another output_dir, or "
        "--overwrite"
        for row in rows
        if (judged := verdicts.get(row["id"])) is not None
        for field in ("question", "answer")
        if judged[field] != row[field]
    ]
    if faults:
        raise InputError(*faults)


def _with_model(config: JudgeConfig, llm: LLMConfig, model: ChatModel, prover: Prover, prompts: Prompts) -> Stage:
    sampling = partial(llm.sampling, seed=config.seed)
    formaliser = Formaliser(model, prover, sampling, config.repairs, prompts)
    judge = Judge(model, prover, sampling("formaliser"), config.repairs, prompts)

    async def judged(row: dict[str, Any]) -> dict[str, Any]:
        telescope = row.get("formal")
        if telescope is not None:
            await check_in_lean(telescope, LeanSession(prover))
        else:
            question = await formaliser.formalise(Question(row["id"], row["question"], "", phase="s0"))
            if question.error is not None:
                return _lost(row, question.error)
            telescope = str(question.telescope)
        judgement = await judge.judge(row["question"], telescope, row["answer"])
        return _judged({**row, "formal": telescope}, judgement)

    return judged


async def _without_model(prover: Prover, row: dict[str, Any]) -> dict[str, Any]:
    return _judged(row, await judge_calculations(prover, row["answer"]))


def judged_rows(run: RunDirectory, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are judged, in the order of the input."""
    verdicts = run.journal("verdicts")
    found = [row for item in rows if (row := verdicts.get(item["id"])) is not None]
    verdicts.close()
    return found


def _lost(row: dict[str, Any], failure: Failure) -> dict[str, Any]:
    return {**row, "verdict": "error", "steps": [], "iterations": 0, "error": failure.to_json()}


def _judged(row: dict[str, Any], judgement: Judgement) -> dict[str, Any]:
    added = {
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "steps": [step.to_json() for step in judgement.steps],
        "iterations": len(judgement.attempts),
        "lean": judgement.lean,
    }
    error = {"error": Failure("judge", judgement.reason).to_json()} if judgement.verdict == "error" else {}
    return {**row, **added, **error}
