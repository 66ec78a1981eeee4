"""The card of a run's data sets, as the hub shows it: what is in them, from where, and how to check it again. Pure
functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

import rltpf
from data_gen.config import GenerateConfig
from data_gen.export import COLUMNS
from rltpf import markdown as md
from rltpf.datasets import public_name

_ROLES = ("formaliser", "back_translator", "judge", "solver")

_CONTENTS = {
    "sft": "verified answers to questions with no false answer",
    "dpo": "a verified answer over a false one to the same question",
    "unpaired": "every answer that Lean decided, and whether it is verified",
    "stepwise": "their steps, each with its verdict, up to the first false one",
}

_OPENING = """\
# Stepwise answers, judged by Lean

Word problems answered step by step by a language model. Lean, and nothing else, decided which answers are right: a step
is *verified* where Lean's kernel accepts a proof of its claim, and *false* where it accepts a proof of the negation.
Answers that Lean could not decide are in no data set. That a question is stated in Lean as it is meant was judged by a
model. `datasets.load_from_disk` opens this folder; a data set without rows is left out."""

_CHECKING = """\
Every row carries the Lean text of its verdict and a seal over all its columns. This judges every row anew from that
text, with a Lean of your own, and finds labels that Lean does not give:

```
rltpf lean install
rltpf audit FOLDER
```"""


def card(config: GenerateConfig, metrics: Mapping[str, Any]) -> str:
    """The card as Markdown, its first lines the YAML that the hub reads."""
    rows: dict[str, int] = metrics["rows"]
    sections = [
        f"---\n{yaml.safe_dump(_metadata(config, rows), sort_keys=False)}---",
        _OPENING,
        md.table(
            ("data set", "rows", "columns for TRL", "holds"),
            [
                (kind, f"{rows[kind]:,}", ", ".join(f"`{c}`" for c in COLUMNS[kind]), _CONTENTS[kind])
                for kind in COLUMNS
            ],
        ),
        "## How they were made",
        _origin(config, metrics),
        "## What became of questions and answers",
        md.table(("", "count"), _counts(metrics)),
        *_lengths(metrics["lengths"]),
        "## How to check them again",
        _CHECKING,
    ]
    return "\n\n".join(sections) + "\n"


def _metadata(config: GenerateConfig, rows: Mapping[str, int]) -> dict[str, Any]:
    return {
        "license": config.license or "unknown",
        "language": ["en"],
        "task_categories": ["text-generation"],
        "tags": ["math", "reasoning", "lean4", "synthetic", "trl", "rltpf"],
        "configs": [{"config_name": kind, "data_files": f"{kind}/*.arrow"} for kind, count in rows.items() if count],
    }


def _origin(config: GenerateConfig, metrics: Mapping[str, Any]) -> str:
    roles = (*(["generator"] if config.strategy == "reverse_qa" else []), *_ROLES)
    models: dict[str, list[str]] = {}
    for role in roles:
        models.setdefault(public_name(config.llm.for_role(role).model), []).append(role)
    made = "as they are" if config.strategy == "seed" else "made into new ones by reverse question answering"
    lines = [
        f"seed problems: {config.dataset.title}, licence {config.license or 'unknown'}; their questions {made}",
        *(
            f"model: {model} ({', '.join(tasks)}), whose terms may bind the use of its answers"
            for model, tasks in models.items()
        ),
        f"Lean: {metrics['lean']['toolchain']}",
        f"rltpf {rltpf.__version__}: {config.answers_per_question} answers a question, at most {config.repairs} "
        f"repairs of a formalisation, seed {config.seed}",
        "prompts: " + ", ".join(f"{name} {version}" for name, version in metrics["prompts"].items()),
    ]
    if config.decontaminate.datasets:
        sets = "; ".join(dataset.title for dataset in config.decontaminate.datasets)
        lines.append(f"without questions that share {config.decontaminate.ngram_size} words in a row with {sets}")
    return "\n".join(f"- {line}" for line in lines)


def _counts(metrics: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    questions, answers = metrics["questions"], metrics["answers"]
    counts = {
        "questions": questions["in"],
        **{f"lost: {reason}": count for reason, count in questions["lost"].items()},
        "kept": questions["kept"],
        # A run without a word of them would pass for complete.
        **({"without a verdict yet": questions["unfinished"]} if questions["unfinished"] else {}),
        "answers": answers["in"],
        **{verdict: answers[verdict] for verdict in ("verified", "false", "error")},
    }
    return ((name, f"{count:,}") for name, count in counts.items())


def _lengths(lengths: Mapping[str, Any]) -> list[str]:
    """Chosen against rejected, where there are pairs."""
    if not lengths["words"]["chosen"]:
        return []
    columns = ("min", "median", "mean", "max")
    spread = [
        (f"{side}, {unit}", *(f"{lengths[unit][side][column]:,}" for column in columns))
        for unit in ("words", "characters")
        for side in ("chosen", "rejected")
    ]
    longer = (
        "{chosen_longer:,} chosen answers have more words than the rejected one, and {rejected_longer:,} have fewer."
    )
    return ["## Lengths in `dpo`", md.table(("", *columns), spread), longer.format(**lengths)]
