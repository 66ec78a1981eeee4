"""Presets: how well-known benchmarks write their rows, so that a config names the benchmark instead of its columns.

Pure functions from a row to a question and its final answer. A benchmark has one layout or two: its columns on the hub
and those in the files of evaluation suites, where they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, Literal, NamedTuple

PresetName = Literal[
    "gsm8k", "math", "math500", "svamp", "multiarith", "aqua", "asdiv", "aime", "amc", "olympiadbench",
    "repro", "repro_originals",
]  # fmt: skip


class Reader(NamedTuple):
    """How the final answer is read from the answer column."""

    form: str
    """What a value has to be, for the line that says it is not."""
    read: Callable[[Any], str]
    """The final answer from a value; empty where it holds none."""


@dataclass(frozen=True)
class Layout:
    """The columns of a row that is a solved problem."""

    question: tuple[str, ...]
    """Columns whose texts, one after the other, are the question."""
    answer: str
    reader: Reader
    options: str | None = None
    """Column with the list of choices, which stand below the question, one a line."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.question, *((self.options,) if self.options else ()), self.answer)

    def missing(self, columns: Collection[str]) -> list[str]:
        """The columns of this layout that a row with these columns lacks."""
        return [column for column in self.columns if column not in columns]

    def solved(self, row: dict[str, Any]) -> tuple[str, str] | str:
        """Question and final answer of a row that lacks no column, or what is wrong with it."""
        for column in self.question:
            if not isinstance(row[column], str) or not row[column].strip():
                return f"{column} has to be a text, and is {short(row[column])}"
        question = " ".join(row[column] for column in self.question)
        if self.options:
            options = row[self.options]
            if not isinstance(options, list) or not options or not all(isinstance(option, str) for option in options):
                return f"{self.options} has to be a list of texts, and is {short(options)}"
            question = "\n".join((question, *options))
        answer = self.reader.read(row[self.answer])
        if not answer:
            return f"{self.answer} has to be {self.reader.form}, and is {short(row[self.answer])}"
        return question, answer


def fitting(columns: Collection[str]) -> list[PresetName]:
    """The presets that can read rows with these columns."""
    return [name for name, layouts in PRESETS.items() if any(not layout.missing(columns) for layout in layouts)]


def after_hashes(solution: Any) -> str:
    """GSM8K: what follows the last `####`."""
    return solution.rpartition("####")[2].strip() if isinstance(solution, str) and "####" in solution else ""


def boxed(solution: Any) -> str:
    r"""MATH: what is in the last `\boxed{}`, braces in it balanced; a few solutions write `\boxed 5`."""
    _, *boxes = re.split(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*", solution) if isinstance(solution, str) else [""]
    if not boxes:
        return ""
    if not boxes[-1].startswith("{"):
        return boxes[-1].partition("$")[0].strip()
    depth = 0
    for token in re.finditer(r"\\.|[{}]", boxes[-1], re.DOTALL):  # an escaped brace closes nothing
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return boxes[-1][1 : token.start()].strip()
    return ""


def number(value: Any) -> str:
    """SVAMP, MultiArith: a number without the zeros that say nothing, 145.0 as 145."""
    match = re.fullmatch(r"(-?)(\d+)(\.\d+)?", str(value).strip(), re.ASCII)
    if match is None:
        return ""
    sign, whole, part = match.groups("")
    return sign + (whole.lstrip("0") or "0") + part.rstrip("0").rstrip(".")


def integer(value: Any) -> str:
    """AIME, AMC: an integer, 025 and 25.0 as 25."""
    digits = number(value)
    return "" if "." in digits else digits


def without_unit(value: Any) -> str:
    """ASDiv: the answer without its unit, 9 of `9 (apples)`; a name, a time of day or a ratio as it is."""
    return re.sub(r"(?<=\S)\s+\([^()]*\)$", "", text(value))


def letter(value: Any) -> str:
    """AQuA: one of the letters A to E."""
    return text(value) if re.fullmatch("[A-E]", text(value)) else ""


def listed(values: Any) -> str:
    """OlympiadBench: the answers of the list without mathematics delimiters and full stop, comma after comma."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return ""
    return ", ".join(re.sub(r"(?<!\\)\$", "", value.strip()).removesuffix(".") for value in values)


def text(value: Any) -> str:
    """A text without the spaces around it."""
    return value.strip() if isinstance(value, str) else ""


def plain(value: Any) -> str:
    """Without a preset: a text or a number as it stands."""
    # JSON true is a Python int, and no answer.
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


PLAIN = Reader("a text or a number", plain)
_TEXT = Reader("a text", text)
_HASHES = Reader("a solution with its final answer after ####", after_hashes)
_BOX = Reader(r"a solution with its final answer in \boxed{}", boxed)
_NUMBER = Reader("a number", number)
_INTEGER = Reader("an integer", integer)

PRESETS: dict[PresetName, tuple[Layout, ...]] = {
    "gsm8k": (Layout(("question",), "answer", _HASHES),),
    "math": (Layout(("problem",), "solution", _BOX),),
    "math500": (Layout(("problem",), "answer", _TEXT), Layout(("question",), "answer", _BOX)),
    "svamp": (Layout(("Body", "Question"), "Answer", _NUMBER),),
    "multiarith": (Layout(("question",), "final_ans", _NUMBER), Layout(("input",), "target", _NUMBER)),
    "aqua": (Layout(("question",), "correct", Reader("a letter from A to E", letter), options="options"),),
    "asdiv": (Layout(("body", "question"), "answer", Reader("a text", without_unit)),),
    "aime": (Layout(("problem",), "answer", _INTEGER), Layout(("question",), "answer", _INTEGER)),
    "amc": (Layout(("problem",), "answer", _INTEGER), Layout(("question",), "answer", _INTEGER)),
    "olympiadbench": (Layout(("question",), "final_answer", Reader("a list of answers", listed)),),
    "repro": (Layout(("rewritten_question",), "new_answer", _TEXT),),
    "repro_originals": (Layout(("original_question",), "original_answer", _TEXT),),
}
