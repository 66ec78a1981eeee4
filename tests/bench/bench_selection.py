"""What choosing among answers is good for, on problems of Formal Problem Solving whose statements Lean takes.

    python tests/bench/bench_selection.py BENCHMARK ... [--most 40] [--failing 7] [--workers 1]

A BENCHMARK is one of the files of FPS. Each problem whose answer is a number gets that answer and seven wrong ones near
it, the right one first in three problems of four, as a good solver ranks it. No model is asked: the formaliser is the
record itself with the candidate in the place of its answer, and one request of `--failing` gets a text that Lean does
not take, as formalisers do. Requests are counted where they arrive. Exit code 1 where a target is missed: at most 1.25
formaliser calls for each problem, and an accuracy not below rank 1's or that of formalising each candidate by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console

from eval import fps
from eval.rpe import NOTATIONS
from rltpf import pipeline
from rltpf.llm.model import Completion, Message, Request, Sampling
from rltpf.prover import build_prover
from rltpf.prover.cascade import library_of
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import header_of
from rltpf.records import content_id
from rltpf.selection import tables
from rltpf.selection.candidates import term, value_of
from rltpf.selection.metrics import Scored, summarise
from rltpf.selection.selector import NoVerdict, Selector

K = 8
MOST_CALLS = 1.25
_OFFSETS = (1, -1, 2, -2, 3, 10, -3, 5, 7, 12, 20, 50)
_SLOT = re.compile(r"h_submission : answer = ⟦(\d+)⟧")


class Formaliser:
    """Answers from the records: no model, and the same replies in every run."""

    name = "records"

    def __init__(self, problems: dict[str, fps.FpsProblem], failing: int) -> None:
        self._problems = problems
        self._failing = failing
        self.requests: Counter[str] = Counter()

    async def complete(self, request: Request) -> Completion:
        self.requests[request.role] += 1
        asked = json.loads(request.messages[-1].content)
        if request.role == "formaliser":
            return Completion(f"```lean\n{self._statement(asked)} := by sorry\n```")
        slot = _SLOT.search(asked.get("marked", ""))
        return Completion(json.dumps({"reasons": "", "places": [int(slot[1])] if slot else []}))

    async def close(self) -> None:
        pass

    def _statement(self, asked: dict[str, Any]) -> str:
        fails = int(content_id([asked["question"], asked["answer"]]), 16) % self._failing == 0
        answer = "unknown" if fails else term(asked["answer"])
        return fps.answered(self._problems[asked["question"]], str(answer), "problem")


def plain_messages(prompt: str, **values: Any) -> tuple[Message, Message]:
    return Message("system", prompt), Message("user", json.dumps(values))


def candidates(problem: fps.FpsProblem, turn: int) -> tuple[str, ...]:
    """The right answer and seven wrong ones: first in three problems of four, else second to fourth in turn."""
    gold = Fraction(value_of(problem.informal_answer))
    wrong = []
    for offset in _OFFSETS:
        other = gold + Fraction(offset, gold.denominator)
        if other >= 0 or problem.formal_answer_type in ("ℤ", "ℚ"):
            wrong.append(str(other))
    place = 0 if turn % 4 else 1 + turn // 4 % 3
    ranked = wrong[: K - 1]
    return (*ranked[:place], problem.informal_answer, *ranked[place:])


async def usable(prover: Prover, problems: Sequence[fps.FpsProblem], most: int) -> list[fps.FpsProblem]:
    """The first problems with a number for an answer whose statement elaborates."""
    found: list[fps.FpsProblem] = []
    for problem in problems:
        answer = term(problem.informal_answer)
        if answer is None or not re.fullmatch(r"-?\d+(/\d+)?", value_of(problem.informal_answer)):
            continue
        if not problem.constrained or (problem.header is not None and "open" not in problem.header):
            continue
        if len(found) < most and (await prover.elaborates(fps.answered(problem, answer, "problem"))).verified:
            found.append(problem)
    return found


async def run(args: argparse.Namespace) -> int:
    config = ProverConfig(workers=args.workers)
    if library_of(header_of(config)) == "core":
        config = config.model_copy(update={"header": NOTATIONS})
    prover = build_prover(config)
    try:
        problems = await usable(prover, [p for path in args.benchmarks for p in fps.load(path)], args.most)
        if not problems:
            sys.exit("no problem of these files is a number's whose statement Lean takes")
        by_question = {f"{p.bench} {p.idx}": p for p in problems}
        model = Formaliser(by_question, args.failing)
        began = time.perf_counter()
        selector = Selector(model, prover, lambda role: Sampling(), plain_messages, True, True)
        scored: list[Scored] = []

        async def judge(item: tuple[int, str]) -> Scored | None:
            turn, name = item
            problem = by_question[name]
            try:
                found = await selector.judge(name, name, candidates(problem, turn))
            except NoVerdict as error:
                print(f"{name}: left out: {error}")
                return None
            return Scored(found, problem.informal_answer)

        def keep(one: Scored | None) -> None:
            if one is not None:
                scored.append(one)

        await pipeline.run(enumerate(by_question), judge, keep, concurrency=2 * args.workers)
    finally:
        await prover.close()
    metrics = summarise(scored, {"value": lambda candidate, gold: value_of(candidate) == value_of(gold)})
    console = Console(width=100)
    for table in (tables.accuracy(metrics), tables.effort(metrics)):
        console.print(table)
    print(f"requests that arrived: {dict(model.requests)}; proofs: {metrics['equality']['value']['proofs']}")
    print(f"{len(scored)} problems, {time.perf_counter() - began:.0f} s on {prover.toolchain_id}", file=sys.stderr)
    for one in scored:
        for item in one.selection.judged:
            right = value_of(item.candidate) == value_of(one.gold)
            if (right and item.is_refuted) or (item.is_proved and not right):
                print(f"{one.selection.id}: {item.proof} {item.candidate}, the answer is {one.gold}: {item.statement}")
    return _verdict(metrics)


def _verdict(metrics: dict[str, Any]) -> int:
    rules = {name: rule["right"] for name, rule in metrics["equality"]["value"]["rules"].items()}
    calls = metrics["calls_per_problem"]["formaliser"]
    controls = ("rank 1, no Lean", "proof, independent")
    missed = [f"formaliser calls per problem {calls:.2f} > {MOST_CALLS}"] if calls > MOST_CALLS else []
    missed += [f"proof {rules['proof']} < {name} {rules[name]}" for name in controls if rules["proof"] < rules[name]]
    for line in missed:
        print(f"MISSED: {line}")
    return 1 if missed else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmarks", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=40, help="problems (default: 40)")
    parser.add_argument("--failing", type=int, default=7, help="one request in so many fails (default: 7)")
    parser.add_argument("--workers", type=int, default=1, help="Lean processes (default: 1)")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
