"""`scribe`: problems become examples for a rewriter, row by row; killed at any moment, it continues where it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rltpf import pipeline
from rltpf.errors import InputError
from rltpf.journal import Journal, scan
from rltpf.llm import build_model
from rltpf.llm.model import ModelError
from rltpf.opening import show_opening
from rltpf.progress import Progress
from rltpf.prover import build_prover
from rltpf.records import Failure, canonical_json
from rltpf.runs import RunDirectory
from rltpf.selection.config import ScribeConfig
from rltpf.selection.prompting import messages
from rltpf.selection.rows import FIRST, Ranked, first_prompt
from rltpf.selection.scribe import Example, Scribe
from rltpf.selection.selector import NoVerdict, Selector
from rltpf.unfinished import note_unfinished

JOURNAL = "examples"


def read_earlier(folders: Sequence[Path]) -> dict[str, Example]:
    """The examples of earlier runs by the problem's id, the first of each; raises `InputError` for no such run."""
    found: dict[str, Example] = {}
    for folder in folders:
        path = folder / f"{JOURNAL}.jsonl"
        if not path.is_file():
            raise InputError(f"earlier: {folder} is no run of `rltpf scribe`: it holds no {path.name}")
        for line in scan(path):
            example = Example.from_json(line.row)
            if example.error is None:
                found.setdefault(example.id, example)
    return found


async def scribe_rows(
    config: ScribeConfig, run: RunDirectory, problems: Sequence[Ranked], earlier: Mapping[str, Example]
) -> int:
    """Make an example of each problem that has none yet, and write the data set; the exit code, 1 where infrastructure
    kept some from an end."""
    prover = build_prover(config.prover)
    model = build_model(config.llm, run.transcript)
    run.begin(prover.toolchain_id)
    journal = run.journal(JOURNAL)
    sampling = partial(config.llm.sampling, seed=config.seed)
    scribe = Scribe(config, model, Selector(model, prover, sampling, messages, False, False))
    unfinished: list[Failure] = []

    async def make(problem: Ranked) -> Example | None:
        try:
            return await scribe.example(problem.id, str(problem.row["question"]), problem.candidates)
        except (NoVerdict, ModelError) as error:
            unfinished.append(Failure(problem.id, type(error).__name__, str(error)))
            return None

    def keep(example: Example | None) -> None:
        if example is not None:
            journal.append(example.to_json())

    try:
        _refuse_another_question(problems, earlier, journal)
        tried = [problem for problem in problems if problem.id not in earlier]
        todo = [problem for problem in tried if problem.id not in journal]
        concurrency = pipeline.in_flight(config.llm.max_concurrent, config.prover.workers)
        with Progress("problems", len(tried), len(tried) - len(todo), model.usage) as progress:
            if todo:
                show_opening(run, config, FIRST, first_prompt(todo[0], prover.library))
            await pipeline.run(todo, make, keep, concurrency=concurrency, progress=progress)
        own = [Example.from_json(row) for problem in tried if (row := journal.get(problem.id)) is not None]
        write_data_set(config, run, earlier, own, len(tried), len(unfinished))
    finally:
        await model.close()
        await prover.close()
        journal.close()
    return note_unfinished(run, "problems", unfinished)


def _refuse_another_question(problems: Sequence[Ranked], earlier: Mapping[str, Example], journal: Journal) -> None:
    """Raises `InputError` where an id stood for another problem before: its example would be taken for this one's."""
    for problem in problems:
        row = journal.get(problem.id)
        before = earlier.get(problem.id) or (Example.from_json(row) if row else None)
        if before is not None and before.question != problem.row["question"]:
            raise InputError(
                f"{problem.id}: has another question than in the run or phase before: give the problem another id, or "
                "start again with --overwrite"
            )


def write_data_set(
    config: ScribeConfig,
    run: RunDirectory,
    earlier: Mapping[str, Example],
    own: Sequence[Example],
    total: int,
    unfinished: int,
) -> None:
    """Write `data/train.jsonl`, `data/test.jsonl` and `metrics.json`, in the order of the phases and of the input."""
    kept = [example for example in own if example.error is None]
    lost = Counter(example.error.reason for example in own if example.error is not None)
    pipeline.conserve("problems", total, len(kept), {**lost, "unfinished": unfinished})
    together = [*earlier.values(), *kept]
    sides: dict[str, list[Example]] = {"train": [], "test": []}
    for example in together:
        sides["test" if example.held_out(config.test_share, config.seed) else "train"].append(example)
    for name, examples in sides.items():
        run.write(f"data/{name}.jsonl", "".join(f"{canonical_json(example.row())}\n" for example in examples))
    metrics: dict[str, Any] = {
        "problems": total,
        "kept": len(kept),
        "lost": {**dict(sorted(lost.items())), "unfinished": unfinished},
        "earlier": len(earlier),
        **{name: len(examples) for name, examples in sides.items()},
        "formaliser_calls": sum(example.formaliser_calls for example in own),
        "rewriter_replies": sum(example.replies for example in own),
    }
    run.write("metrics.json", json.dumps(metrics, indent=1) + "\n")
    print(f"{run.path / 'data'}: {len(sides['train'])} examples to train on, {len(sides['test'])} to evaluate on")
