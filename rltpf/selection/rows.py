"""`select`: candidates that somebody else sampled, row by row; killed at any moment, it continues where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console

from rltpf import pipeline
from rltpf.llm import build_model
from rltpf.llm.model import Message, ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.prover.cascade import Library
from rltpf.records import Failure, content_id
from rltpf.runs import RunDirectory
from rltpf.selection.candidates import ranked
from rltpf.selection.choice import RULES
from rltpf.selection.config import SelectConfig
from rltpf.selection.metrics import Scored, summarise
from rltpf.selection.prompting import messages
from rltpf.selection.selector import NoVerdict, Selection, Selector
from rltpf.selection.tables import accuracy, effort
from rltpf.unfinished import note_unfinished

MOST_CANDIDATES = 64
FIRST = "formaliser: formalise"


@dataclass(frozen=True)
class Ranked:
    """A row of the input with its candidates, best first."""

    row: dict[str, Any]
    candidates: tuple[str, ...]

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def key(self) -> str:
        """What the journal knows the row by: one with the id of another problem, or with other candidates, is new."""
        return f"{self.id} {content_id(self.row['question'], self.candidates)}"


def ranking(row: dict[str, Any]) -> Ranked:
    """The row with its candidates; raises `ValueError` where it has none, or a gold answer that is no text."""
    if "answer" in row and not isinstance(row["answer"], str):
        raise ValueError(f"answer has to be a text, and is {row['answer']!r}")
    given = row.get("candidates")
    candidates = ranked(given, MOST_CANDIDATES) if isinstance(given, str) else given
    if not isinstance(candidates, list) or not all(isinstance(c, str) and c.strip() for c in candidates):
        raise ValueError("candidates has to be a list of texts, or a reply that holds one")
    if not 1 <= len(candidates) <= MOST_CANDIDATES:
        raise ValueError(f"candidates holds {len(candidates)} answers, and has to hold 1 to {MOST_CANDIDATES}")
    return Ranked(row, tuple(candidate.strip() for candidate in candidates))


def first_prompt(problem: Ranked, library: Library) -> Sequence[Message]:
    """What is asked first about a row."""
    return messages("formalise", question=problem.row["question"], answer=problem.candidates[0], library=library)


async def select_rows(config: SelectConfig, run: RunDirectory, problems: Sequence[Ranked]) -> int:
    """Judge the candidates of the rows that are not judged yet and journal each; the exit code, 1 where infrastructure
    kept some from a verdict."""
    prover = build_prover(config.prover)
    model = build_model(config.llm, run.transcript)
    run.begin(prover.toolchain_id)
    selections = run.journal("selections")
    sampling = partial(config.llm.sampling, seed=config.seed)
    prove, compare = config.rule != "first", config.rule == "majority"
    selector = Selector(model, prover, sampling, messages, prove, config.independent, compare)
    unfinished: list[Failure] = []

    async def judge(problem: Ranked) -> Selection | None:
        try:
            return await selector.judge(problem.key, str(problem.row["question"]), problem.candidates)
        except (NoVerdict, ModelError) as error:
            unfinished.append(Failure(problem.id, type(error).__name__, str(error)))
            return None

    def keep(selection: Selection | None) -> None:
        if selection is not None:
            selections.append(selection.to_json())

    try:
        todo = [problem for problem in problems if problem.key not in selections]
        if todo:
            show_opening(run, config, FIRST, first_prompt(todo[0], prover.library))
        concurrency = pipeline.in_flight(config.llm.max_concurrent, config.prover.workers)
        with Progress("problems", len(problems), len(problems) - len(todo), model.usage) as progress:
            await pipeline.run(todo, judge, keep, concurrency=concurrency, progress=progress)
    finally:
        await model.close()
        await prover.close()
        selections.close()
    return note_unfinished(run, "problems", unfinished)


def read_selections(run: RunDirectory, problems: Sequence[Ranked]) -> dict[str, Selection]:
    """The selections of the run by the problem's id, in the order of the input."""
    journal = run.journal("selections")
    found = {p.id: Selection.from_json(row) for p in problems if (row := journal.get(p.key)) is not None}
    journal.close()
    return found


def measure(run: RunDirectory, problems: Sequence[Ranked], found: Mapping[str, Selection]) -> None:
    """Write `metrics.json` over the problems that have a gold answer, and print it; nothing where none has."""
    from eval.equivalence import MathVerifier

    scored = [Scored(found[p.id], p.row["answer"]) for p in problems if p.id in found and "answer" in p.row]
    if not scored:
        return
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


def selected(rule: str, problem: Ranked, selection: Selection) -> dict[str, Any]:
    """The row of the output."""
    place = RULES[rule](selection.judged)
    assert place is not None  # a row has at least one candidate
    chosen = selection.judged[place].candidate
    return {
        **problem.row,
        "selected": chosen,
        "rank": problem.candidates.index(chosen) + 1,
        "base_rank": None if selection.base is None else selection.base + 1,
        "calls": selection.calls,
        "lean_seconds": selection.lean_seconds,
        "faults": list(selection.faults),
        "judged": [item.to_json() for item in selection.judged],
    }
