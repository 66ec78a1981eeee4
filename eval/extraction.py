"""What a reply says its final answer is, and whether that is the gold answer: pure functions on strings.

A wrong extraction is the most common way for a score to be wrong, so two extractors read every reply and both scores
are printed. `strict` takes only the agreed forms; `lenient` falls back to the last number. A change to an extractor or
to `normalise` raises the version in `VERSIONS`, since scores of different versions are not comparable.
"""

from __future__ import annotations

import re
from fractions import Fraction

from rltpf.numbers import parse_value

VERSIONS = {"strict": 3, "lenient": 3}

_HASHES = re.compile(r"####[ \t]*([^\n]*)")
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_ANSWER_IS = re.compile(r"\banswer\s+is\b\s*:?\s*", re.IGNORECASE)
_ANSWER = re.compile(
    r"\b(?:answer|correct (?:option|choice))\b(?:\*\*)?\s*(?:is\b\s*[:=]?|[:=])\s*(?:\*\*)?\s*", re.IGNORECASE
)
# What leaves the answer open or is two of them: `not 5`, `more than 5`, `3 or 4`, `7 days and 3 hours`.
_OPEN = re.compile(
    r"[^\d=]*\b(?:not|than|least|most|between|n't)\b[^=]*|[^,.=]*\d[^,.=]*\b(?:or|and|to)\b[^,.=]*\d[^=]*",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?:the )?(?:option |choice )?\(?([A-E])(?:\)|[.:]|$)(?!.*\b[A-E]\)).*", re.IGNORECASE | re.DOTALL
)
# A sentence ends at a line end, or at a stop that is not a decimal point.
_SENTENCE_END = re.compile(r"\n|(?<!\\)[.!?;](?=[\s*$\"')\]]|$)")

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(rf"(?<![\w.])-?[$€£]?-?(?:\d+\s+\d+/\d+|(?:{_DIGITS})(?:/\d+)?)(?!\d|(?:st|nd|rd|th)\b)")
_QUANTITY = re.compile(rf"(-?)\s*(\d+\s+\d+/\d+|(?:{_DIGITS})(?:\s*/\s*\d+)?)(?![\d.,/:]*\d)(.*)", re.DOTALL)
_COMMAND = re.compile(r"\\(?:begin|end|text|mathrm|mbox|operatorname)\{[^{}]*\}|\\[a-zA-Z]+")
# Of a unit: `3 cm^2`; that of a number, `3^2`, is no unit.
_POWER = re.compile(r"(?<=[a-zA-Z])(?:\^\{?[23]\}?|[²³])\s*$")
# A unit is words, not algebra; a letter glued to the number is a variable, or the k of 5k.
_NOT_UNIT = re.compile(r"[\d+*=<>^\\{}\[\]|!π√×÷·²³]|\s-\s|^[a-zA-Z]\b|^\s*(?:[/.):]|(?:pi|i|x|y|z|n)\b)")
# Python refuses to read integers of more than 4300 digits, and nobody answers with one.
_MAX_LENGTH = 200
_SCIENTIFIC = re.compile(
    rf"(-?)((?:{_DIGITS}))(?:\s*(?:\\times|\\cdot|×|·|x|\*)\s*10\s*\^\s*\{{?\s*([+-]?\d{{1,3}})\s*\}}?|e([+-]?\d{{1,3}}))",
    re.IGNORECASE,
)
# Before the last equals sign: what makes an equation or a list of it, and no name and no calculation of the number.
_EQUATION = re.compile(
    r"[<>≤≥≠!|]|\\(?:[lg]eq?|[lg]t|neq?|in|approx)(?![a-zA-Z])|,(?!\d{3})|\d\s*[a-zA-Z](?![a-zA-Z])|[a-zA-Z]\s*\^|"
    r"[a-zA-Z].*[*/]|[*/].*[a-zA-Z]"
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}


def strict(text: str, cut: bool = False) -> str | None:
    """The answer in an agreed form, or None: `#### X`, `\\boxed{X}`, or `The answer is X.` as the last sentence.

    Where a text has several, the last one counts, whatever its form; a last mark without an answer is no answer. `cut`
    says that the token limit ended the text: what touches its end may be half a number and is not read.
    """
    return _marked(_without_torn_end(text) if cut else text)[1]


