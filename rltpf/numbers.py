"""Numbers as prose and Lean write them, read exactly.

Precision first: what is not surely a number is not read as one. Values are fractions, never floats.
"""

from __future__ import annotations

import re
from fractions import Fraction

# 1,234.50 and 3/4, with an optional sign; thousands separators only in groups of three.
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_NUMERAL = re.compile(rf"(?<![\w.,])(?:{_DIGITS})(?![\w]|,\d|\.\d)")
_VALUE = re.compile(rf"\s*(-?)\s*({_DIGITS})\s*(?:/\s*(\d+))?\s*")
_RESULT = re.compile(rf"=\s*[$€£]?\s*(-?\s*[$€£]?(?:{_DIGITS})(?:\s*/\s*\d+(?![\d,.]*\d))?)\s*(%?)")
_UNIT = r"(?:\s?/?\s?[a-zA-Z]{1,15}){0,2}"
_OPERAND = rf"(?:\\?[$€£(]\s*)*(?:{_DIGITS})%?\)*{_UNIT}"
_OPERATION = re.compile(rf"(?<![\w.,])(?<!= )(?<!=){_OPERAND}(?:\s*[-+*/×÷·]\s*{_OPERAND})+")
# After a number these say that an expression goes on, so that the number is an operand and not a result.
_GOES_ON = re.compile(r"\s*[a-zA-Z$ ]{0,12}?\s*[-+*/×·÷^(]\s*[$\d(]")

_WORDS = {
    "zero": 0,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000, "million": 1_000_000,
    "once": 1, "single": 1, "another": 1, "each": 1, "per": 1,
    "twice": 2, "double": 2, "doubled": 2, "doubles": 2, "pair": 2, "couple": 2,
    "half": 2, "halves": 2, "triple": 3, "thrice": 3, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4,
    "fourth": 4, "fourths": 4, "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "seventh": 7, "sevenths": 7,
    "eighth": 8, "eighths": 8, "ninth": 9, "ninths": 9, "tenth": 10, "tenths": 10, "dozen": 12,
    "percent": 100,
    "cent": 100, "cents": 100, "hour": 60, "hours": 60, "minute": 60, "minutes": 60, "day": 24, "days": 24, "week": 7,
    "weeks": 7, "month": 12, "months": 12, "year": 12, "years": 12, "weekly": 7, "yearly": 12, "monthly": 12,
}  # fmt: skip


_CARDINALS = set(list(_WORDS)[: list(_WORDS).index("once")]) - {"one"}

# Longer numbers are no quantities of word problems, and Python refuses to read those of thousands of digits.
_LONGEST = 40


_SIGNS = str.maketrans("−–⋅∗⁄∕", "--·*//")


def plain_signs(text: str) -> str:
    """A text with the signs that only look like `-`, `·`, `*` and `/` replaced by these."""
    return text.translate(_SIGNS)


def _read(digits: str) -> Fraction | None:
    return Fraction(digits.replace(",", "")) if len(digits) <= _LONGEST else None


def parse_value(text: str) -> Fraction | None:
    """The value of a text that is one number (`18`, `-3`, `1,234.5`, `3/4`) and nothing else; None for anything
    else."""
    match = _VALUE.fullmatch(text)
    if match is None:
        return None
    sign, digits, under = match.groups()
    numerator, denominator = _read(digits), _read(under or "1")
    if numerator is None or not denominator:
        return None
    value = numerator / denominator
    return -value if sign else value


def numerals(text: str) -> set[Fraction]:
    """The values of all unsigned numerals of a text; digits inside names (`h17`) do not count."""
    return {value for match in _NUMERAL.finditer(text) if (value := _read(match.group())) is not None}


def states_a_number(text: str) -> bool:
    """Whether a prose text gives any number, in digits or as a cardinal other than one."""
    words = re.findall(r"[a-z]+", text.lower())
    return bool(re.search(r"\d", text)) or any(word in _CARDINALS for word in words)


def stated(text: str) -> set[Fraction]:
    """The numbers that a prose text gives, in digits or as cardinals other than one; percentages in both readings."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    found = numerals(_apart(text)) | {Fraction(_WORDS[word]) for word in words & _CARDINALS}
    return found | {value / 100 for value in found} if "%" in text or "percent" in words else found


def mentioned(text: str) -> set[Fraction]:
    """The numbers that a prose text may be said to mention: numerals, number words, and what `half` or `%` bring
    with them."""
    found = numerals(_apart(text))
    words = set(re.findall(r"[a-z]+", text.lower()))
    found |= {Fraction(_WORDS[word]) for word in words & _WORDS.keys()}
    if "%" in text or "percent" in words:
        shares = {value / 100 for value in found}
        found |= (
            {Fraction(1), Fraction(100)} | shares | {1 - share for share in shares} | {1 + share for share in shares}
        )
    if words & {"half", "halves"}:
        found.add(Fraction(1, 2))
    return found


def _apart(text: str) -> str:
    """A text with its numerals apart from the units after them: `5kg` as `5 kg`."""
    return re.sub(r"(?<=\d)(?=[a-zA-Z%])", " ", text)


def asserted_results(text: str) -> list[set[Fraction]]:
    """What a prose step says its calculations come to: for each `= N` that ends a calculation, the readings of N.

    `16 - 3 = 13` asserts 13; `= 25%` may be read as 25 or as 1/4; in `= 2 * 6 = 12` only the 12 is a result.
    """
    results = []
    text = plain_signs(text)
    for match in _RESULT.finditer(text):
        if _GOES_ON.match(text, match.end()):
            continue
        # In `2 * 7 / 2 = 14 / 2 = 7` the 14 / 2 is a calculation too, and no fraction.
        if "/" in match.group(1) and text[match.end() :].lstrip().startswith("="):
            continue
        value = parse_value(re.sub(r"[$€£\s]", "", match.group(1)))
        if value is not None:
            results.append({value, value / 100} if match.group(2) else {value})
    return results


def operands(text: str) -> set[Fraction]:
    """The numbers that a prose step calculates with: 16 and 3 of `16 - 3 = 13`, none of `= 14 / 2 = 7`, which only
    works on what stands before it."""
    return {value for match in _OPERATION.finditer(plain_signs(text)) for value in numerals(_apart(match.group()))}
