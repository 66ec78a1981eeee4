"""`rltpf report RUN_DIR`: one page and its plots from a run's own files, whatever part of the run exists.

RUN_DIR/data/            a generate run: metrics.json, answers.jsonl
RUN_DIR/sft/, dpo/       trainings: log_history.jsonl
RUN_DIR/eval/NAME/       evaluations: metrics.json, samples.jsonl
RUN_DIR/rewrite/         a rewrite run: metrics.json
RUN_DIR/rewritten/NAME/  evaluations on what it retained
RUN_DIR/sensitivity/     how the two differ: sensitivity.json, sensitivity.png
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from eval import plots, sections
from eval.score import VERDICTS, Sample, whole_rows
from eval.sections import Score, Section
from eval.sensitivity_page import NUMBERS, PLOT
from rltpf.datasets import read_jsonl
from rltpf.errors import InputError

_ORDER = {"base": 0, "sft": 1, "dpo": 2}


def write_report(run_dir: Path) -> Path:
    """Write `report.md` and `plots/*.png` into the run folder; the path of the former.

    Raises `InputError` when the folder holds none of the parts, or a file that is not what its name says.
    """
    parts = _data(run_dir)
    with written_by_us(run_dir / "{sft,dpo}" / "log_history.jsonl"):
        parts.append(_training(run_dir))
    with written_by_us(run_dir / "eval" / "*"):
        parts.append(_scores(run_dir / "eval", "Scores"))
    with written_by_us(run_dir / "rewrite" / "metrics.json"):
        parts.append(_rewriting(run_dir / "rewrite" / "metrics.json"))
    with written_by_us(run_dir / "rewritten" / "*"):
        parts.append(_scores(run_dir / "rewritten", "Scores on rewritten problems"))
    with written_by_us(run_dir / "sensitivity" / NUMBERS):
        parts.append(_sensitivity(run_dir / "sensitivity"))
    if all(isinstance(part, str) for part in parts):
        raise InputError(f"{run_dir}: nothing to report: it has no data/, sft/, dpo/, eval/ or rewrite/ of a run")
    # What the data cost comes last: it is of less interest than what they were good for.
    parts.sort(key=lambda part: isinstance(part, Section) and part.title == "Cost of the data")
    found = [part for part in parts if isinstance(part, Section)]
    lines = [f"# Report of {run_dir.resolve().name}", "\n".join(f"- {part.summary}" for part in found if part.summary)]
    lines += [f"## {part.title}\n\n{part.body}" for part in found]
    if skipped := [part for part in parts if isinstance(part, str)]:
        lines.append("## Left out\n\n" + "\n".join(f"- {line}" for line in skipped))
    path = run_dir / "report.md"
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def _data(run_dir: Path) -> list[Section | str]:
    path = run_dir / "data" / "metrics.json"
    if not path.exists():
        return ["Questions, verdicts and cost: there is no `data/metrics.json`."]
    metrics = read_json(path)
    try:
        found: list[Section | str] = [
            sections.questions(metrics, "plots/questions.png"),
            sections.verdicts(metrics, "plots/verdicts.png"),
            sections.cost(metrics),
        ]
    except KeyError as error:
        raise InputError(f"{path}: has no {error}: run `rltpf generate` again to write it anew") from None
    plots.draw_funnel(plots.funnel(metrics), sections.PHASES, _plot(run_dir, "questions"))
    if metrics["iterations"]:
        rows = metrics["iterations"]
        plots.draw_verdicts(plots.by_iteration(rows), rows[0]["chains"], _plot(run_dir, "verdicts"))
    answers = run_dir / "data" / "answers.jsonl"
    found.insert(
        2,
        sections.examples(read_rows(answers)) if answers.exists() else "Examples: there is no `data/answers.jsonl`.",
    )
    return found


def _training(run_dir: Path) -> Section | str:
    logs: dict[str, list[dict[str, Any]]] = {}
    for kind in ("sft", "dpo"):
        path = run_dir / kind / "log_history.jsonl"
        rows = read_rows(path) if path.exists() else []
        if any("loss" in row for row in rows):
            logs[kind] = rows
    if not logs:
        return "Training: neither `sft/` nor `dpo/` has a `log_history.jsonl` with losses."
    plots.draw_training(logs.get("sft"), logs.get("dpo"), _plot(run_dir, "training"))
    return sections.training(logs.get("sft"), logs.get("dpo"), "plots/training.png")


def _scores(folder: Path, title: str) -> Section | str:
    folders = [path.parent for path in folder.glob("*/metrics.json")]
    if not folders:
        return f"{title}: there is no `{folder.name}/NAME/metrics.json`."
    entries = []
    for folder in sorted(folders, key=lambda folder: (_ORDER.get(folder.name, len(_ORDER)), folder.name)):
        whole = whole_rows(Sample.from_json(row) for row in read_rows(folder / "samples.jsonl"))
        right = {
            verdict: {id: sum(bool(getattr(s, verdict)) for s in row) / len(row) for id, row in whole.items()}
            for verdict in VERDICTS
        }
        entries.append(Score(folder.name, read_json(folder / "metrics.json"), right))
    return sections.scores(entries, title)


def _rewriting(path: Path) -> Section | str:
    return sections.rewriting(read_json(path)) if path.exists() else "Rewriting: there is no `rewrite/metrics.json`."


def _sensitivity(folder: Path) -> Section | str:
    if not (folder / NUMBERS).exists():
        return f"Sensitivity: there is no `sensitivity/{NUMBERS}`."
    return sections.sensitivity(read_json(folder / NUMBERS)["models"], f"{folder.name}/{PLOT}")


@contextlib.contextmanager
def written_by_us(files: Path) -> Iterator[None]:
    """What reading these files trips over, as a fault of theirs."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else str(error)
        if isinstance(error, ValidationError):
            what = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise InputError(f"{files}: not what its command writes: {what}: run the command again") from error


def _plot(run_dir: Path, name: str) -> Path:
    folder = run_dir / "plots"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.png"


def read_json(path: Path) -> dict[str, Any]:
    """The object of a file; raises `InputError` where it holds none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: is a JSON {type(value).__name__}, and has to be an object")
    return value


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; raises `InputError` where it is no JSONL."""
    rows = []
    for place, row in read_jsonl(path):
        if isinstance(row, str):
            raise InputError(f"{place}: {row}")
        rows.append(row)
    return rows
