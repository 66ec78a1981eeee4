"""Closed arithmetic terms of Lean: their grammar, and their value where it is rational."""

from __future__ import annotations

import re
from fractions import Fraction

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])|(?P<root>Real\.sqrt\s+[0-9]+)(?![\w.])"
    r"|(?P<pi>Real\.pi)(?![\w.])|(?P<sign>[-+*/^()]))"
)
_MAX_EXPONENT = 1000
# Beyond these no value is calculated, neither here nor by Lean.
_MAX_BITS = 8_000
_LONGEST = 200


def is_expression(text: str) -> bool:
    """Whether the text is numbers, `Real.sqrt n` and `Real.pi` with `+ - * / ^` and brackets between them."""
    return _parse(text) is not None


def value(text: str) -> Fraction | None:
    """The exact value of such a text; None where it is no such text, is irrational, or divides by zero."""
    result = _parse(text)
    return result[0] if result else None


def _parse(text: str) -> tuple[Fraction | None] | None:
    # `--` begins a comment in Lean, and nothing divides by a literal zero on purpose.
    if len(text) > _LONGEST or "--" in text or re.search(r"/\s*0(?![.\d])", text):
        return None
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append((str(match.lastgroup), match[0].strip()))
        position = match.end()
    parser = _Parser(tokens)
    try:
        result = parser.sum()
    except ValueError:
        return None
    return (result,) if not parser.rest else None


class _Parser:
    """By precedence: sums, products, signs, powers, atoms. An irrational part makes the whole None."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.rest = tokens

    def sum(self) -> Fraction | None:
        left = self._product()
        while self._next("+", "-"):
            sign = self._take()
            right = self._product()
            left = None if left is None or right is None else left + right if sign == "+" else left - right
        return left

    def _product(self) -> Fraction | None:
        left = self._signed()
        while self._next("*", "/"):
            sign = self._take()
            right = self._signed()
            if sign == "/" and right == 0:
                raise ValueError("nothing divides by zero, and Lean's 1 / 0 is 0")
            left = None if left is None or right is None else left * right if sign == "*" else left / right
        return left

    def _signed(self) -> Fraction | None:
        if not self._next("-"):
            return self._power()
        self._take()
        operand = self._signed()
        return None if operand is None else -operand

    def _power(self) -> Fraction | None:
        base = self._atom()
        if not self._next("^"):
            return base
        self._take()
        exponent = self._signed()
        if exponent is not None and exponent.denominator != 1:
            raise ValueError("Lean may read the exponent as a natural number, and 1 / 2 as zero")
        if base is None or exponent is None or exponent < 0:
            return None
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if exponent > _MAX_EXPONENT or size * exponent > _MAX_BITS:
            raise ValueError("the power is too large to be calculated")
        return base ** int(exponent)

    def _atom(self) -> Fraction | None:
        if self._next("("):
            self._take()
            inner = self.sum()
            if not self._next(")"):
                raise ValueError("a bracket is not closed")
            self._take()
            return inner
        if not self.rest or self.rest[0][0] == "sign":
            raise ValueError("an operand is missing")
        kind = self.rest[0][0]
        text = self._take()
        return Fraction(text) if kind == "number" else None

    def _next(self, *signs: str) -> bool:
        return bool(self.rest) and self.rest[0][0] == "sign" and self.rest[0][1] in signs

    def _take(self) -> str:
        (_, text), *self.rest = self.rest
        return text
