"""One evaluation from config to files: ask, grade, summarise, write."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval import benchmarks, page, score
from eval.equivalence import MathVerifier
from eval.lean_equivalence import compare
from eval.settings import EvaluateConfig
from rltpf import markdown as md
from rltpf.config import dump
from rltpf.errors import InputError, RunError
from rltpf.llm import build_model
from rltpf.llm.model import Message, ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.settings import ProverConfig
from rltpf.records import Problem, canonical_json
from rltpf.runs import RunDirectory, installed_versions, source_version
from rltpf.weights import NOTE, digests


def preview(config: EvaluateConfig) -> str:
    """The resolved config and the first prompt; nothing is asked and nothing written."""
    benchmark = benchmarks.BENCHMARKS[config.benchmark]
    rows = benchmarks.load(benchmark, config.dataset)
    return f"{dump(config)}\n--- first of {len(rows)} prompts (solver) ---\n{benchmark.prompt(rows[0].question)}"


def evaluate(config: EvaluateConfig, overwrite: bool = False) -> dict[str, Any]:
    """Score a model and write the run's files; the content of `metrics.json`.

    A killed run continues from its transcript, and rows that had no reply are asked again. Raises `RunError` where no
    row has one, `InputError` where the rows or the run folder cannot be used.
    """
    benchmark = benchmarks.BENCHMARKS[config.benchmark]
    rows = benchmarks.load(benchmark, config.dataset)
    with RunDirectory.open(config.output_dir, config, "evaluate", overwrite) as run:
        weights = _weights(config)
        if not overwrite:
            _refuse_other_weights(config, run, weights)
        replies = asyncio.run(_ask(config, benchmark, rows, run, weights))
        if all(any(isinstance(reply, ModelError) for reply in found) for found in replies):
            first = next(reply for reply in replies[0] if isinstance(reply, ModelError))
            raise RunError(f"no row has all its replies, the first: {first}")
        with MathVerifier() as verifier:
            samples = [
                score.grade(row, benchmark.prompt(row.question), reply, verifier, number)
                for row, found in zip(rows, replies, strict=True)
                for number, reply in enumerate(found)
            ]
        verdicts: tuple[str, ...] = score.VERDICTS
        toolchain = None
        if config.prover is not None:
            samples, toolchain = asyncio.run(_compare(config.prover, samples))
            verdicts = (*verdicts, score.RPE)
        metrics = {
            "model": config.llm.model,
            "benchmark": {"name": benchmark.name, "version": benchmark.version, "path": config.dataset.path},
            "max_tokens": config.llm.max_tokens,
            "toolchain": toolchain,
            **score.summarise(samples, verdicts),
        }
        now = datetime.datetime.now().astimezone()
        results = {
            **metrics,
            "time": now.isoformat(timespec="seconds"),
            "config": config.model_dump(mode="json"),
            "versions": installed_versions(),
            "git": source_version(),
        }
        run.write("samples.jsonl", "".join(f"{canonical_json(sample.to_json())}\n" for sample in samples))
        run.write(f"results_{now:%Y-%m-%dT%H-%M-%S}.json", _pretty(results))
        run.write("samples.html", page.render(metrics, samples))
        run.write("metrics.json", _pretty(metrics))
        run.finish()
    return metrics


def summary_table(metrics: Mapping[str, Any]) -> str:
    """The scores as Markdown: one line for each way to read and compare, then what spoils a score."""
    name, n, samples = (
        f"{metrics['benchmark']['name']} v{metrics['benchmark']['version']}",
        metrics["n"],
        metrics["samples"],
    )
    title = f"{name}, pass@1" + (f"[avg-of-{samples}]" if samples > 1 else "")
    columns = [f"{kind}@{k}" for kind in ("pass", "maj") for k in metrics["scores"]["strict"].get(f"{kind}@k", {})]
    lines = []
    for verdict, result in metrics["scores"].items():
        low, high = (f"{100 * bound:.1f}" for bound in result["interval_95"])
        right = f"{result['right']} / {n * samples}"
        line = [verdict, right, f"{100 * result['pass@1']:.1f}", _percent(result["stderr"]), f"{low} to {high}"]
        for column in columns:
            kind, _, k = column.partition("@")
            estimate = result[f"{kind}@k"][k]
            line.append(f"{100 * estimate['value']:.1f} ± {_percent(estimate['stderr'])}")
        lines.append(tuple(line))
    missing = metrics["no_answer"]
    failed = f" Rows without all replies, and in no score: {metrics['failed']}." if metrics["failed"] else ""
    return (
        f"{md.table((title, 'right', '%', '±', '95 % interval', *columns), lines)}\n\n"
        f"No answer found: {missing['strict']} strict, {missing['lenient']} lenient, of {n * samples}. "
        f"Cut by max_tokens ({metrics['max_tokens']}): {metrics['cut_by_max_tokens']}.{failed}"
    )


def _percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f}"


async def _compare(config: ProverConfig, samples: list[score.Sample]) -> tuple[list[score.Sample], str]:
    """The samples with Lean's word on them, and which Lean."""
    prover = build_prover(config)
    try:
        return await compare(prover, samples, 2 * config.workers), prover.toolchain_id
    finally:
        await prover.close()


async def _ask(
    config: EvaluateConfig,
    benchmark: benchmarks.Benchmark,
    rows: Sequence[Problem],
    run: RunDirectory,
    weights: Mapping[str, str],
) -> list[list[score.Reply]]:
    model = build_model(config.llm, run.transcript)
    run.begin()
    if weights:
        run.write(NOTE, _pretty(weights))
    show_opening(run, config, "solver", [Message("user", benchmark.prompt(rows[0].question))])
    # Greedy replies need no seed, and a request with one would be another in the transcript.
    sampling = config.llm.sampling("solver", config.seed if config.samples > 1 else None)
    total, concurrency = len(rows) * config.samples, config.llm.max_concurrent
    try:
        with Progress(f"{benchmark.name} with {model.name}", total, usage=model.usage) as progress:
            return await score.ask(rows, benchmark.prompt, model, sampling, config.samples, concurrency, progress)
    finally:
        await model.close()


def _weights(config: EvaluateConfig) -> dict[str, str]:
    """The files of a local model's weights, and their digests."""
    folder = Path(config.llm.model)
    if config.llm.backend not in ("transformers", "vllm") or not folder.is_dir():
        return {}
    return digests(folder)


def _refuse_other_weights(config: EvaluateConfig, run: RunDirectory, weights: Mapping[str, str]) -> None:
    """A transcript knows a local model by its folder alone: retrained weights would get their predecessors' score."""
    note = run.path / NOTE
    if weights and note.exists() and json.loads(note.read_text(encoding="utf-8")) != weights:
        raise InputError(
            f"{run.path}: holds replies of other weights than those now in {config.llm.model}: "
            "pass --overwrite, or choose another output_dir"
        )


def _pretty(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
