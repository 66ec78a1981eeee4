"""`rewrite`: a benchmark's problems become new ones with proved answers. Killed at any moment, it continues where it
was."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from data_gen.export import to_jsonl
from data_gen.questions import plain
from data_gen.tables import expense
from eval.baselines.methods import Baseline
from eval.equivalence import MathVerifier
from eval.rewrite import release, sampling, tables
from eval.rewrite.metrics import summarise
from eval.rewrite.prompting import build_prompts, home_of
from eval.rewrite.records import Candidate
from eval.rewrite.rewriter import rewrite_problem
from eval.rewrite.settings import RewriteConfig
from eval.rewrite.stages import Stages
from rltpf import pipeline
from rltpf.datasets import load_problems
from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.model import ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.session import InfraError
from rltpf.prover.toolchains import header_of
from rltpf.records import Failure, Problem
from rltpf.runs import Journal, RunDirectory
from rltpf.shards import WHOLE, Shard, note_input
from rltpf.unfinished import note_unfinished

COMMAND = "rewrite"


def load_source(config: RewriteConfig) -> list[Problem]:
    """The source's problems; raises `InputError` also where they have no levels to be told apart by."""
    problems = load_problems(config.dataset)
    level = config.level_column
    if level is not None and (lacking := [p for p in problems if not isinstance(p.extra.get(level), str | int)]):
        columns = ", ".join(lacking[0].extra) or "none besides question and answer"
        raise InputError(
            f"{config.dataset.path}: {len(lacking)} of {len(problems)} rows have no text or number in the column "
            f"{level!r}: set level_column to one of: {columns}"
        )
    return problems


async def rewrite(config: RewriteConfig, run: RunDirectory, shard: Shard = WHOLE) -> int:
    """Run or continue a rewriting, or a part of one; writes the data set and `metrics.json`. The exit code."""
    started = time.monotonic()
    problems = load_source(config)
    prover = build_prover(config.prover)
    prompts = build_prompts(home_of(config), config.prompts, prover.library)
    model = build_model(config.llm, run.transcript)
    verifier = MathVerifier()
    run.begin(prover.toolchain_id)
    journal = run.journal("candidates")
    stages = Stages(config, model, prompts, {plain(problem.question) for problem in problems})
    baseline = Baseline(config, model, prompts, verifier)
    proving = config.method == "repro"
    first = "rewrite" if proving else config.method
    repeated = _repeated(problems)
    unfinished: dict[str, Failure] = {}

    async def process(problem: Problem) -> Candidate | None:
        level = sampling.level_of(problem, config.level_column)
        candidate = Candidate(problem.id, problem.question, problem.answer, source_of(config), level)
        if problem.id in repeated:
            error = Failure("source", "duplicate", "an earlier row asks the same question")
            return dataclasses.replace(candidate, error=error)
        try:
            if proving:
                return await rewrite_problem(candidate, stages, prover, config.rewrites)
            return await baseline.make(candidate)
        except (InfraError, ModelError) as error:
            unfinished[problem.id] = Failure(problem.id, type(error).__name__, str(error))
            return None

    def keep(candidate: Candidate | None) -> None:
        if candidate is not None:
            journal.append(candidate.to_json())

    def fate(problem: Problem) -> sampling.Fate | None:
        return "open" if problem.id in unfinished else _fate(journal, problem)

    held = [problem for problem in problems if shard.holds(problem.id)]
    target = sampling.share(config.target, shard)
    strata = list(sampling.strata(held, config.level_column, config.seed).values())
    try:
        concurrency = pipeline.in_flight(config.llm.max_concurrent, config.prover.workers)
        with Progress("candidates", None, len(journal), model.usage) as progress:
            shown = False
            while todo := [p for order in strata for p in sampling.drawn(order, fate, target) if fate(p) is None]:
                if not shown:
                    messages = prompts.messages(first, question=todo[0].question)
                    show_opening(run, config, f"rewriter: {first}", messages)
                    shown = True
                await pipeline.run(todo, process, keep, concurrency=concurrency, progress=progress)
        tried = [p.id for order in strata for p in sampling.drawn(order, fate, target)]
        metrics = write_data_set(run, config, tried, journal, prover.toolchain_id, len(unfinished))
        if shard != WHOLE:
            note_input(run, [problem.id for problem in problems], shard)
        metrics["llm"] = model.usage.to_json()
        metrics["prompts"] = prompts.versions
        metrics["lean"]["toolchain"] = prover.toolchain_id
        metrics["prover_failures"]["infrastructure"] = sum(f.reason == "InfraError" for f in unfinished.values())
        metrics["wall_seconds"] = round(time.monotonic() - started, 1)
    finally:
        await model.close()
        await prover.close()
        verifier.close()
        journal.close()
    return report(run, metrics, list(unfinished.values()))


def source_of(config: RewriteConfig) -> str:
    """What the problems are from, in a word."""
    return config.dataset.preset or Path(config.dataset.path).stem


def _repeated(problems: Sequence[Problem]) -> set[str]:
    """The problems whose question an earlier row has."""
    seen: Counter[str] = Counter()
    found = set()
    for problem in problems:
        words = plain(problem.question)
        if seen[words]:
            found.add(problem.id)
        seen[words] += 1
    return found


def _fate(journal: Journal, problem: Problem) -> sampling.Fate | None:
    row = journal.get(problem.id)
    if row is None:
        return None
    return "lost" if row["error"] is not None else "kept"


def write_data_set(
    run: RunDirectory, config: RewriteConfig, tried: Sequence[str], journal: Journal, toolchain: str, unfinished: int
) -> dict[str, Any]:
    """Write the data set, in the order of drawing whatever the order of the work was; the run's metrics."""
    found = [Candidate.from_json(row) for identity in tried if (row := journal.get(identity)) is not None]
    proving = config.method == "repro"
    metrics = summarise(found, config.proofs if proving else 0)
    rows = release.proved_rows(found, header_of(config.prover), toolchain) if proving else release.rows(found)
    run.write(f"data/{release.FILE}", to_jsonl(rows))
    run.write("data/README.md", release.card(metrics, source_of(config), toolchain, config.method))
    candidates = metrics["candidates"]
    ended = {**candidates["ended"], "unfinished": unfinished}
    pipeline.conserve("candidates", len(tried), candidates["kept"], ended)
    candidates["unfinished"] = unfinished
    return metrics


def report(run: RunDirectory, metrics: dict[str, Any], unfinished: Sequence[Failure] = ()) -> int:
    """Write `metrics.json` and say what there is; the exit code, 1 where candidates are unfinished."""
    run.write("metrics.json", json.dumps(metrics, indent=1, ensure_ascii=False) + "\n")
    console = Console()
    for table in (tables.outcome(metrics), tables.rates(metrics), tables.failures(metrics), expense(metrics)):
        console.print(table)
        console.print()
    print(f"{run.path / 'data' / release.FILE}: {metrics['candidates']['kept']} problems")
    code = note_unfinished(run, "candidates", unfinished)
    if code == 0:
        run.finish()
    return code
