"""What finished runs tell Weights & Biases, read from their folders: so the jobs themselves need no network.

A folder of data, of an evaluation or of a rewriting is a run there, as each training is that was told to report
itself; those of one experiment are one group. Artifacts link them by digests: the data set of a training is the one
that the run of data made, and the weights of an evaluation are those that a training left. No weights and no data are
uploaded but the first rows, as tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eval import report
from eval.comparison import Part, Run
from eval.plots import by_iteration
from rltpf import tracking
from rltpf.runs import read_manifest
from rltpf.weights import NOTE, file_digest

_SAMPLES = 100


def publish(run: Run) -> list[str]:
    """Report the parts of a run that are no trainings; their names. One that was reported before is brought up to date.

    Raises `InputError` where a part is not what its command writes, and `RunError` where W&B does not answer.
    """
    names = []
    for kind, part in _parts(run):
        inner = part.folder != run.folder
        labels = tracking.Labels(
            group=run.folder.absolute().name if inner else run.folder.absolute().parent.name,
            job_type=kind,
            name="-".join(part.folder.relative_to(run.folder).parts) if inner else run.folder.absolute().name,
        )
        manifest = read_manifest(part.folder)
        with (
            report.written_by_us(part.folder),
            tracking.tracked(part.folder, labels, manifest["settings"] if manifest else {}, resumed=True) as tracker,
        ):
            {"generate": _data, "evaluate": _evaluation, "rewrite": _rewriting}[kind](part, tracker)
            names.append(tracker.name)
    return names


def _parts(run: Run) -> Iterator[tuple[str, Part]]:
    if run.data:
        yield "generate", run.data
    if run.rewriting:
        yield "rewrite", run.rewriting
    for part in run.evaluations.values():
        yield "evaluate", part


def _data(part: Part, tracker: tracking.Tracker) -> None:
    metrics = part.metrics
    summary = {f"data/questions_{key}": metrics["questions"][key] for key in ("in", "kept")}
    summary |= {f"data/answers_{key}": metrics["answers"][key] for key in ("in", "verified", "false", "error")}
    summary |= {f"data/{key}": metrics["allocation"][key] for key in ("sft_rows", "dpo_pairs")}
    if metrics["iterations"]:
        rates = by_iteration(metrics["iterations"]).execution
        summary |= {"data/execution_rate_first": rates[0] / 100, "data/execution_rate_last": rates[-1] / 100}
    summary |= {"lean/checks": metrics["lean"]["checks"], "lean/seconds": metrics["lean"]["seconds"]}
    tracker.summarise(summary)
    _table(part, tracker, "answers", ("question", "answer", "verdict", "lean"))
    for name in ("sft", "dpo", "unpaired", "stepwise"):
        if (path := part.folder / f"{name}.jsonl").exists():
            tracker.produced("dataset", {"sha256": file_digest(path)}, {"path": str(path)})


def _evaluation(part: Part, tracker: tracking.Tracker) -> None:
    metrics = part.metrics
    benchmark = metrics["benchmark"]
    summary: dict[str, Any] = {
        "eval/model": metrics["model"],
        "eval/benchmark": f"{benchmark['name']} v{benchmark['version']}",
        "eval/rows": metrics["n"],
        "eval/cut_by_max_tokens": metrics["cut_by_max_tokens"],
    }
    for verdict, score in metrics["scores"].items():
        summary |= {f"eval/{verdict}": score["pass@1"], f"eval/{verdict}_stderr": score["stderr"]}
    tracker.summarise(summary)
    _table(part, tracker, "samples", ("question", "gold", "output", "strict", "lenient", "correct_strict"))
    if (note := part.folder / NOTE).exists():
        tracker.used("model", report.read_json(note), {"model": metrics["model"]})


def _rewriting(part: Part, tracker: tracking.Tracker) -> None:
    candidates = part.metrics["candidates"]
    ends = {f"rewrite/ended/{end}": count for end, count in candidates["ended"].items()}
    tracker.summarise({"rewrite/problems": candidates["in"], "rewrite/retained": candidates["kept"], **ends})
    if (path := part.folder / "data" / "rewritten.jsonl").exists():
        tracker.produced("dataset", {"sha256": file_digest(path)}, {"path": str(path)})


def _table(part: Part, tracker: tracking.Tracker, name: str, columns: tuple[str, ...]) -> None:
    rows = report.read_rows(part.folder / f"{name}.jsonl")[:_SAMPLES]
    tracker.table(f"samples/{name}", [{column: row[column] for column in columns} for row in rows])
