"""Answers in LaTeX or plain text as Lean terms over the rationals, for those that are expressions in arithmetic.

Precision first: what is not surely understood is None. Every letter, `\\pi` and the square root stand for any value or
function: what holds of all holds of these, and no fact about them is used, as that the root of 4 is 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from eval.extraction import number, spelled

_TOKEN = re.compile(r"\s*(?:\d*\.\d+|\d+|\\[a-zA-Z]+|[a-zA-Z](?![a-zA-Z])|[-+*/^(){}×÷·])")
_SIGNS = {"×": "*", "·": "*", "÷": "/", r"\times": "*", r"\cdot": "*", r"\div": "/"}
_FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac")
_LONGEST = 200
_DEEPEST = 20
_MOST_BITS = 3_000

Node = tuple[str, Fraction]
"""A Lean term, and its value where every letter has a value of its own: no divisor that is always 0 escapes it, and
Lean's `x / 0` is 0."""


@dataclass(frozen=True)
class Expression:
    """A Lean term of type `Rat`, and the variables in it with their types."""

    term: str
    variables: dict[str, str] = field(default_factory=dict)


def read(answer: str) -> Expression | None:
    """The answer as an expression: a number, with its unit or without, or what is calculated from numbers and letters;
    None for all else: words, pairs, sets, equations."""
    value = number(answer)
    if value is not None:
        return Expression(f"({value.numerator} / {value.denominator})")
    text = spelled(answer)
    if len(text) > _LONGEST:
        return None
    try:
        return _Reader(_tokens(text)).read()
    except _Unread:
        return None


class _Unread(Exception):
    """The text is no expression that is surely understood."""


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _Unread
        token = match.group().strip()
        tokens.append(_SIGNS.get(token, token))
        position = match.end()
    return tokens


class _Reader:
    """A recursive descent over the tokens of one expression; brackets in the term say how it was read."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._variables: dict[str, str] = {}

    def read(self) -> Expression:
        term, _ = self._sum()
        if self._token:
            raise _Unread
        return Expression(term, self._variables)

    @property
    def _token(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._token
        if not token or (expected and token != expected):
            raise _Unread
        self._next += 1
        return token

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unread
        sign = self._take() if self._token in ("-", "+") else ""
        term, value = self._product()
        if sign == "-":
            term, value = f"(-{term})", -value
        while self._token in ("-", "+"):
            operator = self._take()
            right, number = self._product()
            term, value = f"({term} {operator} {right})", value + number if operator == "+" else value - number
        self._depth -= 1
        return term, value

    def _product(self) -> Node:
        node, divided = self._power(), False
        while True:
            if self._token == "/":
                self._take()
                node, divided = _quotient(node, self._power()), True
            elif self._token == "*" or self._follows():
                if self._token == "*":
                    self._take()
                elif divided:
                    # `1 / 2x` is read in both ways.
                    raise _Unread
                right, number = self._power()
                node = f"({node[0]} * {right})", node[1] * number
            else:
                return node

    def _follows(self) -> bool:
        """Whether the next token is a factor without a sign before it; `f(x)`, `x2`, `2 3` and words are none."""
        before, token = self._tokens[self._next - 1], self._token
        if not token or token in "+-*/^)}{":
            return False
        if token[0] in ".0123456789" or (before.isalpha() and (token == "(" or token.isalpha())):
            raise _Unread
        return True

    def _power(self) -> Node:
        term, value = self._base()
        if self._token != "^":
            return term, value
        self._take()
        braced = self._token == "{"
        exponent = self._take("{") and self._take() if braced else self._take()
        if braced:
            self._take("}")
        if not re.fullmatch("[0-9]{1,4}", exponent) or self._token == "^":
            raise _Unread
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        if bits * int(exponent) > _MOST_BITS:
            raise _Unread
        return f"({term} ^ {int(exponent)})", value ** int(exponent)

    def _base(self) -> Node:
        token = self._take()
        if token == "(":
            return self._until(")")
        if token in _FRACTIONS:
            self._take("{")
            above = self._until("}")
            self._take("{")
            return _quotient(above, self._until("}"))
        if token == r"\sqrt":
            self._take("{")
            term, value = self._until("}")
            self._variables["root"] = "Rat → Rat"
            return f"(root {term})", _of_its_own(7) + value
        if token[0] in ".0123456789":
            exact = Fraction(token)
            return f"({exact.numerator} / {exact.denominator})", exact
        if token == r"\pi" or (len(token) == 1 and token.isalpha()):
            name = token.lstrip("\\")
            self._variables[f"v_{name}"] = "Rat"
            return f"v_{name}", _of_its_own(sum(map(ord, name)))
        raise _Unread

    def _until(self, closing: str) -> Node:
        node = self._sum()
        self._take(closing)
        return node


def _quotient(above: Node, below: Node) -> Node:
    if below[1] == 0:
        raise _Unread
    return f"({above[0]} / {below[0]})", above[1] / below[1]


def _of_its_own(number: int) -> Fraction:
    return Fraction(number * number + 13, 101)
