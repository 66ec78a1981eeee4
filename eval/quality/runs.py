"""The runs of `rltpf rewrite` that are compared, by the names that they get on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.rewrite.records import Candidate, Rewrite
from rltpf.errors import InputError
from rltpf.records import content_id
from rltpf.rows import collect

Runs = Mapping[str, Sequence[Candidate]]
"""The candidates of each run, by stratum and id."""


def named_folders(given: Sequence[str]) -> dict[str, Path]:
    """The folders of `NAME=RUN`; raises `InputError` with a line for everything that is none."""
    folders: dict[str, Path] = {}
    faults = []
    for word in given:
        name, equals, folder = word.partition("=")
        if not name or not equals or not folder or name in folders:
            faults.append(f"{word}: has to be NAME=RUN, with a name of its own for each run")
        folders[name] = Path(folder)
    if faults:
        raise InputError(*faults)
    return folders


def read_runs(folders: Mapping[str, Path]) -> dict[str, list[Candidate]]:
    """The candidates of the runs; raises `InputError` with a line for every row that is none."""
    found: dict[str, list[Candidate]] = {}
    faults: list[str] = []
    for name, folder in folders.items():
        try:
            candidates = collect(folder / "candidates.jsonl", Candidate.from_json)
        except InputError as error:
            faults += error.faults
        else:
            found[name] = sorted(candidates, key=lambda candidate: (candidate.level, candidate.id))
    if faults:
        raise InputError(*faults)
    return found


def read_metrics(folders: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """The metrics of the runs; raises `InputError` with a line for every run that has none."""
    found, faults = {}, []
    for name, folder in folders.items():
        path = folder / "metrics.json"
        try:
            found[name] = json.loads(path.read_text(encoding="utf-8"))
            if not found[name]["levels"]:
                raise ValueError
        except OSError as error:
            faults.append(f"{path}: {error.strerror}: name the folder of a finished `rltpf rewrite`")
        except (ValueError, KeyError, TypeError, RecursionError):
            faults.append(f"{path}: is not what `rltpf rewrite` writes")
    if faults:
        raise InputError(*faults)
    return found


def made(candidate: Candidate) -> Rewrite | None:
    """The problem that a method made of a candidate; None where it made none."""
    return candidate.rewrites[-1] if candidate.kept and candidate.rewrites else None


def key(rewrite: Rewrite) -> str:
    """What a judgement is kept by."""
    return content_id(rewrite.question, rewrite.answer)
