"""The human audit of table 3: blinded sheets go out as CSV, filled ones come back. Pure but for reading.

Source: RePro, appendix H: for each method as many problems of each source and level, and an auditor sees nothing but
the original, the rewriting and the answer.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.quality.judging import CRITERIA, Judgement
from eval.quality.runs import Runs, key, made
from eval.rewrite.records import Candidate, Rewrite
from rltpf.datasets import read_csv
from rltpf.errors import InputError
from rltpf.records import content_id
from rltpf.rows import check_texts, collect

COLUMNS = ("id", "original_question", "rewritten_question", "reference_answer", *CRITERIA)
_KEY = ("id", "run", "source", "judgement")
TOTAL = "all"


def draw(runs: Runs, count: int, seed: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The rows of a sheet, `count` of each run, source and level or all where there are fewer, and those of its key.

    Their order and their ids say nothing of the run, and hang on nothing but seed and content.
    """
    strata: dict[tuple[str, str, str], list[tuple[str, Candidate, Rewrite]]] = {}
    for name, candidates in runs.items():
        for candidate in candidates:
            if (rewrite := made(candidate)) is not None:
                identity = content_id(seed, name, candidate.id)
                strata.setdefault((name, candidate.source, candidate.level), []).append((identity, candidate, rewrite))
    chosen = [
        (identity, name, candidate, rewrite)
        for (name, _, _), members in strata.items()
        for identity, candidate, rewrite in sorted(members, key=lambda member: member[0])[:count]
    ]
    chosen.sort(key=lambda item: item[0])
    sheet = [
        dict(zip(COLUMNS, (identity, candidate.question, rewrite.question, rewrite.answer, "", "", ""), strict=True))
        for identity, _, candidate, rewrite in chosen
    ]
    keys = [
        dict(zip(_KEY, (identity, name, candidate.source, key(rewrite)), strict=True))
        for identity, name, candidate, rewrite in chosen
    ]
    return sheet, keys


def to_csv(sheet: Sequence[Mapping[str, str]]) -> str:
    """The sheet as a spreadsheet opens it: an apostrophe keeps a text from being run as a formula."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows({name: _inert(value) for name, value in row.items()} for row in sheet)
    return text.getvalue()


def _inert(value: str) -> str:
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def read_key(path: Path) -> dict[str, dict[str, str]]:
    """The key's rows by their id; raises `InputError` with a line for every row that is none."""

    def checked(row: dict[str, Any]) -> dict[str, str]:
        check_texts(row, _KEY)
        return row

    return {row["id"]: row for row in collect(path, checked)}


def read_filled(path: Path, keys: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, bool]]:
    """What people said of the rows that they filled in; raises `InputError` with a line for every fault."""
    found: dict[str, dict[str, bool]] = {}
    faults = []
    for place, row in read_csv(path):
        if isinstance(row, str):
            faults.append(f"{place}: {row}")
            continue
        said = {name: str(row.get(name, "")).strip().lower() for name in CRITERIA}
        identity = str(row.get("id", ""))
        if identity not in keys:
            faults.append(f"{place}: the key has no id {identity!r}")
        elif identity in found:
            faults.append(f"{place}: a second row with the id {identity!r}")
        elif set(said.values()) <= {"yes", "no"}:
            found[identity] = {name: word == "yes" for name, word in said.items()}
        elif any(said.values()):
            name, word = next((name, word) for name, word in said.items() if word not in ("yes", "no"))
            faults.append(f"{place}: {name} has to be yes or no, and is {word!r}")
    if not found and not faults:
        faults.append(f"{path}: no row is filled in")
    if faults:
        raise InputError(*faults)
    return found


def agreement(
    keys: Mapping[str, Mapping[str, str]],
    filled: Mapping[str, Mapping[str, bool]],
    judged: Mapping[str, Judgement],
) -> list[list[Any]]:
    """Table 3: run, source, problems that both judged, and of each criterion how often both say the same, in percent;
    one row for each run and source, and one for all. Empty where no problem has both."""
    groups: dict[tuple[str, str], list[list[bool]]] = {}
    for identity, said in filled.items():
        judgement = judged.get(keys[identity]["judgement"])
        if judgement is not None and not judgement.unreadable:
            same = [said[name] == getattr(judgement, name) for name in CRITERIA]
            groups.setdefault((keys[identity]["run"], keys[identity]["source"]), []).append(same)
    if groups:
        groups = {**dict(sorted(groups.items())), (TOTAL, TOTAL): [same for found in groups.values() for same in found]}
    return [
        [*names, len(found), *(100 * sum(column) / len(found) for column in zip(*found, strict=True))]
        for names, found in groups.items()
    ]
