"""`generate`: seed problems become judged answers, and these become data sets. Killed at any moment, it continues
where it was."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from rich.console import Console

from data_gen import tables
from data_gen.allocate import allocate
from data_gen.answers import sample_answer
from data_gen.card import card
from data_gen.config import GenerateConfig
from data_gen.decontamination import EvaluationSets, index
from data_gen.dry_run import first_prompt
from data_gen.export import contaminated, data_sets, save_folder, to_jsonl
from data_gen.formalize import Formaliser
from data_gen.judge import Judge
from data_gen.metrics import summarise
from data_gen.prompting import Prompts
from data_gen.questions import plain, reverse, without_repeats
from data_gen.records import Answer, Question
from rltpf import pipeline
from rltpf.datasets import load_problems
from rltpf.llm import build_model
from rltpf.llm.model import ChatModel, ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.prover import Prover
from rltpf.prover.session import InfraError
from rltpf.records import Failure, Problem, content_id
from rltpf.runs import Journal, RunDirectory
from rltpf.shards import WHOLE, Shard, note_input
from rltpf.unfinished import note_unfinished


class Generation:
    """One generate run: the journals hold what is finished, everything else can be made again."""

    def __init__(
        self,
        config: GenerateConfig,
        model: ChatModel,
        prover: Prover,
        prompts: Prompts,
        evaluation: EvaluationSets,
        questions: Journal,
        answers: Journal,
    ) -> None:
        sampling = partial(config.llm.sampling, seed=config.seed)
        self._config = config
        self._model = model
        self._prompts = prompts
        self._evaluation = evaluation
        self._sampling = sampling
        self._formaliser = Formaliser(model, prover, sampling, config.repairs, prompts)
        self._judge = Judge(model, prover, sampling("formaliser"), config.repairs, prompts)
        self._questions = questions
        self._answers = answers
        self.unfinished: list[Failure] = []
        """Items that infrastructure kept from a verdict; they are in no journal, so the next start takes them up
        again."""

    async def process(self, problem: Problem) -> Question | None:
        """Take one problem through its phases and its answers through the judge; None where infrastructure failed."""
        try:
            question = await self._question(problem)
            if question.kept:
                for number in range(self._config.answers_per_question):
                    await self._answer(question, number)
        except (InfraError, ModelError) as error:
            self.unfinished.append(Failure(problem.id, type(error).__name__, str(error)))
            return None
        return question

    async def _question(self, problem: Problem) -> Question:
        row = self._questions.get(problem.id)
        if row is not None:
            return Question.from_json(row)
        if self._config.strategy == "reverse_qa":
            question = await reverse(problem, self._model, self._sampling("generator"), self._prompts)
            if question.kept and (error := self._evaluation.contamination(question.question)):
                question = dataclasses.replace(question, phase="seed", error=error)
        else:
            question = Question(problem.id, problem.question, problem.answer, phase="s0")
        if question.kept:
            question = await self._formaliser.formalise(question)
        self._questions.append(question.to_json())
        return question

    async def _answer(self, question: Question, number: int) -> None:
        identity = content_id(question.id, number)
        if identity in self._answers:
            return
        assert question.telescope is not None
        text = await sample_answer(self._model, question.question, number, self._sampling("solver"), self._prompts)
        judgement = await self._judge.judge(question.question, question.telescope, text)
        answer = Answer(
            id=identity,
            question_id=question.id,
            number=number,
            question=question.question,
            answer=text,
            verdict=judgement.verdict,
            reason=judgement.reason,
            steps=judgement.steps,
            attempts=judgement.attempts,
            lean=judgement.lean,
            usage=judgement.usage,
        )
        self._answers.append(answer.to_json())


async def generate(config: GenerateConfig, run: RunDirectory, shard: Shard = WHOLE) -> int:
    """Run or continue a generation, or a part of one; writes the data sets and `metrics.json`. The exit code."""
    started = time.monotonic()
    problems = load_problems(config.dataset)
    evaluation = _evaluation_sets(config)
    prover = build_prover(config.prover)
    prompts = Prompts(config.prompts, prover.library)
    model = build_model(config.llm, run.transcript)
    run.begin(prover.toolchain_id)
    questions, answers = run.journal("questions"), run.journal("answers")
    try:
        generation = Generation(config, model, prover, prompts, evaluation, questions, answers)
        fresh = _journal_lost(problems, questions, shard, evaluation)
        todo = [p for p in fresh if not _is_done(p, questions, answers, config.answers_per_question)]
        if todo:
            show_opening(run, config, *first_prompt(config, todo[0], prompts))
        with Progress("questions", len(fresh), len(fresh) - len(todo), model.usage) as progress:
            concurrency = pipeline.in_flight(config.llm.max_concurrent, config.prover.workers)
            await pipeline.run(todo, generation.process, lambda _: None, concurrency=concurrency, progress=progress)
        ids = [problem.id for problem in problems]
        held = [identity for identity in ids if shard.holds(identity)]
        metrics = write_data_sets(run, config, held, questions, answers, len(generation.unfinished))
        if shard != WHOLE:
            note_input(run, ids, shard)
        metrics["llm"] = model.usage.to_json()
        metrics["prompts"] = prompts.versions
        metrics["lean"]["toolchain"] = prover.toolchain_id
        metrics["wall_seconds"] = round(time.monotonic() - started, 1)
    finally:
        await model.close()
        await prover.close()
        questions.close()
        answers.close()
    return report(run, config, metrics, generation.unfinished)


def _is_done(problem: Problem, questions: Journal, answers: Journal, samples: int) -> bool:
    row = questions.get(problem.id)
    if row is None:
        return False
    return row["error"] is not None or all(content_id(problem.id, number) in answers for number in range(samples))


def _evaluation_sets(config: GenerateConfig) -> EvaluationSets:
    questions = (
        (dataset.title, [problem.question for problem in load_problems(dataset)])
        for dataset in config.decontaminate.datasets
    )
    return index(questions, config.decontaminate.ngram_size)


def _journal_lost(
    problems: Iterable[Problem], questions: Journal, shard: Shard, evaluation: EvaluationSets
) -> list[Problem]:
    """The shard's problems whose question did not occur before, in any shard, and is none of the evaluation sets'; its
    others are journalled as lost at s0."""
    seen: set[str] = set()
    fresh = []
    for problem in problems:
        words = plain(problem.question)
        repeated = words in seen
        seen.add(words)
        if not shard.holds(problem.id):
            continue
        if repeated:
            error: Failure | None = Failure("s0", "duplicate", "an earlier row asks the same question")
        else:
            error = evaluation.contamination(problem.question)
        if error is None:
            fresh.append(problem)
        elif problem.id not in questions:
            questions.append(Question(problem.id, problem.question, problem.answer, error=error).to_json())
    return fresh


def write_data_sets(
    run: RunDirectory,
    config: GenerateConfig,
    ids: Sequence[str],
    questions: Journal,
    answers: Journal,
    unfinished: int,
) -> dict[str, Any]:
    """Write the data sets, in the order of the input whatever the order of the work was; the run's metrics."""
    finished = without_repeats(
        Question.from_json(row) for identity in ids if (row := questions.get(identity)) is not None
    )
    judged: list[Answer] = []
    allocations = []
    for question in finished:
        numbers = range(config.answers_per_question)
        rows = [row for n in numbers if (row := answers.get(content_id(question.id, n))) is not None]
        # A question with an answer missing has no row in table 1 yet.
        if question.kept and len(rows) == len(numbers):
            samples = [Answer.from_json(row) for row in rows]
            judged += samples
            allocations.append(allocate(samples))
    exported = data_sets(allocations)
    for kind, found in exported.items():
        run.write(f"{kind}.jsonl", to_jsonl(found))
    if config.decontaminate.datasets:
        run.write("contaminated.jsonl", contaminated(finished))
    judged_ids = {answer.question_id for answer in judged}
    complete = [question for question in finished if not question.kept or question.id in judged_ids]
    metrics = summarise(complete, judged, allocations)
    metrics["rows"] = {kind: len(found) for kind, found in exported.items()}
    kept, verdicts = metrics["questions"]["kept"], metrics["answers"]
    lost = {**metrics["questions"]["lost"], "unfinished": unfinished}
    pipeline.conserve("questions", len(ids), kept, lost)
    refused = {verdict: verdicts[verdict] for verdict in ("false", "error")}
    pipeline.conserve("answers", kept * config.answers_per_question, verdicts["verified"], refused)
    metrics["questions"]["unfinished"] = unfinished
    return metrics


