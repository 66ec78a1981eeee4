"""Ranked candidate answers: a solver's list, and what one candidate is in Lean.

A released parser of such lists takes the `-` of `-3` for a bullet and the `3.` of `3.5` for a number of the list. Here
a list is numbered only where all of its lines are, in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rltpf.selection import arithmetic

_TAGGED = re.compile(r"<ranked_answers>(.*?)</ranked_answers>", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"^#+[ \t]*ranked answers[ \t]*:?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
# `1.5` is no first item, and `1:2` is a ratio: the blank says that a number was of the list.
_NUMBERED = re.compile(r"(\d+)(?:[.:]\s+|\)\s*)(.+)")
_BULLET = re.compile(r"([-*•])\s+(.+)")

_WRAPPERS = (
    re.compile(r"\$\$?(.*?)\$?\$"),
    re.compile(r"\\\((.*)\\\)"),
    re.compile(r"\\\[(.*)\\\]"),
    re.compile(r"\\boxed\{(.*)\}"),
)
_NOISE = re.compile(r"\\(?:left|right|displaystyle)(?![a-zA-Z])|\\[!,;:]|\\ ")
# Only known units are dropped: ten million is not ten, `5 or more` is not five, and 3i is no real number.
_UNITS = (
    "m|cm|mm|km|in|ft|yd|mi|kg|g|mg|s|min|h|hr|mph|(?:inch|foot|feet|yard|mile|metre|meter|centimetre|centimeter|unit"
    "|second|minute|hour|day|week|month|year|dollar|cent|degree)(?:e?s)?"
)
_UNIT = re.compile(
    rf"(?:(?<=[\d}})])|(?<=\\pi))\s*(?:\\(?:text|mathrm|mbox)\{{\s*(?:(?:square|sq\.|cubic)\s+)?(?:{_UNITS})\.?\s*\}}"
    r"(?:\^\{?[23]\}?)?|\^\{?\\circ\}?|°)\s*$"
)
_MONEY = re.compile(r"\s*(?:\\\$|[$€£])\s*(?=-?\s*[\d.])")
_GROUPS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_LONGEST = 500
_BLANKS = re.compile(r" ?([^\w ]) ?")


def ranked(reply: str, most: int) -> list[str]:
    """At most `most` answers of a solver's reply, best first, without those that repeat the value of an earlier one.

    The list is what stands in `<ranked_answers>` tags, or after a heading `### Ranked answers`, or the whole reply;
    what is thought before `</think>` is no part of it.
    """
    reply = reply.rpartition("</think>")[2]
    body = tagged[-1] if (tagged := _TAGGED.findall(reply)) else _HEADING.split(reply)[-1]
    if fenced := _FENCE.search(body):
        body = fenced[1]
    lines = _unnumbered([line.strip() for line in body.split("\n") if line.strip()])
    return without_repeats(lines)[:most]


def without_repeats(candidates: Sequence[str]) -> list[str]:
    """The candidates that are the first of their value, in order."""
    found: dict[str, str] = {}
    for value, candidate in zip(values_of(candidates), candidates, strict=True):
        found.setdefault(value, candidate)
    return list(found.values())


def values_of(candidates: Sequence[str]) -> list[str]:
    """What the candidates of one problem are compared by; where their units differ, 5 cm is not 5 m."""
    values = [value_of(candidate) for candidate in candidates]
    if not units_differ(candidates):
        return values
    return [f"{value} {_unit(candidate)}" for value, candidate in zip(values, candidates, strict=True)]


def units_differ(candidates: Sequence[str]) -> bool:
    """Whether some have one unit and some another, so that a number alone is none of them."""
    return len({unit for candidate in candidates if (unit := _unit(candidate))}) > 1


def _unit(candidate: str) -> str:
    """The unit that a candidate is given in, one or several of it; empty where there is none."""
    text = _undressed(candidate)
    if match := _UNIT.search(text):
        words = re.sub(r"\\(?:text|mathrm|mbox)|[\\{}^.]", " ", re.sub(r"\\circ|°", "degree", match[0])).split()
        return " ".join(word.rstrip("es") or word for word in words)
    money = _MONEY.search(text)
    return money[0].strip(" \\").replace("$", "dollar") if money else ""


def _unnumbered(lines: Sequence[str]) -> list[str]:
    if len(lines) == 1 and ":" in lines[0]:
        return list(lines)  # `1: 2` may be a ratio
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if all(match and int(match[1]) == number for number, match in enumerate(numbered, 1)):
        return [match[2].strip() for match in numbered if match]
    bullets = [_BULLET.fullmatch(line) for line in lines]
    # One line `- 3` alone may be minus three, and is kept.
    if len(lines) > 1 and all(bullets) and len({match[1] for match in bullets if match}) == 1:
        return [match[2].strip() for match in bullets if match]
    return list(lines)


def value_of(candidate: str) -> str:
    """What candidates are compared by: an exact value where it is a number, else the text; blanks count between
    words and numbers alone."""
    text = term(candidate)
    value = None if text is None else arithmetic.value(text)
    return str(value) if value is not None else _BLANKS.sub(r"\1", " ".join(plain(candidate).split()))


def plain(candidate: str) -> str:
    """A candidate without what only dresses it: math delimiters, a box, a currency sign, a unit, separators."""
    text = _undressed(candidate)
    if len(text) > _LONGEST:
        return text
    text = _UNIT.sub("", _MONEY.sub("", text)).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = text.replace("−", "-").replace("\\cdot", "*").replace("\\times", "*")
    # Within brackets a comma parts a pair: (3,100) is no 3100.
    if not re.search(r"[()\[\]{}]", text.replace("{,}", ",")):
        text = _GROUPS.sub(lambda match: match[0].replace(",", ""), text.replace("{,}", ","))
    return text.strip()


def _undressed(candidate: str) -> str:
    """A candidate without math delimiters, a box, spacing and a full stop."""
    text = candidate.strip()
    if len(text) > _LONGEST:
        return text
    text = text.removesuffix(".") if not re.search(r"\.\.\.$", text) else text
    text = _NOISE.sub("", text)
    for wrapper in _WRAPPERS:
        if match := wrapper.fullmatch(text.strip()):
            text = match[1]
    return text


_FRACTION = re.compile(r"\\frac(?:\{([^{}]*)\}\{([^{}]*)\}|(\d)(\d))")
_SQUARE_ROOT = re.compile(r"\\sqrt(?:\{(\d+)\}|(\d))")
# A number before a root, π or a bracket multiplies it.
_MULTIPLIED = re.compile(r"(?<=[\d)])\s*(?=Real\.|\()")
# 2½ is 5/2 as a mixed number, and 1 as a product.
_MIXED = re.compile(r"\d\s*\\frac")
_FRACTION_ALONE = re.compile(r"\((-?\d+ / \d+)\)")


def term(candidate: str) -> str | None:
    """A candidate as a Lean term of numbers, square roots of numbers and π; None for anything else.

    Only what has one meaning in both languages: `2x`, `3!`, `50%`, `1e5`, `1/2π`, 2½ and tuples are for the rewriter.
    """
    text = plain(candidate)
    if _MIXED.search(text):
        return None
    text = _SQUARE_ROOT.sub(lambda m: f" Real.sqrt {m[1] or m[2]} ", text)
    text = re.sub(r"\\pi(?![a-zA-Z])|π", " Real.pi ", text)
    text = _FRACTION.sub(lambda m: f"({_grouped(m[1] or m[3])} / {_grouped(m[2] or m[4])})", text)
    if any(_divides(text[: match.start()]) for match in _MULTIPLIED.finditer(text)):
        return None
    text = (
        " ".join(re.sub(r"(?<![\d.])\.(?=\d)", "0.", _MULTIPLIED.sub(" * ", text)).split())
        .replace("( ", "(")
        .replace(" )", ")")
    )
    if match := _FRACTION_ALONE.fullmatch(text):
        text = match[1]
    return text if arithmetic.is_expression(text) else None


def _divides(text: str) -> bool:
    """Whether the product that ends here has a slash: what stands next may be above or below it, `1/2π`."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return "/" in re.split(r"[-+(]", text)[-1]


def _grouped(part: str) -> str:
    part = part.strip()
    return part if re.fullmatch(r"-?\d+|Real\.pi", part) else f"({part})"
