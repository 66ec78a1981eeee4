"""Several runs side by side: what each folder holds of data, training, evaluation and rewriting, as a table and plots.

A folder is a run of one command (`generate`, `train`, `evaluate`, `rewrite`), or holds such folders as `rltpf report`
has them: data/, sft/, dpo/, eval/NAME/, rewrite/ and rewritten/NAME/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.comparison_plots import draw
from eval.plots import by_iteration, curve
from eval.report import read_json, read_rows, written_by_us
from eval.sections import VERDICT_NAMES, percent
from rltpf import markdown as md
from rltpf.errors import InputError

Curve = tuple[list[int], list[float]]


@dataclass(frozen=True)
class Part:
    """A folder of one command, and its `metrics.json`."""

    folder: Path
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What a folder holds: its parts, of which it may be one itself, and the losses of its trainings by step."""

    folder: Path
    data: Part | None
    losses: Mapping[str, Curve]
    evaluations: Mapping[str, Part]
    """By name; an evaluation that is the folder itself has the empty one."""
    rewriting: Part | None


def read(folder: Path) -> Run:
    """Raises `InputError` for a folder that holds no run, or a file that is not what its name says."""
    parts = {
        path.parent: Part(path.parent, read_json(path))
        for pattern in ("", "data/", "rewrite/", "eval/*/", "rewritten/*/")
        for path in sorted(folder.glob(f"{pattern}metrics.json"))
    }
    own = parts.get(folder)
    evaluations = {"": own} if own and "scores" in own.metrics else {}
    for path, part in parts.items():
        if path.parent == folder / "eval":
            evaluations[path.name] = part
        elif path.parent == folder / "rewritten":
            evaluations[f"{path.name} on rewritings"] = part
    with written_by_us(folder):
        losses = {
            kind: curve(read_rows(path), "loss")
            for kind, path in (
                (kind, place / "log_history.jsonl")
                for kind, place in (("training", folder), ("SFT", folder / "sft"), ("DPO", folder / "dpo"))
            )
            if path.exists()
        }
    run = Run(
        folder,
        own if own and "questions" in own.metrics else parts.get(folder / "data"),
        {kind: found for kind, found in losses.items() if found[0]},
        evaluations,
        own if own and "candidates" in own.metrics else parts.get(folder / "rewrite"),
    )
    if not (run.data or run.losses or run.evaluations or run.rewriting):
        raise InputError(f"{folder}: nothing to report: it has no metrics.json or log_history.jsonl of a run")
    return run


def is_part(folder: Path) -> bool:
    """Whether a folder is the run of one command, and not one that holds such folders."""
    return any((folder / name).exists() for name in ("metrics.json", "log_history.jsonl"))


def table(runs: Sequence[Run]) -> str:
    """A Markdown table with a column for each run and a line for each measure that any of them has."""
    columns = [measures(run) for run in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [(name, *(column.get(name, "-") for column in columns)) for name in names]
    return md.table(("", *(md.code(str(run.folder)) for run in runs)), rows)


def write(runs: Sequence[Run], output: Path) -> Path:
    """Write the table as `comparison.md` and the plots that the runs give beside it; the path of the former."""
    output.mkdir(parents=True, exist_ok=True)
    plots = draw(runs, output)
    path = output / "comparison.md"
    path.write_text("\n\n".join(["# Runs side by side", table(runs), *plots]) + "\n", encoding="utf-8")
    return path


def measures(run: Run) -> dict[str, Any]:
    """The measures of one run by name, in the order of the work."""
    with written_by_us(run.folder):
        found = _data(run.data.metrics) if run.data else {}
        for kind, (steps, losses) in run.losses.items():
            found |= {f"{kind}: steps": steps[-1], f"{kind}: loss": f"{losses[0]:.3f} to {losses[-1]:.3f}"}
        if run.rewriting:
            candidates = run.rewriting.metrics["candidates"]
            found["problems rewritten, retained"] = f"{candidates['in']}, {candidates['kept']}"
        for name, part in run.evaluations.items():
            found |= _scores(part.metrics, name and f"{name}: ")
    return found


def _data(metrics: Mapping[str, Any]) -> dict[str, Any]:
    questions, answers = metrics["questions"], metrics["answers"]
    found = {"questions, kept": f"{questions['in']}, {questions['kept']}"}
    found |= {f"answers {verdict}": answers[verdict] for verdict in ("verified", "false", "error")}
    if metrics["iterations"]:
        rates = by_iteration(metrics["iterations"]).execution
        found["execution rate, first and last, %"] = f"{rates[0]:.1f}, {rates[-1]:.1f}"
    return found | {"SFT rows": metrics["allocation"]["sft_rows"], "DPO pairs": metrics["allocation"]["dpo_pairs"]}


def _scores(metrics: Mapping[str, Any], name: str) -> dict[str, Any]:
    benchmark = metrics["benchmark"]
    return {
        f"{name}model": md.code(metrics["model"]),
        f"{name}benchmark, rows": f"{benchmark['name']} v{benchmark['version']}, {metrics['n']}",
        **{f"{name}{VERDICT_NAMES[verdict]}, %": percent(score) for verdict, score in metrics["scores"].items()},
    }
