"""Several runs side by side: what each folder holds of data, training and evaluation, as one table.

A folder is a run of one command (`generate`, `train`, `evaluate`), or holds such folders as `rltpf report` has them:
data/, sft/, dpo/ and eval/NAME/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval import markdown as md
from eval.plots import by_iteration, curve
from eval.report import read_json, read_rows, written_by_us
from eval.sections import VERDICT_NAMES, plus_minus
from rltpf.errors import InputError


def compare(folders: Sequence[Path]) -> str:
    """A Markdown table with a column for each run and a line for each measure that any of them has.

    Raises `InputError` for a folder that holds no run, or a file that is not what its name says.
    """
    columns = [measures(folder) for folder in folders]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [(name, *(column.get(name, "-") for column in columns)) for name in names]
    return md.table(("", *(md.code(str(folder)) for folder in folders)), rows)


def measures(folder: Path) -> dict[str, Any]:
    """The measures of one run by name, in the order of the work."""
    found: dict[str, Any] = {}
    own = _metrics(folder)
    with written_by_us(folder):
        if "questions" in (data := _metrics(folder / "data") or own):
            found |= _data(data)
        for kind, place in (("training", folder), ("SFT", folder / "sft"), ("DPO", folder / "dpo")):
            found |= _training(kind, place / "log_history.jsonl")
        if "scores" in own:
            found |= _scores(own, "")
        for path in sorted((folder / "eval").glob("*/metrics.json")):
            found |= _scores(read_json(path), f"{path.parent.name}: ")
    if not found:
        raise InputError(f"{folder}: nothing to report: it has no metrics.json or log_history.jsonl of a run")
    return found


def _metrics(folder: Path) -> dict[str, Any]:
    path = folder / "metrics.json"
    return read_json(path) if path.exists() else {}


def _data(metrics: Mapping[str, Any]) -> dict[str, Any]:
    questions, answers = metrics["questions"], metrics["answers"]
    found = {"questions, kept": f"{questions['in']}, {questions['kept']}"}
    found |= {f"answers {verdict}": answers[verdict] for verdict in ("verified", "false", "error")}
    if metrics["iterations"]:
        rates = by_iteration(metrics["iterations"]).execution
        found["execution rate, first and last, %"] = f"{rates[0]:.1f}, {rates[-1]:.1f}"
    return found | {"SFT rows": metrics["allocation"]["sft_rows"], "DPO pairs": metrics["allocation"]["dpo_pairs"]}


def _training(kind: str, path: Path) -> dict[str, Any]:
    steps, losses = curve(read_rows(path), "loss") if path.exists() else ([], [])
    return {f"{kind}: steps": steps[-1], f"{kind}: loss": f"{losses[0]:.3f} to {losses[-1]:.3f}"} if losses else {}


def _scores(metrics: Mapping[str, Any], name: str) -> dict[str, Any]:
    benchmark = metrics["benchmark"]
    return {
        f"{name}model": md.code(metrics["model"]),
        f"{name}benchmark, rows": f"{benchmark['name']} v{benchmark['version']}, {metrics['n']}",
        **{f"{name}{VERDICT_NAMES[verdict]}, %": plus_minus(score) for verdict, score in metrics["scores"].items()},
    }
