"""Decontamination: which questions share their words with a question of an evaluation set. Pure functions.

Compared are runs of words, as lm-eval and open-r1 do, in lower case and without punctuation. Thirteen words is the
length of lm-eval. With the eight of open-r1, 94 of the 7,473 training questions of GSM8K share a run with its test set,
most of them a phrase such as "how much money will she have left over"; with thirteen 4 do, three of which are a test
question with another name or other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rltpf.records import Failure


@dataclass(frozen=True)
class EvaluationSets:
    """The runs of words in the questions of the evaluation sets, each with the first set that has it."""

    size: int
    sets: Mapping[str, str]

    def contamination(self, question: str) -> Failure | None:
        """Why a question is lost, with the words that it shares; None where it shares none."""
        for words in ngrams(question, self.size):
            if words in self.sets:
                return Failure("s0", "contaminated", f"{self.sets[words]} has: {words}")
        return None


def index(questions: Iterable[tuple[str, Iterable[str]]], size: int) -> EvaluationSets:
    """What the questions of the sets, each with its name, are recognised by."""
    sets: dict[str, str] = {}
    for name, texts in questions:
        for text in texts:
            for words in ngrams(text, size):
                sets.setdefault(words, name)
    return EvaluationSets(size, sets)


def ngrams(text: str, size: int) -> list[str]:
    """The runs of `size` words in their order; a text of fewer is one run, so that it equals none but itself."""
    words = re.findall(r"\w+", text.casefold())
    if not words:
        return []
    return [" ".join(words[start : start + size]) for start in range(max(len(words) - size, 0) + 1)]
