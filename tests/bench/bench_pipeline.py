"""What the core adds to the work of models and of Lean: schedule, rate and memory of a pipeline of six stages.

    python tests/bench/bench_pipeline.py [--items 2000] [--many 100000]

The model and the prover are stand-ins that only wait; transcript, cache, journal and driver are the real ones. Times
are given against the least time that the busiest of the two needs for the work.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from rltpf import pipeline
from rltpf.journal import Journal
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import Completion, Message, Request
from rltpf.llm.transcript import Transcript
from rltpf.records import content_id

MODEL_SLOTS, MODEL_SECONDS = 64, 0.2
WORKERS, PROVER_SECONDS = 2, 0.02
# Formalise, elaborate, tell again, align, answer, judge: each asks the model, the second and the last Lean as well.
STAGES = ("s1", "s2", "s3", "s4", "answer", "judge")
PROVED = ("s2", "judge")
INSTRUCTIONS = "Say in Lean what the text says. " * 20


class Model:
    """Answers so many at once, each after so long."""

    name = "fake"

    def __init__(self, seconds: float) -> None:
        self._slots = asyncio.Semaphore(MODEL_SLOTS)
        self._seconds = seconds

    async def complete(self, request: Request) -> Completion:
        if self._seconds:
            async with self._slots:
                await asyncio.sleep(self._seconds)
        return Completion(f"reply to {request.messages[-1].content}", prompt_tokens=200, completion_tokens=10)

    async def close(self) -> None:
        pass


async def run(items: int, model_seconds: float, prover_seconds: float, folder: Path) -> float:
    """The seconds that so many items take through the six stages."""
    model = CachedModel(Model(model_seconds), Transcript(folder / "transcript.jsonl"))
    workers = ThreadPoolExecutor(WORKERS)  # as the prover has them
    journal = Journal(folder / "items.jsonl")

    def source() -> Iterator[str]:
        return (content_id(number) for number in range(items))

    async def stage(item: str) -> dict[str, Any]:
        text = item
        for name in STAGES:
            request = Request(name, (Message("system", INSTRUCTIONS), Message("user", f"{name}: {text}")))
            text = (await model.complete(request)).text
            if name in PROVED and prover_seconds:
                await asyncio.get_running_loop().run_in_executor(workers, time.sleep, prover_seconds)
        return {"id": item, "text": text}

    began = time.perf_counter()
    try:
        concurrency = pipeline.in_flight(MODEL_SLOTS, WORKERS)
        await pipeline.run(source(), stage, journal.append, concurrency=concurrency)
        seconds = time.perf_counter() - began
        assert len(journal) == items
        return seconds
    finally:
        workers.shutdown()
        await model.close()
        journal.close()


def slept(seconds: float, times: int = 100) -> float:
    """What a sleep of `seconds` takes on this machine when nothing else runs: timers of virtual machines are late."""
    began = time.perf_counter()
    for _ in range(times):
        time.sleep(seconds)
    return (time.perf_counter() - began) / times


def bound(items: int) -> float:
    """Seconds that the busiest resource needs at least."""
    return items * max(len(STAGES) * MODEL_SECONDS / MODEL_SLOTS, len(PROVED) * slept(PROVER_SECONDS) / WORKERS)


def in_own_process(items: int) -> tuple[float, float]:
    """Items a second without latency, and the peak of memory in MiB."""
    command = [sys.executable, __file__, "--measure", str(items)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rate, peak = map(float, answer.stdout.split())
    return rate, peak


def measure(items: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(run(items, 0, 0, Path(folder)))
    print(items / seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    least = bound(args.items)
    with tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(run(args.items, MODEL_SECONDS, PROVER_SECONDS, Path(folder)))
    few_rate, few_peak = in_own_process(1000)
    many_rate, many_peak = in_own_process(args.many)
    table = Table("what", "found", "goal", title=f"the pipeline, six stages, {os.cpu_count()} CPUs")
    table.add_row(f"{args.items:,} items, seconds", f"{seconds:.1f} (at least {least:.1f})", "")
    table.add_row("against the bound of the busiest", f"{seconds / least:.3f}", "< 1.05")
    table.add_row("no latency, 1,000 items", f"{few_rate:,.0f} items/s", "> 1,000")
    table.add_row(f"no latency, {args.many:,} items", f"{many_rate:,.0f} items/s", "> 1,000")
    table.add_row("peak memory, 1,000 items", f"{few_peak:.0f} MiB", "")
    table.add_row(f"peak memory, {args.many:,} items", f"{many_peak:.0f} MiB", "flat")
    Console().print(table)


if __name__ == "__main__":
    main()
