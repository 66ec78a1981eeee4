"""`quality compare`: is a generated problem well-defined, feasible, and is its answer right?

Source: RePro, section 4, the criteria of tables 1 and 3. The judge is a model that sees the problem alone: it does not
know which method made it, nor the answer, which is compared with its own by math-verify. Killed at any moment, it goes
on where it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from data_gen.records import Reply
from eval.equivalence import MathVerifier
from eval.quality.runs import Runs, key, made
from eval.quality.settings import QualityConfig
from eval.rewrite.records import Rewrite
from rltpf import pipeline
from rltpf.llm import build_model
from rltpf.llm.model import ChatModel, ModelError, Request
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prompting import Prompts
from rltpf.records import Failure, Record
from rltpf.runs import RunDirectory
from rltpf.unfinished import note_unfinished

PROMPTS = Prompts(Path(__file__).parent / "prompts")
CRITERIA = ("well_defined", "feasible", "correct")
JOURNAL = "judgements"


class Opinion(Reply):
    analysis: str
    well_defined: Literal["yes", "no"]
    feasible: Literal["yes", "no"]
    answer: str


@dataclass(frozen=True)
class Judgement(Record):
    """What is said of a problem with an answer. Each criterion needs those before it: only a feasible problem has a
    correct answer. `own` is the judge's answer. `unreadable`: its reply cannot be read, and says neither yes nor no."""

    id: str
    well_defined: bool
    feasible: bool
    correct: bool
    own: str = ""
    analysis: str = ""
    unreadable: bool = False


def generated(runs: Runs) -> dict[str, Rewrite]:
    """The problems of all runs by their key, those that several made once."""
    return {key(rewrite): rewrite for run in runs.values() for c in run if (rewrite := made(c)) is not None}


async def judge_runs(config: QualityConfig, run: RunDirectory, runs: Runs) -> int:
    """Judge the problems that are not judged yet and journal each; the exit code, 1 where the model failed."""
    model = build_model(config.llm, run.transcript)
    run.begin()
    journal = run.journal(JOURNAL)
    verifier = MathVerifier()
    unfinished: list[Failure] = []

    async def judge(item: tuple[str, Rewrite]) -> Judgement | None:
        name, rewrite = item
        try:
            opinion = await _opinion(config, model, rewrite.question)
        except ModelError as error:
            unfinished.append(Failure(name, type(error).__name__, str(error)))
            return None
        return _judged(name, rewrite.answer, opinion, verifier)

    def keep(judgement: Judgement | None) -> None:
        if judgement is not None:
            journal.append(judgement.to_json())

    problems = generated(runs)
    todo = [(name, rewrite) for name, rewrite in problems.items() if name not in journal]
    try:
        if todo:
            show_opening(run, config, "judge: judge", PROMPTS.messages("judge", question=todo[0][1].question))
        with Progress("problems", len(problems), len(problems) - len(todo), model.usage) as progress:
            await pipeline.run(todo, judge, keep, concurrency=config.llm.max_concurrent, progress=progress)
    finally:
        await model.close()
        verifier.close()
        journal.close()
    return note_unfinished(run, "problems", unfinished)


async def _opinion(config: QualityConfig, model: ChatModel, question: str) -> Opinion | None:
    """What the judge says; None where it cannot be read."""
    sampling = dataclasses.replace(config.llm.sampling("judge", config.seed), temperature=0.0)
    messages = PROMPTS.messages("judge", question=question)
    try:
        return await complete_json(
            model, Request("judge", messages, sampling, Opinion.model_json_schema()), Opinion.model_validate
        )
    except MalformedReply:
        return None


def _judged(name: str, answer: str, opinion: Opinion | None, verifier: MathVerifier) -> Judgement:
    if opinion is None:
        return Judgement(name, well_defined=False, feasible=False, correct=False, unreadable=True)
    well_defined = opinion.well_defined == "yes"
    feasible = well_defined and opinion.feasible == "yes"
    correct = feasible and bool(verifier.equal(answer, opinion.answer))
    return Judgement(name, well_defined, feasible, correct, opinion.answer, opinion.analysis)


def read_judgements(run: RunDirectory, names: Iterable[str]) -> dict[str, Judgement]:
    """The judgements of these problems, as far as there are any."""
    journal = run.journal(JOURNAL)
    found = {name: Judgement.from_json(row) for name in names if (row := journal.get(name)) is not None}
    journal.close()
    return found
