"""Which proofs count. A proof is of a statement, and a candidate may be hostile: it may close the slot it stands in,
name what is asked for, or be another number than it reads. What is not understood is not proved.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from rltpf.prover.lean_text import scan
from rltpf.selection.candidates import plain, term, value_of
from rltpf.selection.choice import Judged
from rltpf.selection.statement import holds, read_statement

# A symbolic answer may restate the question: `x` is no answer to "What is x?", and x = x is proved.
_NUMBERS = re.compile(r"(?:[0-9\s.,+*/^()\[\]{}∪∞π√-]|\\(?:frac|sqrt|pi|infty|cup|left|right)(?![a-zA-Z]))*")
_COMMENT = re.compile(r"--|/-|-/")
# 269 is 13 in these types.
_WRAPPING = re.compile(r"(?<![\w.'])(?:Fin|ZMod|BitVec|U?Int(?:8|16|32|64)|[UI]Size|Char)(?![\w'])")


def doubt(item: Judged) -> str:
    """Why a proof of the candidate's statement is none of the candidate; empty where it is one."""
    own = term(item.candidate)
    text = plain(item.candidate)
    if own is None and (_COMMENT.search(text) or not _NUMBERS.fullmatch(text) or not re.search("[0-9]", text)):
        return "proved, and the answer is not numbers alone: it may restate the question"
    if _WRAPPING.search(scan(item.statement).code):
        return "proved, in a type whose numbers start again at zero"
    return "proved, and the goal does not hold the answer" if unheld(item) else ""


def unheld(item: Judged) -> bool:
    """Whether the goal is without the candidate, so that neither a proof nor a refutation is one of it."""
    own, statement = term(item.candidate), read_statement(item.statement)
    if own is not None:
        return not holds(statement, own)
    digits = _digits([token.text for token in statement.tokens])
    return not set(re.findall(r"[0-9]+", plain(item.candidate))) <= digits


def uncontradicted(judged: Sequence[Judged]) -> list[Judged]:
    """The candidates; where two of different values are proved, the proofs do not tell them apart and none counts."""
    if len({value_of(item.candidate) for item in judged if item.is_proved}) < 2:
        return list(judged)
    reason = "proved, and another answer is too"
    return [dataclasses.replace(item, proof="open", reason=reason) if item.is_proved else item for item in judged]


def without_refutations(judged: Sequence[Judged]) -> list[Judged]:
    """The candidates, and none of them refuted by an edit: the base gives its own answer, which refutes all others."""
    return [
        dataclasses.replace(item, proof="open", reason="refuted, by the answer that the base gives")
        if item.is_refuted and item.route != "formalised"
        else item
        for item in judged
    ]


def _digits(tokens: Sequence[str]) -> set[str]:
    return {digits for token in tokens for digits in re.findall(r"[0-9]+", token)}
