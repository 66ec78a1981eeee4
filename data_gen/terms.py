"""The language of claims: arithmetic over named rational quantities, and nothing whose Lean meaning differs from the
prose's.

In Lean `7 / 2 = 3` and `3 - 5 = 0` hold for naturals, `2 ^ (1 / 2) = 1` since exponents are naturals, and `5 / 0 = 0`
everywhere. A prose step that says so is wrong, and must not be verified by an accident of notation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w']*)|(?P<symbol>[-+*/^()]))")


class ForeignTerm(ValueError):
    """A term outside the language; the message says what is foreign."""


def tokens(term: str) -> list[str]:
    """Numerals, names and the symbols `+ - * / ^ ( )`; raises `ForeignTerm` at anything else."""
    found = []
    position = 0
    text = term.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ForeignTerm(f"`{text[position:].split()[0]}` in `{term.strip()}` is not arithmetic")
        found.append(match.group(match.lastgroup or 0))
        position = match.end()
    return found


def check_term(term: str, known: set[str]) -> None:
    """Raises `ForeignTerm` unless the term is arithmetic over numerals and known quantities, with numerals as
    exponents."""
    words = tokens(term)
    for index, word in enumerate(words):
        if (word[0].isalpha() or word[0] == "_") and word not in known:
            raise ForeignTerm(f"`{word}` in `{term.strip()}` is not a quantity of the question or of a definition")
        if word == "^" and not (index + 1 < len(words) and words[index + 1].isdecimal()):
            raise ForeignTerm(f"an exponent in `{term.strip()}` is not a natural numeral")
        # `f (x)` and `3 (x)` are applications in Lean, not products.
        if index and _ends_operand(words[index - 1]) and _begins_operand(word):
            raise ForeignTerm(f"an operator is missing before `{word}` in `{term.strip()}`")


def denominators(term: str) -> Iterator[str]:
    """What the term divides by, numerals other than zero left out."""
    words = tokens(term)
    for index, word in enumerate(words):
        if word != "/":
            continue
        divisor = _operand(words, index + 1)
        if not divisor.replace(".", "").isdecimal() or float(divisor) == 0:
            yield divisor


def has_names(term: str) -> bool:
    """Whether a term mentions any quantity; if not, Lean has to be told that it is a rational."""
    return re.search(r"[A-Za-z_]", term) is not None


def _ends_operand(word: str) -> bool:
    return word == ")" or word[0].isalnum() or word[0] == "_"


def _begins_operand(word: str) -> bool:
    return word == "(" or word[0].isalnum() or word[0] == "_"


def _operand(words: list[str], start: int) -> str:
    """The operand of `/` that begins here: a sign, then a numeral, a name or a bracketed term, with its power."""
    end = start
    while end < len(words) and words[end] == "-":
        end += 1
    depth = 0
    while end < len(words):
        depth += {"(": 1, ")": -1}.get(words[end], 0)
        end += 1
        if depth <= 0:
            break
    if end + 1 < len(words) and words[end] == "^":
        end += 2
    return " ".join(words[start:end])
