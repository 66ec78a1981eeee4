"""What a check costs on the embedded Lean, beside lean-interact's pool and beside a fresh environment for each check.

    python tests/bench/bench_prover.py [--checks 2000]

One Lean process at a time, all in one run, and ratios, since the machine may be busy with something else.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lean_interact import Command, LeanREPLConfig, LeanServerPool
from lean_interact.interface import CommandResponse
from rich.console import Console
from rich.table import Table

from rltpf.prover import resources
from rltpf.prover.answer import Answer
from rltpf.prover.prover import Prover, limited
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import Toolchain, find_toolchain
from rltpf.prover.worker import Worker

HEARTBEATS = 200_000
COMPARED = 400
# Each takes memory that the plain command never gives back: forty of them pass what WebAssembly has.
FRESH = 8
IN_FLIGHT = 64
TIMEOUT = 120
# The judge's own options, for those that do not go through it.
OPTIONS = limited("set_option autoImplicit false", HEARTBEATS)


@dataclass(frozen=True)
class Case:
    statement: str
    proof: str

    @property
    def submission(self) -> str:
        return f"{self.statement} := by\n  {self.proof}"


def cases(count: int) -> list[Case]:
    """Steps of word problems, each with a number of its own, in four shapes."""
    shapes = (
        ("(x y : Rat) (h1 : x = {n}) (h2 : y = x / 2 + 1) : y = {n} / 2 + 1", "subst h1 h2; decide +kernel"),
        ("(a b : Int) (h1 : a + b = {n}) (h2 : a - b = 4) : 2 * a = {n} + 4", "omega"),
        ("(x : Rat) (h : x + x / 2 = {n}) : 3 * x = 2 * {n}", "grind"),
        ("(x : Nat) (h : x = {n}) : x < {n} + 1", "simp [h]"),
    )
    numbered = ((number, *shapes[number % len(shapes)]) for number in range(count))
    return [Case(f"theorem step {shape}".format(n=number), proof) for number, shape, proof in numbered]


class Meter:
    """A worker that notes the time inside Lean and the memory of its process."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.inside: list[float] = []
        self.memory: list[int] = []

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        answer = self.worker.ask(command, arguments)
        self.inside.append(answer.seconds)
        if len(self.inside) % 50 == 1 and self.worker.pid is not None:
            self.memory.append(resources.own_bytes(self.worker.pid))
        return answer

    def close(self) -> None:
        self.worker.close()


@dataclass(frozen=True)
class Found:
    """What the run of our prover showed; seconds and bytes."""

    start: float
    overhead: list[float]
    busy: float
    seconds: float
    memory: list[int]
    renewed: int


async def ours(toolchain: Toolchain, checks: Sequence[Case]) -> Found:
    """Some checks one after the other, for what the framework adds to each; then all, for the share of time in Lean."""
    meter = Meter(Worker(replace(toolchain, header=limited(toolchain.header, HEARTBEATS)), TIMEOUT))
    prover = Prover(toolchain, [meter], HEARTBEATS)

    async def check(case: Case) -> float:
        began = time.perf_counter()
        report = await prover.check(case.statement, case.submission)
        assert report.verified, (case, report)
        return time.perf_counter() - began

    try:
        start = await check(cases(1)[0])
        overhead = [await check(case) - meter.inside[-1] for case in checks[:COMPARED]]
        meter.inside, meter.memory = [], []
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def in_turn(case: Case) -> None:
            async with slots:
                await check(case)

        began = time.perf_counter()
        await asyncio.gather(*map(in_turn, checks))
        seconds = time.perf_counter() - began
        busy = sum(meter.inside) / seconds
        return Found(start, overhead, busy, seconds / len(checks), meter.memory, meter.worker.starts - 1)
    finally:
        await prover.close()


def a_check(run: Callable[[Case], None], checks: Sequence[Case]) -> float:
    """Seconds a check, one after the other."""
    began = time.perf_counter()
    for case in checks:
        run(case)
    return (time.perf_counter() - began) / len(checks)


def theirs(toolchain: Toolchain, checks: Sequence[Case]) -> tuple[float, float]:
    """Seconds a check of lean-interact's pool, on the plain command of the same process: in the environment of a header
    that was imported once, and with an environment of its own for each check."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        environment = [f"{name}={value}" for name, value in toolchain.environment.items()]
        start = shlex.join(["env", "-i", *environment, *toolchain.command])
        lake.write_text(f"#!/bin/sh\ncd {shlex.quote(str(toolchain.folder))}\nexec {start}\n")
        lake.chmod(0o755)
        config = LeanREPLConfig(
            local_repl_path=toolchain.folder,
            build_repl=False,
            lake_path=lake,
            enable_parallel_elaboration=False,
            enable_incremental_optimization=False,
        )
        # Its servers refuse to work while the whole machine's memory is above a share, which here means nothing.
        with LeanServerPool(config, num_workers=1, max_total_memory=1.0) as pool:

            def run(text: str, env: int | None = None) -> int:
                response = pool.run(Command(cmd=text, env=env), timeout=TIMEOUT)
                assert isinstance(response, CommandResponse), response
                assert response.lean_code_is_valid(allow_sorry=False), (text, response)
                return response.env

            header = run(OPTIONS)
            reused = a_check(lambda case: (run(case.submission, header), None)[1], checks[:COMPARED])
            fresh = a_check(lambda case: (run(f"{OPTIONS}\n{case.submission}"), None)[1], checks[:FRESH])
            return reused, fresh


def print_table(found: Found, reused: float, fresh: float, checks: int) -> None:
    table = Table("what", "found", "goal", title="the prover on the embedded Lean")
    overhead = statistics.mean(found.overhead)
    table.add_row("framework's own time a check", f"{overhead * 1000:.2f} ms", "< 2 ms")
    table.add_row(f"worker busy, {checks} checks", f"{found.busy:.1%}", "95 %")
    table.add_row("ours: elaborated, judged, replayed", f"{1 / found.seconds:.1f} checks/s", "")
    table.add_row("lean-interact's pool: elaborated", f"{1 / reused:.1f} checks/s", "")
    table.add_row("the same, a fresh environment each", f"{1 / fresh:.1f} checks/s", "")
    table.add_row("ours : pool", f"{reused / found.seconds:.2f}", "")
    table.add_row("ours : fresh environment", f"{fresh / found.seconds:.1f}", "")
    memory = [size / 2**20 for size in found.memory]
    slope = statistics.linear_regression(range(0, 50 * len(memory), 50), memory).slope
    table.add_row("memory, first to last", f"{memory[0]:.0f} to {memory[-1]:.0f} MiB", "")
    table.add_row("memory, most", f"{max(memory):.0f} MiB", "")
    table.add_row("memory, slope", f"{slope * 1000:+.0f} MiB in 1000 checks", "")
    table.add_row("processes renewed", str(found.renewed), "")
    table.add_row("start to first answer", f"{found.start:.0f} s", "")
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=2000, help="checks of our prover (default: 2000)")
    checks = cases(parser.parse_args().checks)
    toolchain = find_toolchain(ProverConfig(toolchain="embedded"))
    print(f"{toolchain.id}: {len(checks)} checks", file=sys.stderr)
    found = asyncio.run(ours(toolchain, checks))
    print_table(found, *theirs(toolchain, checks), len(checks))


if __name__ == "__main__":
    main()
