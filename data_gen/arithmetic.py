"""Explicit calculations in prose, such as `16 - 3 - 4 = 9`, `<<48/2=24>>` or `25% of 80 is 20`, as Lean claims.

No model is asked. Precision first: a calculation that is not surely understood is left alone, with the reason. The
exact arithmetic here only says which claims are worth a refutation; whether one is false is for Lean to prove.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from data_gen.units import UNIT, may_convert, mixed
from rltpf.numbers import plain_signs


@dataclass(frozen=True)
class Calculation:
    """A calculation as written, its claim (see `formal.proposition`), the exact value of what is calculated, and
    whether the claim holds; or else the reason why it was left alone."""

    text: str
    claim: str = ""
    value: Fraction | None = None
    holds: bool | None = None
    reason: str = ""

    def __str__(self) -> str:
        return self.text


def calculations(text: str) -> list[Calculation]:
    """The explicit calculations of a text: those of `<<...>>`, then those of the prose around them."""
    found = [_read(match[0], match[1].strip(), text) for match in _ANNOTATION.finditer(text)]
    found += _in_prose(_ANNOTATION.sub("", text))
    for words, reason in ((_VAGUE, "rounding word"), (_TAKEN_BACK, "taken back")):
        if words.search(text):
            return [Calculation(calculation.text, reason=reason) for calculation in found]
    return found


def wrong_calculations(text: str) -> list[Calculation]:
    """The explicit calculations of a text that come to something else than is written."""
    return [calculation for calculation in calculations(text) if calculation.holds is False]


_SPACE = r"[^\S\n]*"
_NUMBER = r"(?:[0-9]{1,3}(?:(?:,|\{,\})[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_AMOUNT = rf"(?:(?:\\?\$|[€£]){_SPACE})?(?:{_NUMBER})"
_FRACTION = rf"\\[dt]?frac\{{(?:{_NUMBER})\}}\{{(?:{_NUMBER})\}}"
# `--`, `->`, `**`, `//`, `==` and `=>` are none of ours, and an `x` between letters is none either.
_OPERATOR = (
    r"(?<!-)-(?![->])|\+|(?<!\*)\*(?!\*)|(?<!/)/(?!/)|[×·÷]|\\(?:times|cdot|div)(?![a-z])|"
    r"(?<=[0-9)])x(?=[0-9.$])|(?<=\s)x(?=\s+[0-9(.$\\])"
)
# A formula may end before it: `$3 \times 4$ is 12`.
_EQUALS = rf"(?:(?:\$|\\\)){_SPACE})?(?:(?<![<>!:≠=])=(?![=>])|\bequals\b|\bis(?=\s+{_AMOUNT}))"
_BRACKET = rf"\((?={_SPACE}[-(0-9.$€£\\])|\)"
_SIGN = rf"\\?%|{_OPERATOR}|{_BRACKET}|\bof(?={_SPACE}[0-9.$€£(\\])"
_TOKEN = re.compile(
    rf"{_SPACE}(?:(?P<fraction>{_FRACTION})|(?P<amount>{_AMOUNT})|(?P<equals>{_EQUALS})|(?P<sign>{_SIGN})|{UNIT})"
    rf"{_SPACE}"
)
# As many tokens as follow each other: what is around them says whether they are a whole calculation.
_RUN = re.compile(
    rf"(?:(?:(?<![\w.,:%])|(?<=[a-z]{{3}}:))(?:{_FRACTION}|{_AMOUNT}|\()|(?<![<>!:≠=])=(?![=>]))"
    rf"(?:{_SPACE}(?:{_FRACTION}|{_AMOUNT}|{_EQUALS}|{_SIGN}|{UNIT}))*"
)
# What is calculated comes after the first `=`: "the cost of 3 is 3 * 5 = 15".
_NAMED = re.compile(rf"(?:{_AMOUNT})?(?:\\?%)?{_SPACE}(?:{UNIT}{_SPACE})?(?:{_EQUALS})")
_ANNOTATION = re.compile(r"<<([^<>]*)>>")
_MEANT = {"×": "*", "·": "*", "x": "*", r"\times": "*", r"\cdot": "*", "÷": "/", r"\div": "/", r"\%": "%"}
_FORM = "not one expression on each side"
# More of either are no calculations of word problems, and Python and Lean have limits of their own.
_MOST_TOKENS, _MOST_DIGITS = 100, 20
# Into how many a whole is cut without a word.
_MOST_PARTS = 20

# "a profit of 70 - 40 = 30" is the profit itself, "half of 10 + 4 = 9" is not half of the calculation.
_OF = (
    "".join(
        rf"(?<!\b{noun} )"
        for noun in (
            *("total", "profit", "cost", "price", "amount", "distance", "length", "width", "height", "area", "volume"),
            *("speed", "weight", "value", "balance", "loss", "discount", "score", "salary", "income", "elevation"),
        )
    )
    + "of"
)
# Before a calculation these take its first number for themselves: "half of 10 + 4 = 9", "14, 400 / 80 = 180".
_TAKES_A_NUMBER = re.compile(
    rf"(?:\b(?:{_OF}|times|plus|minus|by|than|half|twice|double|triple|per|x|log|ln|sin|cos|tan|root|mod|"
    r"not|if)"
    r"(?:\s+(?:the|all|his|her|its|their|these|those))?|"
    r"\b(?:day|week|month|year|number)s?|\d\s+and|\d\s*[,!]|\\[a-z]+|n['’]t|[-+*/×÷·^%=)}\]√\d½¼¾]|[-+*/×÷·^]\s*\.)\s*[(]?\s*$",
    re.IGNORECASE,
)
# After a calculation these say that its last number is not the whole result, or not surely a number of ones.
_GOES_ON = re.compile(
    r"[\w({]|\s*\\(?!text|mathrm|quad|[^a-z])|\$?\s*(?:[-+*/×·÷^%:¢½¼¾⅓⅔⅛!?]|\.\.\.|…|(?![mglhs]\b)[b-z]\d?\b|x\s*\d|[\w.,]*\d|"
    r"r\s?\d|[^.]{0,20}\bremainder\b|[ap]\.?m\b|o['’]clock|"
    r"(?:cents?|percent|dozen|hundred|thousand|million|billion|trillion|halves|thirds|quarters|full|whole|complete|times)\b|"
    r"(?:more|less|fewer|greater)\s+than\b|(?:or|to)\s+\d|and\s+(?:a\b|one\b|\d+/\d))",
    re.IGNORECASE,
)
# "3 * 4 is 2 more than 10": after `is` a number has to be all that is said, with a word for what it counts.
_ENDS = re.compile(r"\$?(?:\s+(?!more|less|fewer|short|off|too|in|out|per)[a-z]+)?\s*(?:[.,;!?)]|$)", re.IGNORECASE)
_VAGUE = re.compile(
    r"\b(?:round|rounded|rounding|rounds|about|around|approximately|approx|roughly|nearly|nearest|almost|estimate[sd]?)\b|"
    r"[≈≅≃~⌊⌈]|\\approx",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:wrong|wrongly|incorrect|incorrectly|mistake|mistaken|oops|correction)\b|\bwait[,.!:]", re.IGNORECASE
)
# "3 bags with 5 pears + 2 pears = 17": what is counted may be only the end of what is meant.
_COUNTS = re.compile(UNIT)
_JOINED = re.compile(
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|both|each|every)\b)"
    r"(?:(?!\b(?:so|because|then|means?|total|is|are)\b)[^.;:=\d]){0,30}$",
    re.IGNORECASE,
)


def _in_prose(written: str) -> Iterator[Calculation]:
    text = plain_signs(written)
    for match in _RUN.finditer(text):
        start, end = match.span()
        run = written[start:end].lstrip("= ")
        if not re.search(_OPERATOR + r"|\bof\b|\\d?frac", match[0]) or not re.search(_EQUALS, match[0]):
            continue
        before = text[max(0, start - 40) : start]
        joined = _COUNTS.search(match[0]) and _JOINED.search(before)
        if not _NAMED.match(match[0]) and (joined or _TAKES_A_NUMBER.search(before)):
            yield Calculation(run, reason="goes on before it")
        elif _GOES_ON.match(text, end) or (re.search(r"\bis\b", match[0]) and not _ENDS.match(text, end)):
            yield Calculation(run, reason="goes on after it")
        elif mixed(match[0], text[end:]):
            yield Calculation(run, reason="may be of different units")
        else:
            yield _read(run, match[0], text)


def _read(written: str, text: str, context: str) -> Calculation:
    """The calculation of a text that holds nothing else, out of a context."""
    try:
        tokens = _tokens(plain_signs(text))
        if len(tokens) > _MOST_TOKENS:
            raise _LeftAlone("too long")
        sides = [_Side(side) if side else None for side in _split(tokens)]
    except _LeftAlone as error:
        return Calculation(written, reason=str(error))
    # A number alone on the left is no calculation: "Week 1 + Week 2 = 35 + 35".
    pairs = [(left, right) for left, right in pairwise(sides) if left and right and left.operations]
    if not pairs:
        return Calculation(written, reason="nothing is calculated")
    for left, right in pairs:
        if left.value != right.value and (doubt := _doubt(left, right, context)):
            return Calculation(written, reason=doubt)
    claim = " ∧ ".join(f"{left.lean} = {right.lean}" for left, right in pairs)
    return Calculation(written, claim, pairs[0][0].value, all(left.value == right.value for left, right in pairs))


def _doubt(left: _Side, right: _Side, context: str) -> str:
    """Why two sides that differ may be right all the same; empty where nothing says so."""
    if left.mixed or right.mixed:
        return "percentages and numbers"
    if left.readings() & right.readings():
        return "brackets left out"
    if _rounded(left.value, left, right) or (right.is_percentage and _rounded(left.value / 100, left, right)):
        return "rounded"
    if may_convert(left.value, right.value, context):
        return "may be in another unit"
    # `1/4 = 8` may say that a quarter of the whole is 8, and `3/3 - 2/3 = 1/3 of 150` which part of it is left.
    if (left.is_fraction and right.value >= 1) or right.is_share:
        return "a share"
    # In `5 + 5 = 10 + 2 = 12` the total runs on, in `He has 8 - 2 * 4 = 8` the sign may be a dash.
    if right.operations and right.head == left.value:
        return "a running total"
    if left.value == -right.value:
        return "a difference, without its sign"
    if right.value in left.tails():
        return "a dash or a minus"
    return ""


def _rounded(exact: Fraction, left: _Side, right: _Side) -> bool:
    """Whether the exact value has more digits than are written, and was cut or rounded to these: `10 / 3 = 3.33`."""
    difference = abs(exact - right.value)
    whole = exact.denominator == right.value.denominator == 1
    # What is calculated with may have been rounded before: `1.33 * 300 = 400`.
    if (left.scales_decimals or (right.operations and not whole)) and difference <= abs(exact) / 100:
        return True
    unit = Fraction(1, 10**right.digits)
    return not right.operations and (exact / unit).denominator != 1 and difference < unit


class _LeftAlone(Exception):
    """What is not surely understood; the message is the reason."""


def _tokens(text: str) -> list[str]:
    """Numerals, `+ - * / % ( ) =` and `of`, without units; raises `_LeftAlone` at anything else."""
    found: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _LeftAlone("not arithmetic alone")
        position = match.end()
        if match["fraction"]:
            over, under = re.findall(rf"\{{({_NUMBER})\}}", match["fraction"])
            found += ["(", _numeral(over), "/", _numeral(under), ")"]
        elif match["amount"]:
            found.append(_numeral(match["amount"]))
        elif match["equals"]:
            found.append("=")
        elif match["sign"]:
            found.append(_MEANT.get(match["sign"], match["sign"]))
    return found


def _numeral(amount: str) -> str:
    numeral = re.sub(r"[^0-9.]", "", amount)
    if len(numeral) > _MOST_DIGITS:
        raise _LeftAlone("too long")
    if re.match(r"0[0-9]", numeral):
        raise _LeftAlone("a clock time or code")
    return f"0{numeral}" if numeral.startswith(".") else numeral


def _split(tokens: list[str]) -> list[list[str]]:
    """The sides between `=`; brackets around all of them are dropped."""
    sides: list[list[str]] = [[]]
    for token in tokens:
        if token == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    first, last = sides[0], sides[-1]
    if first[:1] == ["("] and first.count("(") == first.count(")") + 1:
        del first[0]
    if last[-1:] == [")"] and last.count(")") == last.count("(") + 1:
        del last[-1]
    if not all(sides[1:]):
        raise _LeftAlone(_FORM)
    return sides


class _Side:
    """A side of an equation, read by recursive descent: its Lean text and its value.

    `digits` are those that are written behind the point of a number alone.
    """

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0
        self.operations = 0
        self.mixed = False
        self.lean, self.value = self._sum()
        if self._position < len(tokens):
            raise _LeftAlone(_FORM)
        self.is_percentage = tokens[-1] == "%"
        number = tokens[-2 if self.is_percentage else -1]
        self.digits = len(number.partition(".")[2]) + 2 * self.is_percentage

    @property
    def is_fraction(self) -> bool:
        return self._tokens[1:-1] == ["/"] and 0 < self.value < 1 and Fraction(self._tokens[2]) <= _MOST_PARTS

    @property
    def scales_decimals(self) -> bool:
        return any("." in token for token in self._tokens) and any(token in ("*", "/") for token in self._tokens)

    @property
    def is_share(self) -> bool:
        return "of" in self._tokens

    @property
    def head(self) -> Fraction | None:
        """The value of its first number."""
        return Fraction(self._tokens[0]) if self._tokens[0][0].isdecimal() else None

    def readings(self) -> set[Fraction]:
        """Its value, and those that it may be meant to have: `60 / 3/4` and `50 / 12+13` may divide by all that
        follows."""
        quotients = {over.value / under.value for over, under in self._parted("/") if under.value}
        return {self.value, *quotients}

    def tails(self) -> set[Fraction]:
        """The values of the calculations that follow a `-`."""
        return {tail.value for _, tail in self._parted("-") if tail.operations}

    def _parted(self, sign: str) -> Iterator[tuple[_Side, _Side]]:
        """What is before a sign and after it, for each that is not within brackets."""
        for index, token in enumerate(self._tokens):
            if token == sign:
                with suppress(_LeftAlone):
                    yield _Side(self._tokens[:index]), _Side(self._tokens[index + 1 :])

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self, *wanted: str) -> str:
        """The next token if it is one of those wanted, which then counts as read; else empty."""
        token = self._peek()
        if token not in wanted:
            return ""
        self._position += 1
        return token

    def _sum(self) -> tuple[str, Fraction]:
        lean, value, percentage = self._product()
        while sign := self._next("+", "-"):
            self.operations += 1
            term, amount, is_percentage = self._product()
            lean = f"{lean} {sign} {term}"
            value = value + amount if sign == "+" else value - amount
            # `200 - 25% = 150` takes a quarter of the 200 away.
            self.mixed |= is_percentage != percentage
        return lean, value

    def _product(self) -> tuple[str, Fraction, bool]:
        """The Lean text, the value, and whether it is a percentage alone."""
        start = self._position
        lean, value = self._factor()
        percentage = self._tokens[self._position - 1] == "%"
        divided = False
        while sign := self._next("*", "/", "of"):
            before = self._tokens[start : self._position - 1]
            if sign == "of" and not (percentage or before[1:-1] == ["/"] or before[2:-2] == ["/"]):
                raise _LeftAlone(_FORM)
            divided = sign == "/"
            percentage = False
            self.operations += 1
            factor, amount = self._factor()
            if divided and not amount:
                raise _LeftAlone("divided by zero")
            lean = f"{lean} {'/' if divided else '*'} {factor}"
            value = value / amount if divided else value * amount
        return lean, value, percentage

    def _factor(self) -> tuple[str, Fraction]:
        if sign := self._next("+", "-"):
            lean, value = self._factor()
            return (f"(-{lean})", -value) if sign == "-" else (lean, value)
        if self._next("("):
            lean, value = self._sum()
            if not self._next(")"):
                raise _LeftAlone(_FORM)
            return f"({lean})", value
        number = self._peek()
        if not number[:1].isdecimal():
            raise _LeftAlone(_FORM)
        self._position += 1
        if self._next("%"):
            return f"({number} / 100)", Fraction(number) / 100
        return number, Fraction(number)
