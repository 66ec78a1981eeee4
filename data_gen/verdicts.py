"""`judge`: verdicts on answers that somebody else sampled, row by row."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data_gen.config import JudgeConfig
from data_gen.dry_run import first_judging_prompt
from data_gen.formal import Refusal, check_telescope
from data_gen.formalize import Formaliser, check_in_lean
from data_gen.judge import Judge
from data_gen.prompting import Prompts
from data_gen.records import Judgement, Question
from rltpf import pipeline
from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.model import ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.session import InfraError, LeanSession
from rltpf.records import Failure
from rltpf.runs import RunDirectory, write_atomically
from rltpf.unfinished import note_unfinished

ROWS_IN_FLIGHT = 32


def read_rows(source: str) -> list[dict[str, Any]]:
    """The rows of a JSONL file or, for `-`, of standard input; raises `InputError` with a line for every fault."""
    path = Path("/dev/stdin" if source == "-" else source)
    rows: list[dict[str, Any]] = []
    faults: list[str] = []
    seen: set[str] = set()
    for place, row in read_jsonl(path):
        fault = row if isinstance(row, str) else _fault(row, seen)
        if fault:
            faults.append(f"{place}: {fault}")
        elif isinstance(row, dict):
            seen.add(row["id"])
            rows.append(row)
    if faults:
        raise InputError(*faults)
    if not rows:
        raise InputError(f"{source}: holds no rows")
    return rows


def _fault(row: dict[str, Any], seen: set[str]) -> str:
    for field in ("id", "question", "answer"):
        if not isinstance(row.get(field), str) or not row[field].strip():
            return f"{field} has to be a text, and is {row.get(field)!r}"
    if not is_text(row):
        return "holds a lone surrogate, which is half a character"
    if row["id"] in seen:
        return f"a second row with the id {row['id']!r}"
    if row.get("formal") is not None:
        if not isinstance(row["formal"], str):
            return f"formal has to be a text, and is {row['formal']!r}"
        try:
            check_telescope(row["formal"])
        except Refusal as refusal:
            return f"formal: {refusal}"
    return ""


def refuse_output(output: str) -> None:
    """Raises `InputError` where the rows could not be written in the end: better before the work than after it."""
    path = Path(output)
    if output != "-" and (path.is_dir() or not os.access(path.parent, os.W_OK)):
        raise InputError(f"{output}: cannot be written: --output takes a file in a folder that is there")


async def judge_rows(config: JudgeConfig, run: RunDirectory, rows: Sequence[dict[str, Any]]) -> int:
    """Judge the rows that have no verdict yet and journal each; the exit code, 1 where infrastructure kept some from
    a verdict."""
    sampling = partial(config.llm.sampling, seed=config.seed)
    prover = build_prover(config.prover)
    prompts = Prompts(config.prompts, prover.library)
    model = build_model(config.llm, run.transcript)
    run.begin(prover.toolchain_id)
    verdicts = run.journal("verdicts")
    formaliser = Formaliser(model, prover, sampling, config.repairs, prompts)
    judge = Judge(model, prover, sampling("formaliser"), config.repairs, prompts)
    unfinished: list[Failure] = []

    async def verdict(row: dict[str, Any]) -> dict[str, Any] | None:
        try:
            telescope = row.get("formal")
            if telescope is not None:
                await check_in_lean(telescope, LeanSession(prover))
            else:
                question = await formaliser.formalise(Question(row["id"], row["question"], "", phase="s0"))
                if question.error is not None:
                    return _lost(row, question.error)
                telescope = question.telescope
            return _judged(row, str(telescope), await judge.judge(row["question"], str(telescope), row["answer"]))
        except Refusal as refusal:
            return _lost(row, Failure("s2", refusal.reason, str(refusal)))
        except (InfraError, ModelError) as error:
            unfinished.append(Failure(row["id"], type(error).__name__, str(error)))
            return None

    def keep(result: dict[str, Any] | None) -> None:
        if result is not None:
            verdicts.append(result)

    try:
        todo = [row for row in rows if row["id"] not in verdicts]
        if todo:
            show_opening(run, config, *first_judging_prompt(todo[0], prompts))
        with Progress("answers", len(rows), len(rows) - len(todo), model.usage) as progress:
            await pipeline.run(todo, verdict, keep, concurrency=ROWS_IN_FLIGHT, progress=progress)
    finally:
        await model.close()
        await prover.close()
        verdicts.close()
    return note_unfinished(run, "answers", unfinished)


def write_rows(run: RunDirectory, rows: Sequence[dict[str, Any]], output: str) -> None:
    """Write the judged rows in the order of the input."""
    verdicts = run.journal("verdicts")
    found = [row for item in rows if (row := verdicts.get(item["id"])) is not None]
    verdicts.close()
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found)
    if output == "-":
        print(text, end="")
    else:
        write_atomically(Path(output), text)


def _lost(row: dict[str, Any], failure: Failure) -> dict[str, Any]:
    return {**row, "verdict": "error", "steps": [], "iterations": 0, "error": failure.to_json()}


def _judged(row: dict[str, Any], telescope: str, judgement: Judgement) -> dict[str, Any]:
    added = {
        "formal": telescope,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "steps": [step.to_json() for step in judgement.steps],
        "iterations": len(judgement.attempts),
        "lean": judgement.lean,
    }
    error = {"error": Failure("judge", judgement.reason).to_json()} if judgement.verdict == "error" else {}
    return {**row, **added, **error}