def report(
    run: RunDirectory, config: GenerateConfig, metrics: dict[str, Any], unfinished: Sequence[Failure] = ()
) -> int:
    """Write `metrics.json` and the folder of data sets, and say what there is; the exit code, 1 where problems are
    unfinished."""
    run.write("metrics.json", json.dumps(metrics, indent=1, ensure_ascii=False) + "\n")
    console = Console()
    for table in (tables.outcome(metrics), tables.expense(metrics)):
        console.print(table)
        console.print()
    files = {kind: run.path / f"{kind}.jsonl" for kind in metrics["rows"]}
    for kind, count in metrics["rows"].items():
        print(f"{files[kind]}: {count} {'pairs' if kind == 'dpo' else 'rows'}")
    if config.decontaminate.datasets:
        lost = metrics["questions"]["lost"].get("s0:contaminated", 0)
        print(f"{run.path / 'contaminated.jsonl'}: {lost} questions that share words with the evaluation sets")
    # The parts of a divided run are nobody's data set.
    if config.shard_id is None:
        save_folder(run.path / "dataset", files, card(config, metrics))
        print(f"{run.path / 'dataset'}: the same for datasets.load_from_disk, with a card")
    code = note_unfinished(run, "problems", unfinished)
    if code == 0:
        run.finish()
    return code
