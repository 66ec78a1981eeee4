"""What is counted or measured in a calculation of prose: `30 years - 20 years = 10 years`."""

from __future__ import annotations

import re
from fractions import Fraction

# These are more than the name of a unit: they scale the number, share it, compare it or begin something new.
_NO_UNIT = (
    r"(?:dozens?|hundreds?|thousands?|millions?|billions?|trillions?|percent|half|halves|thirds?|quarters?|fourths?|fifths?|"
    r"tenths?|dimes?|nickels?|times|twice|double|triple|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"more|less|fewer|than|and|or|but|then|so|if|plus|minus|equals|is|are|was|were|be|has|have|had|by|off|out|to|from|"
    r"remainder|squared|cubed|mod|because|since|as|when|where|while|which|that|who|after|before|until|with|without|for|"
    r"divided|multiplied|added|subtracted|makes?|gives?|leaves?|means?|gets?)\b"
)
_WORD = rf"(?!{_NO_UNIT})[a-z]{{2,20}}"
_NEXT = r"(?=\s*(?:=|\)\s*[-+*/×·÷=]|[-+*/×·÷]\s*(?:\\?[$€£]\s*)?[0-9.(]|x\s+(?:\\?[$€£]\s*)?[0-9.(]))"
UNIT = rf"(?<=[0-9)]\s)(?!of\b){_WORD}(?:\s{_WORD}){{0,4}}{_NEXT}"
"""The words between a number and the sign that follows it."""

_MEASURE = re.compile(
    r"(?<=[0-9]\s)(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|sec|mins?|hrs?|cents?|penny|pennies|dollars?|"
    r"inch(?:es)?|foot|feet|ft|yards?|miles?|mm|cm|km|meters?|metres?|centimeters?|kilometers?|grams?|kg|kilograms?|kilos?|"
    r"ounces?|oz|pounds?|lbs?|tons?|cups?|pints?|quarts?|gallons?|ml|milliliters?|liters?|litres?)\b|[$€£](?=\s?[0-9.])"
)
_COUNTED = re.compile(UNIT)
_WORDS_OF = {
    7: r"days?|weeks?|weekly|daily",
    12: r"months?|years?|monthly|yearly|annual(?:ly)?|dozens?|inch(?:es)?|foot|feet|ft|hours?|a\.?m|p\.?m",
    16: r"ounces?|oz|pounds?|lbs?|cups?|gallons?|pints?",
    24: r"hours?|hrs?|days?|daily|hourly",
    36: r"inch(?:es)?|yards?|hours?|seconds?",
    52: r"weeks?|years?|weekly|yearly|annual(?:ly)?|cards?|decks?",
    60: r"seconds?|minutes?|hours?|sec|mins?|hrs?|[hm]ph|hourly",
    100: r"cents?|penny|pennies|dollars?|meters?|metres?|cm|centimeters?|percent|percentage|[$€£¢%]",
    365: r"days?|years?|daily|yearly|annual(?:ly)?",
    1000: r"grams?|kg|kilos?|kilograms?|ml|milliliters?|liters?|litres?|mm|meters?|metres?|km|kilometers?|tons?",
    1440: r"minutes?|days?",
    2000: r"pounds?|lbs?|tons?",
    3600: r"seconds?|hours?|sec|hrs?",
    10_000: r"meters?|metres?|percent",
    10**6: r"millions?",
    10**9: r"billions?",
}
_UNIT_WORDS = {
    factor: re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE) for factor, words in _WORDS_OF.items()
}
# `20 / 80 = 25` means percent, and `5 * 3 = 15,000` thousands, without a word of it.
_UNSAID = {100, 1000, 2000, 10_000, 10**6, 10**9}


def may_convert(left: Fraction, right: Fraction, text: str) -> bool:
    """Whether two numbers may say the same in two units that the text may have in mind."""
    if not left or not right:
        return False
    factor = max(left / right, right / left)
    words = _UNIT_WORDS.get(int(factor)) if factor.denominator == 1 else None
    return right / left in _UNSAID or (words is not None and words.search(text) is not None)


def mixed(calculation: str, after: str) -> bool:
    """Whether a sum or a difference may be of different units; `after` is what comes after its last number."""
    units = [match[0].split() for match in _COUNTED.finditer(calculation)]
    if not units or not re.search(r"[-+]", calculation):
        return False
    measures = {match[0].removesuffix("s") for match in _MEASURE.finditer(calculation + after[:20])}
    same = any(len({unit[place].removesuffix("s") for unit in units}) == 1 for place in (0, -1))
    return len(measures) > 1 or not same
