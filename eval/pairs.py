"""Pairs of originals and rewritings, and what evaluations say of both: read from files, matched by the questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from eval.confounds import Pair, tokens
from eval.score import Sample, whole_rows
from eval.sensitivity import Scored
from rltpf.errors import InputError
from rltpf.rows import check_texts, collect

_TEXTS = ("original_question", "rewritten_question")


def read_set(path: Path) -> list[dict[str, Any]]:
    """The rows of a rewritten set; raises `InputError` with a line for every row that is none. Those of a baseline have
    no proof."""

    def checked(row: dict[str, Any]) -> dict[str, Any]:
        proof = {"lean_proof": row.get("lean_proof") or ""}
        check_texts(row | proof, (*_TEXTS, *proof))
        return row | proof

    return collect(path, checked)


def read_scores(folder: Path) -> dict[str, list[Sample]]:
    """The samples of an evaluation by their question; raises `InputError` with a line for every row that is none."""
    samples = collect(folder / "samples.jsonl", Sample.from_json)
    return {row[0].question: row for row in whole_rows(samples).values()}


def match(
    rows: Sequence[Mapping[str, Any]], scores: Mapping[str, tuple[Path, Path]], verdict: str
) -> tuple[list[Scored], dict[str, Pair]]:
    """For every model its score on each pair, and the pairs by their id.

    `scores` has the folders of each model's evaluations, on originals and on rewritings. Raises `InputError` where a
    question of the set has no reply in one of them, since a comparison over other pairs for each model would be none,
    and where a model was asked the two in other words.
    """
    scored: list[Scored] = []
    lengths: dict[str, tuple[list[float], list[float]]] = {_id(row): ([], []) for row in rows}
    faults = []
    for model, folders in scores.items():
        originals, rewritten = (read_scores(folder) for folder in folders)
        for side, found, folder in (("original", originals, folders[0]), ("rewritten", rewritten, folders[1])):
            if lacking := [row for row in rows if row[f"{side}_question"] not in found]:
                question = lacking[0][f"{side}_question"][:80]
                faults.append(
                    f"{folder}: has no replies to {len(lacking)} of the {len(rows)} {side} questions, the first: "
                    f"{json.dumps(question, ensure_ascii=False)}: evaluate the model on all of them"
                )
        if faults:
            continue
        if len(asked := {_words(row[0]) for found in (originals, rewritten) for row in found.values()}) > 1:
            faults.append(
                f"{folders[0]}, {folders[1]}: ask in {len(asked)} ways, so that a change need not come from the "
                "rewriting: evaluate both with the benchmarks repro_originals and repro, or both with jsonl"
            )
            continue
        for row in rows:
            replies = originals[row["original_question"]], rewritten[row["rewritten_question"]]
            shares = [fmean(bool(getattr(sample, verdict)) for sample in samples) for samples in replies]
            scored.append(Scored(model, _id(row), str(row.get("level") or "no level"), *shares))
            for samples, kept in zip(replies, lengths[_id(row)], strict=True):
                kept.append(fmean(tokens(sample.output) for sample in samples))
    if faults:
        raise InputError(*faults)
    return scored, {_id(row): _pair(row, *lengths[_id(row)]) for row in rows}


def _words(sample: Sample) -> str:
    """How a question was asked."""
    return sample.prompt.replace(sample.question, "{question}")


def _id(row: Mapping[str, Any]) -> str:
    return json.dumps([row["original_question"], row["rewritten_question"]], ensure_ascii=False)


def _pair(row: Mapping[str, Any], original: Sequence[float], rewritten: Sequence[float]) -> Pair:
    """Where the set has no solutions, their lengths are the mean lengths of the models' replies."""

    def length(column: str, replies: Sequence[float]) -> float:
        return tokens(row[column]) if isinstance(row.get(column), str) else fmean(replies)

    return Pair(
        row["original_question"],
        row["rewritten_question"],
        row["lean_proof"],
        length("original_solution", original),
        length("rewritten_solution", rewritten),
    )
