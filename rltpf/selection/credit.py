"""Which proofs count. A proof is of a statement, and a candidate may be hostile: it may close the slot it stands in,
name what is asked for, or be another number than it reads. What is not understood is not proved.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence

from rltpf.prover.lean_text import scan
from rltpf.selection.candidates import plain, term, value_of
from rltpf.selection.choice import Judged
from rltpf.selection.statement import bounds, holds, read_statement

# A symbolic answer may restate the question: `x` is no answer to "What is x?", and x = x is proved.
_NUMBERS = re.compile(r"(?:[0-9\s.,+*/^()\[\]{}∪∞π√-]|\\(?:frac|sqrt|pi|infty|cup|left|right)(?![a-zA-Z]))*")
_COMMENT = re.compile(r"--|/-|-/")
# Words beside a number count, ten million, or part, 5 or more; a function that drops them writes another answer.
_WORDS = re.compile(r"%|(?<![\\A-Za-z])[A-Za-z]{2,}|\\(?:text|mathrm|mbox)(?![a-zA-Z])")
_PARTED = re.compile(r"[,;∪]|\\cup(?![a-zA-Z])")
_INFINITE = re.compile(r"[-+]?(?:∞|\\infty)")
_POWER = re.compile(r"\^\{(\d+)\}(?!\d)")
_BRACKETS = ("([{", ")]}")
# A variable, or a function such as \\ln: no number, and its meaning is the statement's.
_SYMBOL = re.compile(
    r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|\\(?!(?:frac|sqrt|pi|infty|pm|mp|cup|circ|left|right)(?![a-zA-Z]))[a-zA-Z]{2,}"
)
_NUMBER = re.compile(r"(?<!\w)\d+(?:\.\d+)?")
_ROOT = re.compile(r"\\sqrt|(?:Real\.|\b)sqrt\b|√")
_FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
# 269 is 13 in these types.
_WRAPPING = re.compile(r"(?<![\w.'])(?:Fin|ZMod|BitVec|U?Int(?:8|16|32|64)|[UI]Size|Char)(?![\w'])")


def doubt(item: Judged) -> str:
    """Why a proof of the candidate's statement is none of the candidate; empty where it is one."""
    own = term(item.candidate)
    text = plain(item.candidate)
    if own is None and (_COMMENT.search(text) or not _NUMBERS.fullmatch(text) or not re.search("[0-9]", text)):
        return "proved, and the answer is not numbers alone: it may restate the question"
    if own is None and not is_clear(text):
        return "proved, and the answer has no one meaning"
    if _WRAPPING.search(scan(item.statement).code):
        return "proved, in a type whose numbers start again at zero"
    if unheld(item):
        return "proved, and the goal does not hold the answer"
    return "proved, and so is a bound for other numbers" if own and bounds(read_statement(item.statement), own) else ""


def unheld(item: Judged) -> bool:
    """Whether the goal is without the candidate, so that neither a proof nor a refutation is one of it."""
    own, statement = term(item.candidate), read_statement(item.statement)
    if own is not None:
        return not holds(statement, own)
    text = plain(item.candidate)
    return not is_clear(text) or bool(_numbers(text) - _numbers(" ".join(token.text for token in statement.tokens)))


def is_clear(text: str) -> bool:
    """Whether the numbers of a plain candidate have one meaning: (1, 1/2), but neither 2½, ±3, 50 % nor 10 million."""
    if not re.search("[0-9]", text):
        return True
    parts = [_unbracketed(part.strip()) for part in _PARTED.split(text.replace("\\{", "(").replace("\\}", ")"))]
    return not _WORDS.search(text) and all(_is_clear(part) for part in parts)


def _is_clear(part: str) -> bool:
    if not part or _SYMBOL.search(part) or _INFINITE.fullmatch(part):
        return True
    return term(_POWER.sub(r"^\1", part)) is not None


def _unbracketed(part: str) -> str:
    """A part of a list without the list's own brackets, those without a partner in it."""
    opening, closing = _BRACKETS
    while (excess := sum((c in opening) - (c in closing) for c in part)) and part:
        if excess > 0 and part[0] in opening:
            part = part[1:].strip()
        elif excess < 0 and part[-1] in closing:
            part = part[:-1].strip()
        else:
            break
    return part[1:-1].strip() if part[:1] in ("{", "[") and part[-1:] in ("}", "]") else part


def _numbers(text: str) -> Counter[str]:
    """The numbers of a text with their signs, each as often as it stands there; the minus of `x - 3` is no sign."""
    text = _ROOT.sub(" ", _FRACTION.sub(r"\1/\2", text))
    found = Counter[str]()
    for match in _NUMBER.finditer(text):
        before = text[: match.start()].rstrip("({ ")
        negative = before.endswith("-") and not re.search(r"[\w)\]}]$", before[:-1].rstrip())
        found[f"-{match[0]}" if negative and match[0].strip("0.") else match[0]] += 1
    return found


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