def _marked(text: str) -> tuple[int, str | None]:
    """Where the last mark of a text is, and the answer at it."""
    marks: list[tuple[int, str | None]] = []
    if box := _last(_BOX, text):
        marks.append((box.start(), _braced(text, box.end())))
    for hashes in reversed(list(_HASHES.finditer(text))):
        payload = hashes.group(1).strip()
        # Models write Markdown headings with the same four signs.
        if not payload or (_is_answer(payload) and re.search(r"\d|^.$", payload)):
            marks.append((hashes.start(), payload))
            break
    if sentence := _last(_ANSWER_IS, text):
        payload, rest = _sentence(text, sentence.end())
        if not _BOX.search(payload) and not re.search(r"\w", rest):
            marks.append((sentence.start(), payload if _is_answer(payload) else None))
    place, answer = max(marks, key=lambda mark: mark[0], default=(-1, None))
    return place, _clean(answer)


def lenient(text: str, cut: bool = False) -> str | None:
    """The answer that a forgiving reader finds: as `strict`, or a later `Answer: X` with a number or the letter of a
    choice; else the last `answer is X` or `Answer: X`, else the last number. An answer that is left open, such as
    `3 or 4`, is none of its numbers."""
    text = _without_torn_end(text) if cut else text
    marked, answer = _marked(text)
    said = _last(_ANSWER, text)
    payload = _sentence(text, said.end())[0] if said else ""
    if answer is not None:
        later = said is not None and said.start() > marked and (number(payload) is not None or _choice(payload))
        return _clean(payload) if later else answer
    if said:
        if _is_answer(payload) or (len(payload) <= _MAX_LENGTH and _OPEN.fullmatch(payload)):
            return _clean(payload)
        if numbers := _NUMBER.findall(plain(payload).rpartition("=")[2]):
            return str(numbers[0])
    numbers = _NUMBER.findall(plain(text))
    return numbers[-1] if numbers else None


def final_number(text: str) -> Fraction | None:
    """The number that a reply gives as its final answer, read strictly; None if there is none or it is not a number."""
    answer = strict(text)
    return None if answer is None else number(answer)


def number(text: str) -> Fraction | None:
    """The exact value of a text that is one number, with or without a currency sign, a unit, or `x =` before it.

    A percent sign is a unit (`25%` is 25), as the gold answers of word problems have it. None for anything else: two
    numbers, an expression, a ratio, a time of day.
    """
    if len(text) > _MAX_LENGTH:
        return None
    before, _, text = plain(text).rpartition("=")
    if len(re.findall(r"[a-zA-Z]{2,}", before)) > 1:
        return None  # a clause with a calculation in it, not a name and its value
    if _EQUATION.search(before):
        return None
    text = text.strip()
    if scientific := _SCIENTIFIC.fullmatch(text):
        sign, digits, power, exponent = scientific.groups()
        mantissa = parse_value(digits)
        if mantissa is not None:
            return mantissa * Fraction(10) ** int(power or exponent) * (-1 if sign else 1)
    match = _QUANTITY.fullmatch(re.sub(r"^(-?)\s*[$€£]\s*", r"\1", text))
    if match is None:
        return None
    sign, digits, unit = match.groups()
    scale = 1
    word = re.match(r"\s+([a-z]+)\b", unit)
    if word and word.group(1) in _SCALES:
        scale, unit = _SCALES[word.group(1)], unit[word.end() :]
    if _NOT_UNIT.search(_POWER.sub("", unit)):
        return None
    whole, _, part = digits.partition(" ") if re.fullmatch(r"\d+\s+\d+/\d+", digits) else ("0", "", digits)
    value = parse_value(part)
    if value is None:
        return None
    return (int(whole) + value) * scale * (-1 if sign else 1)


def normalise(answer: str) -> str:
    """One spelling for equal answers: numbers as exact fractions (`18`, `3/4`), other text without markup or spaces."""
    value = number(answer)
    if value is not None:
        return str(value)
    text = " ".join(plain(answer).split())
    if re.fullmatch(r"-?\d{1,3}(?: \d{3})+", text):
        text = text.replace(" ", "")
    text = re.sub(r"(?<!\d) | (?!\d)", "", text)  # `1 2` are two numbers, and not 12
    choice = re.fullmatch(r"\(?([A-Za-z])\)?", text)
    if choice:
        return choice.group(1).upper()
    return text.lower() if re.fullmatch("[A-Za-z]{4,}", text) else text


