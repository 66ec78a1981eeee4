"""`select`: candidates that somebody else sampled, row by row; killed at any moment, it continues where it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from rltpf import pipeline
from rltpf.datasets import is_text, read_jsonl
from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.model import ModelError
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.runs import RunDirectory, write_atomically
from rltpf.selection.candidates import ranked
from rltpf.selection.choice import RULES
from rltpf.selection.config import SelectConfig
from rltpf.selection.metrics import Scored, summarise
from rltpf.selection.prompting import messages
from rltpf.selection.selector import NoVerdict, Selection, Selector
from rltpf.selection.tables import accuracy, effort

MOST_CANDIDATES = 64


@dataclass(frozen=True)
class Ranked:
    """A row of the input with its candidates, best first."""

    row: dict[str, Any]
    candidates: tuple[str, ...]

    @property
    def id(self) -> str:
        return str(self.row["id"])


def read_rows(source: str) -> list[Ranked]:
    """The rows of a JSONL file or, for `-`, of standard input; raises `InputError` with a line for every fault."""
    problems: list[Ranked] = []
    faults: list[str] = []
    seen: set[str] = set()
    for place, row in read_jsonl(Path("/dev/stdin" if source == "-" else source)):
        found = row if isinstance(row, str) else _read(row, seen)
        if isinstance(found, str):
            faults.append(f"{place}: {found}")
        else:
            seen.add(found.id)
            problems.append(found)
    if faults:
        raise InputError(*faults)
    if not problems:
        raise InputError(f"{source}: holds no rows")
    return problems


def _read(row: dict[str, Any], seen: set[str]) -> Ranked | str:
    """The row's candidates, or what is wrong with it."""
    for field in ("id", "question"):
        if not isinstance(row.get(field), str) or not row[field].strip():
            return f"{field} has to be a text, and is {row.get(field)!r}"
    if "answer" in row and not isinstance(row["answer"], str):
        return f"answer has to be a text, and is {row['answer']!r}"
    if not is_text(row):
        return "holds a lone surrogate, which is half a character"
    if row["id"] in seen:
        return f"a second row with the id {row['id']!r}"
    given = row.get("candidates")
    candidates = ranked(given, MOST_CANDIDATES) if isinstance(given, str) else given
    if not isinstance(candidates, list) or not all(isinstance(c, str) and c.strip() for c in candidates):
        return "candidates has to be a list of texts, or a reply that holds one"
    if not 1 <= len(candidates) <= MOST_CANDIDATES:
        return f"candidates holds {len(candidates)} answers, and has to hold 1 to {MOST_CANDIDATES}"
    return Ranked(row, tuple(candidate.strip() for candidate in candidates))


async def select_rows(config: SelectConfig, run: RunDirectory, problems: Sequence[Ranked]) -> int:
    """Judge the candidates of the rows that are not judged yet and journal each; the exit code, 1 where infrastructure
    kept some from a verdict."""
    prover = build_prover(config.prover)
    model = build_model(config.llm, run.transcript)
    run.begin(prover.toolchain_id)
    selections = run.journal("selections")
    sampling = partial(config.llm.sampling, seed=config.seed)
    selector = Selector(model, prover, sampling, messages, config.rule != "first", config.independent)
    unfinished: list[str] = []

    async def judge(problem: Ranked) -> Selection | None:
        try:
            return await selector.judge(problem.id, str(problem.row["question"]), problem.candidates)
        except (NoVerdict, ModelError) as error:
            unfinished.append(f"{problem.id}: {error}")
            return None

    def keep(selection: Selection | None) -> None:
        if selection is not None:
            selections.append(selection.to_json())

    try:
        todo = [problem for problem in problems if problem.id not in selections]
        concurrency = pipeline.in_flight(config.llm.max_concurrent, config.prover.workers)
        with Progress("problems", len(problems), len(problems) - len(todo), model.usage) as progress:
            await pipeline.run(todo, judge, keep, concurrency=concurrency, progress=progress)
    finally:
        await model.close()
        await prover.close()
        selections.close()
    for line in unfinished:
        print(f"{line}: not judged yet; the same command takes it up again", file=sys.stderr)
    return 1 if unfinished else 0


def write_rows(config: SelectConfig, run: RunDirectory, problems: Sequence[Ranked], output: str) -> None:
    """Write the judged rows in the order of the input, and `metrics.json` over those that have a gold answer."""
    from eval.equivalence import MathVerifier

    journal = run.journal("selections")
    found = {p.id: Selection.from_json(row) for p in problems if (row := journal.get(p.id)) is not None}
    journal.close()
    rows = [_selected(config, problem, found[problem.id]) for problem in problems if problem.id in found]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if output == "-":
        print(text, end="")
    else:
        write_atomically(Path(output), text)
    scored = [Scored(found[p.id], p.row["answer"]) for p in problems if p.id in found and "answer" in p.row]
    if scored:
        with MathVerifier() as verifier:
            sames = {
                "string": lambda candidate, gold: candidate == gold.strip(),
                "math_verify": lambda candidate, gold: bool(verifier.same(gold, candidate)),
            }
            metrics = summarise(scored, sames)
        run.write("metrics.json", json.dumps(metrics, indent=1) + "\n")
        console = Console(stderr=True)
        for table in (accuracy(metrics), effort(metrics)):
            console.print(table)


def _selected(config: SelectConfig, problem: Ranked, selection: Selection) -> dict[str, Any]:
    place = RULES[config.rule](selection.judged)
    assert place is not None  # a row has at least one candidate
    chosen = selection.judged[place].candidate
    return {
        **problem.row,
        "selected": chosen,
        "rank": problem.candidates.index(chosen) + 1,
        "base_rank": None if selection.base is None else selection.base + 1,
        "calls": selection.calls,
        "lean_seconds": selection.lean_seconds,
        "judged": [item.to_json() for item in selection.judged],
    }
