"""The retained set as a data set with a card. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eval.rewrite.records import Candidate
from rltpf import markdown as md

FILE = "rewritten.jsonl"


def rows(candidates: Iterable[Candidate]) -> list[dict[str, Any]]:
    """The paper's fields but for the proof."""
    return [
        {
            "id": candidate.id,
            "source": candidate.source,
            "level": candidate.level,
            "original_question": candidate.question,
            "original_answer": candidate.answer,
            "rewritten_question": candidate.rewrites[-1].question,
            "new_answer": candidate.rewrites[-1].answer,
        }
        for candidate in candidates
        if candidate.kept
    ]


def proved_rows(candidates: Sequence[Candidate], header: str, toolchain: str) -> list[dict[str, Any]]:
    """The paper's five fields, and what is needed to check each again: `rltpf lean check` takes the Lean ones."""
    rewrites = [candidate.rewrites for candidate in candidates if candidate.kept]
    return [
        {
            **row,
            "lean_proof": tried[-1].lean,
            "lean_statement": tried[-1].statement,
            "lean_header": header,
            "toolchain": toolchain,
            "axioms": list(tried[-1].axioms),
            "attempts": {
                "rewrites": len(tried),
                "statements": len(tried[-1].statements),
                "proofs": len(tried[-1].proofs),
            },
        }
        for row, tried in zip(rows(candidates), rewrites, strict=True)
    ]


def card(metrics: dict[str, Any], source: str, toolchain: str, method: str) -> str:
    """The README of the data set's folder, with the front matter that `datasets` reads."""
    candidates = metrics["candidates"]
    levels = md.table(
        ("stratum", "sampled", "retained", "generation rate"),
        [
            (row["level"] or "all", row["sampled"], row["retained"], f"{100 * row['generation_rate']:.1f} %")
            for row in metrics["levels"]
        ],
    )
    ends = md.table(("where the others ended", "candidates"), list(candidates["ended"].items()))
    proving = method == "repro"
    what = "an answer that Lean proved" if proving else f"an answer that nobody proved (the baseline {method})"
    return f"""---
configs:
- config_name: default
  data_files:
  - split: test
    path: {FILE}
task_categories:
- text-generation
---
# {source}, rewritten{" and proof-verified" if proving else ""}

{candidates["kept"]} problems, each a rewriting of one of {source} with {what}. Made with
`rltpf rewrite`, after *RePro: Proof-Verified Benchmark Rewriting* (arXiv:2609.00062). The licence of {source} holds for
what is made of it.

{levels}

{ends}

## Fields

{_PROVED.format(toolchain=toolchain) if proving else _UNPROVED}"""


_UNPROVED = """\
`original_question`, `original_answer`, `rewritten_question`, `new_answer`, `id`, `source`, `level`, and a `seal` over
all of them.
"""

_PROVED = """\
`original_question`, `original_answer`, `rewritten_question`, `new_answer` and `lean_proof`; besides `id`, `source`,
`level`, `lean_statement` (what was locked before anybody proved it), `lean_header` (what stands before both),
`toolchain` ({toolchain}), `axioms`, `attempts` (rewrites, statements and proofs that it took), and a `seal` over all of
them. `rltpf audit FOLDER` judges every row again.

## What is proved

Lean's kernel accepted `lean_proof` as a proof of `lean_statement`. `new_answer` is copied from it, and is what the
equations of the statement's conclusion give. Statements whose premises contradict each other, whose arithmetic is not
that of the rational numbers, or which another answer meets too were refused. That a statement says what its problem
says is the judgement of models, three times asked, and is not proved.
"""