def read_as(gold: str, answer: str) -> str:
    """An answer after `normalise`, or its letter where the gold answer is that of a choice: `option B`, `(B) 17`."""
    if re.fullmatch("[A-E]", normalise(gold)) and (letter := _choice(answer)):
        return letter
    return normalise(answer)


def same(gold: str, answer: str | None) -> bool:
    """Whether two answers are equal after `normalise`: exact, with no tolerance; no answer equals nothing."""
    if answer is None or not same_name(gold, answer):
        return False
    return normalise(gold) == read_as(gold, answer)


def same_name(gold: str, answer: str) -> bool:
    """Whether two answers do not give two names to their number, as `x = 5` and `y = 5` do."""
    names = [re.sub(r"\s+", "", plain(text).rpartition("=")[0]) for text in (gold, answer)]
    return names[0] == names[1] or not all(re.search("[a-zA-Z]", name) for name in names)


def mathematical(answer: str) -> str:
    """The spelling to compare mathematically: the exact value of a number, all else nearly as it was written."""
    value = number(answer)
    return str(value) if value is not None else spelled(answer)


def _choice(answer: str) -> str:
    """The letter of the one choice that an answer names, by itself or before its text; empty where it names none."""
    match = _CHOICE.fullmatch(plain(answer))
    return match.group(1).upper() if match else ""


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return match


def _without_torn_end(text: str) -> str:
    return re.sub(r"[^\s{}]*\Z", "", text)


def _sentence(text: str, start: int) -> tuple[str, str]:
    """What follows `start` up to the end of the sentence, and the rest of the text."""
    end = _SENTENCE_END.search(text, start)
    return (text[start:], "") if end is None else (text[start : end.start()], text[end.end() :])


def _is_answer(payload: str) -> bool:
    """Whether the end of a sentence is an answer, not a clause: a number with its unit, an expression without words, or
    at most three words."""
    if number(payload) is not None:
        return True
    words = re.search("[a-zA-Z]{2,}", _COMMAND.sub(" ", payload))
    if not words and re.search(r"\w", payload):
        return True
    mixed = re.search(r"\d", payload) and re.search(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}", payload)
    return not mixed and 0 < len(payload.split()) <= 3


def _braced(text: str, start: int) -> str | None:
    """The text from `start` up to the brace that closes it; None if none does: a cut answer."""
    depth = 1
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return text[start:index]
    return None


def _clean(answer: str | None) -> str | None:
    """The answer without the markup and the full stop around it; None if nothing is left."""
    if answer is None:
        return None
    return _unwrapped(answer.replace("**", "").replace("`", "")).rstrip(".").rstrip() or None


def _unwrapped(text: str) -> str:
    """The text without the mathematics delimiters around it."""
    text = text.strip()
    inner = re.fullmatch(r"(\$\$?)((?:\\\$|[^$])+)\1|\\[(\[](.*)\\[)\]]", text.removesuffix("."), re.DOTALL)
    return (inner.group(2) or inner.group(3)).strip() if inner else text


def plain(text: str) -> str:
    """LaTeX and Unicode spellings of one thing made one: as `spelled`, and a/b for fractions of numbers."""
    return re.sub(r"\\[dtc]?frac\{(\d+)\}\{(\d+)\}", r"\1/\2", spelled(text))


def spelled(text: str) -> str:
    """LaTeX and Unicode spellings of one thing made one: - for minus, spaces for spacing commands, `2 3/4` for mixed
    numbers."""
    text = _unwrapped(text.replace("−", "-").replace("**", "").replace("`", ""))
    text = text.replace("{,}", ",").replace("\\$", "$").replace("\\%", "%").replace("~", " ")
    # Not the second of two backslashes: `\\ 2` is the next row of a matrix.
    text = re.sub(r"(?<!\\)\\!\s*|(?<=\d)\\[,;: ](?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<!\\)\\[,;: ]", " ", text)
    text = re.sub(r"(?<!\\)\\(?:(?:left|right|displaystyle)(?![a-zA-Z])|[()\[\]])", "", text)
    text = re.sub(r"\^\{\s*\\circ\s*\}|\^\\circ(?![a-zA-Z])|°", "", text)
    text = re.sub(r"\\(?:text|textbf|mathrm|mbox|mathbf)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\[dtc]?frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"(\d)\s*\\[dtc]?frac\{(\d+)\}\{(\d+)\}", r"\1 \2/\3", text)
    return text.strip().rstrip(".")
