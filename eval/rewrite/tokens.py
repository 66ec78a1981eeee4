"""Lean text and answers as tokens with their places. Pure functions.

A copy that is compared token by token cannot be taken for a part of something longer: 17 is no token of `170`, `h17`,
`17.5`, `x.17` or `10e-17`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rltpf.prover.lean_text import scan

_NAME = r"(?:[^\W\d][\w'!?]*|«[^»\n]*»)"
_TOKEN = re.compile(
    rf"(?P<name>{_NAME}(?:\.(?:{_NAME}|\d+))*)"  # with its projections: `h.2` holds no number
    r"|(?P<number>\d\w*(?:\.\d\w*)?(?:(?<=[eE])[+-]\d+)?)"
    r"|\.\d+|:=|=>|<->|->|<=|>=|!=|==|=ᶠ|/\\|\\/|<;>|\|\||&&|<\||\|>|\S"
)
_SPELLINGS = {"->": "→", "<->": "↔", "<=": "≤", ">=": "≥", "!=": "≠", "/\\": "∧", "\\/": "∨", "↦": "=>"}
# What prints instead of proving. Most never passes the gate; a proof may have `#check` and `#print`. Within a line `#s`
# may be the number of a set's elements.
_PRINTING = re.compile(
    r"#(?:eval|reduce|check|print|guard|synth|simp|norm_num|whnf|exit)\w*[!?]?|(?m:^)[ \t]*#(?!v\[)[A-Za-z_]\w*[!?]?"
)
_COMMAND = re.compile(
    r"\n(?=(?:theorem|lemma|def|abbrev|example|instance|structure|class|inductive|namespace|section|end|open|variable|"
    r"universe|set_option|attribute|noncomputable|private|protected)\b|@\[|#)"
)
BRACKETS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⦃": "⦄", "⌊": "⌋", "⌈": "⌉", "⟦": "⟧", "⟪": "⟫", "‹": "›"}


class Token(NamedTuple):
    """A token, spelled as Lean prints it, and its place in the text."""

    text: str
    kind: str
    """`name`, `number` or `sign`."""
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The tokens of a text without comments."""
    return [
        Token(_SPELLINGS.get(match.group(), match.group()), match.lastgroup or "sign", match.start(), match.end())
        for match in _TOKEN.finditer(text)
    ]


def proving_text(lean: str) -> str | None:
    """A Lean text with spaces for comments, strings, and commands that print; None where its parts are not plain."""
    found = scan(lean)
    if found.problems:
        return None
    code = found.code
    position = 0
    while command := _PRINTING.search(code, position):
        after = _COMMAND.search(code, command.end())
        position = after.start() if after else len(code)
        code = code[: command.start()] + re.sub(r"[^\n]", " ", code[command.start() : position]) + code[position:]
    return code


def closers(found: Sequence[Token]) -> dict[int, int]:
    """For the number of each opening bracket, that of the one which closes it; those without a partner are left out."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for number, token in enumerate(found):
        if token.text in BRACKETS:
            opened.append(number)
        elif opened and token.text == BRACKETS[found[opened[-1]].text]:
            partners[opened.pop()] = number
    return partners


def is_balanced(found: Sequence[Token]) -> bool:
    """Whether every bracket has its partner."""
    signs = {*BRACKETS, *BRACKETS.values()}
    return 2 * len(closers(found)) == sum(token.text in signs for token in found)


def outside_brackets(found: Sequence[Token]) -> Iterator[int]:
    """The numbers of the tokens that are in no bracket; of a bracket without a partner, nothing after it."""
    partners = closers(found)
    number = 0
    while number < len(found):
        if found[number].text in BRACKETS:
            if number not in partners:
                return
            number = partners[number]
        else:
            yield number
        number += 1


def split(found: Sequence[Token], sign: str) -> list[Sequence[Token]]:
    """The parts between a sign that is in no bracket."""
    cuts = [-1, *(n for n in outside_brackets(found) if found[n].text == sign), len(found)]
    return [found[before + 1 : after] for before, after in pairwise(cuts)]
