"""Explicit calculations in prose, such as `16 - 3 - 4 = 9`, evaluated exactly.

Precision first: a calculation that is not surely understood is left alone. Units, words and percent signs between the
numbers, rounding, remainders and clock times make it so.
"""

from __future__ import annotations

import re
from fractions import Fraction

from rltpf.numbers import plain_signs

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_TERM = rf"[$€£]?\s*(?:{_NUMBER})"
_OPERATOR = r"[-+*/×·÷]|(?<=[\d\s)])x(?=[\s\d($])"
# Numbers, operators and brackets, and nothing else, on both sides of at least one `=`.
_SIDE = rf"[(\s]*{_TERM}[)\s]*(?:(?:{_OPERATOR})[(\s]*{_TERM}[)\s]*)*"
_EQUATION = re.compile(rf"(?<![\w.,:%])(?P<chain>{_SIDE}(?:=\s*-?{_SIDE})+)")
# Before a calculation these take its first number for themselves: "half of 10 + 4 = 9".
_TAKES_A_NUMBER = re.compile(
    r"(?:\b(?:of|times|plus|minus|by|than|half|twice|double|triple|per|x)|\b(?:day|week|month|year|number)|"
    r"\d\s+and|[-+*/×÷·^%=)√\d])\s*[(]?\s*$",
    re.IGNORECASE,
)
# After a calculation these say that its last number is not the whole result.
_GOES_ON = re.compile(r"[a-z]|\s*(?:[-+*/×÷·^%:¢]|remainder\b|cents?\b|r\s?\d|\.\.\.|x\s*\d|[\w.,]*\d)", re.IGNORECASE)
_VAGUE = re.compile(r"\b(?:round|rounded|rounding|about|approximately|roughly|nearly|almost)\b|≈|~", re.IGNORECASE)


def wrong_calculations(text: str) -> list[str]:
    """The explicit calculations of a text that are surely wrong, as written."""
    if _VAGUE.search(text):
        return []
    written, text = text, plain_signs(text)
    wrong = []
    for match in _EQUATION.finditer(text):
        chain = match["chain"].rstrip()
        if _TAKES_A_NUMBER.search(text, 0, match.start()) or _GOES_ON.match(text, match.start() + len(chain)):
            continue
        sides = [side.strip() for side in chain.split("=")]
        values = [_value(side) for side in sides]
        pairs = zip(sides, sides[1:], values, values[1:], strict=False)
        # A number alone on the left is no calculation: "Week 1 + Week 2 = 35 + 35".
        if any(
            not re.fullmatch(rf"-?\s*{_TERM}", left_side)
            and None not in (left, right)
            and left != right
            and not _rounded(left, right, right_side)
            for left_side, right_side, left, right in pairs
        ):
            wrong.append(written[match.start() : match.start() + len(chain)].lstrip())
    return wrong


def _rounded(exact: Fraction | None, written: Fraction | None, side: str) -> bool:
    """Whether a number without an end was cut to the digits that are written: `10 / 3 = 3.33`."""
    assert exact is not None
    assert written is not None
    denominator = exact.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    decimals = len(side.partition(".")[2].strip(" )"))
    return denominator != 1 and abs(exact - written) < Fraction(1, 10**decimals)


def _value(side: str) -> Fraction | None:
    """The value of a side; None where its brackets do not match or it divides by zero."""
    text = re.sub(r"[$€£,\s]", "", side)
    for written, meant in (("×", "*"), ("·", "*"), ("x", "*"), ("÷", "/")):
        text = text.replace(written, meant)
    words = re.findall(r"\d*\.?\d+|[-+*/()]", text)
    try:
        value, rest = _sum(words)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return value if not rest else None


def _sum(words: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _product(words)
    while rest and rest[0] in "+-":
        term, after = _product(rest[1:])
        value = value + term if rest[0] == "+" else value - term
        rest = after
    return value, rest


def _product(words: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _factor(words)
    divisions = 0
    while rest and rest[0] in "*/":
        divisions += rest[0] == "/"
        if divisions > 1:
            raise ValueError("`60 / 3/4` may divide by three quarters")
        factor, after = _factor(rest[1:])
        value = value * factor if rest[0] == "*" else value / factor
        rest = after
    return value, rest


def _factor(words: list[str]) -> tuple[Fraction, list[str]]:
    word, rest = words[0], words[1:]
    if word == "-":
        value, rest = _factor(rest)
        return -value, rest
    if word != "(":
        return Fraction(word), rest
    value, rest = _sum(rest)
    if rest[0] != ")":
        raise ValueError("unbalanced brackets")
    return value, rest[1:]
