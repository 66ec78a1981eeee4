"""VarBench: the numbers of a problem are drawn anew, and a function that a model wrote gives the answer.

Source: the baseline of RePro, section 5.3 and appendix K, after Qian et al. 2024. The function runs in the sandbox, and
its word is all that the answer rests on. Its three failures are told apart: a program that does not run (K.1), one
whose output for the problem's own numbers is not the problem's answer (K.2), and numbers that break what the problem
takes for granted (K.3). Of the last kind code sees an answer of another type alone, such as a negative count.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from pydantic import Field

from data_gen.questions import plain
from data_gen.records import Reply
from rltpf.numbers import parse_value
from rltpf.sandbox.functions import run_function
from rltpf.sandbox.values import Value

DRAWS = 20
"""Sets of numbers that are tried."""
_SECONDS = 5.0
_MOST_CHARACTERS = 200
_LARGEST = 10**9
_SLOT = re.compile(r"\[\[(\w+)\]\]")
# One process for all sets of numbers; a fault at one of them is none of the others'.
_ALL = """

def solve_all(draws):
    found = []
    for draw in draws:
        try:
            found.append([solution(*draw), ""])
        except Exception as error:
            found.append([None, repr(error)])
    return found
"""


class Variable(Reply):
    name: str
    value: int = Field(ge=-_LARGEST, le=_LARGEST)
    low: int = Field(ge=-_LARGEST, le=_LARGEST)
    high: int = Field(ge=-_LARGEST, le=_LARGEST)


class Template(Reply):
    """The model's reply."""

    template: str
    variables: list[Variable] = Field(min_length=1)
    function: str


class VarBenchError(ValueError):
    """A template that makes no new problem; `reason` is the code of its failure."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def resample(
    question: str, answer: str, made: Template, seed: str, same: Callable[[str, str], bool]
) -> tuple[str, str]:
    """A new problem and its answer; `same` compares the problem's answer with an output.

    Raises `VarBenchError` with `invalid_template`, `invalid_program`, `wrong_output` or `constraint_violation`.
    """
    own = [variable.value for variable in made.variables]
    _check(question, made)
    generator = random.Random(seed)
    draws = [[generator.randint(variable.low, variable.high) for variable in made.variables] for _ in range(DRAWS)]
    draws = [draw for draw in draws if draw != own]
    if not draws:
        raise VarBenchError("invalid_template", "the variables can have no other values")
    (first, fault), *others = _run(made.function, [own, *draws])
    if first is None:
        raise VarBenchError("invalid_program", fault)
    if not same(answer, first):
        raise VarBenchError("wrong_output", f"the answer is {answer}, and the function gives {first}")
    given = [(draw, output) for draw, (output, _) in zip(draws, others, strict=True) if output is not None]
    if not given:
        raise VarBenchError("invalid_program", f"it runs for the problem's own numbers alone: {others[0][1]}")
    for draw, output in given:
        if _is_like(output, first):
            return _fill(made, draw), output
    raise VarBenchError("constraint_violation", f"{given[0][1]} is no answer of the type of {first}, nor is any other")


def _check(question: str, made: Template) -> None:
    names = [variable.name for variable in made.variables]
    slots = _SLOT.findall(made.template)
    if set(slots) != set(names) or len(set(names)) < len(names):
        raise VarBenchError("invalid_template", f"its slots are {', '.join(slots)}, its variables {', '.join(names)}")
    for variable in made.variables:
        if not variable.low <= variable.value <= variable.high:
            raise VarBenchError("invalid_template", f"{variable.name} is {variable.value}, out of its own bounds")
    if _bare(_fill(made, [variable.value for variable in made.variables])) != _bare(question):
        raise VarBenchError("invalid_template", "with the problem's own numbers it is not the problem")


def _fill(made: Template, values: Sequence[int]) -> str:
    given: Mapping[str, int] = {variable.name: value for variable, value in zip(made.variables, values, strict=True)}
    return _SLOT.sub(lambda slot: str(given[slot[1]]), made.template)


def _bare(text: str) -> str:
    """As texts are compared; 1,200 and 1200 are the same number."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", plain(text))


def _run(function: str, draws: Sequence[Sequence[int]]) -> list[tuple[str | None, str]]:
    """For each set of numbers the output as a text, or None and what is wrong with it."""
    outcome = run_function(function + _ALL, "solve_all", [[list(draw) for draw in draws]], _SECONDS)
    if outcome.failure is not None:
        raise VarBenchError("invalid_program", f"{outcome.failure}: {outcome.detail}")
    found = outcome.value
    # The function is the model's, and so may be what stands in the place of ours.
    if not isinstance(found, list) or len(found) != len(draws):
        raise VarBenchError("invalid_program", "it does not give an output for each set of numbers")
    return [_output(item) for item in found]


def _output(item: Value) -> tuple[str | None, str]:
    if not isinstance(item, list) or len(item) != 2:
        return None, "it does not give an output"
    value, fault = item
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        text = str(value)
    elif isinstance(value, float):
        text = f"{value:.12g}"
    else:
        text = value.strip() if isinstance(value, str) else ""
    if not 0 < len(text) <= _MOST_CHARACTERS:
        return None, str(fault or f"{value!r} is no answer")[:_MOST_CHARACTERS]
    return text, ""


def _is_like(output: str, first: str) -> bool:
    """Whether an answer is of the type of the first: whole where that is whole, and not negative where that is not."""
    new, old = parse_value(output), parse_value(first)
    if new is None or old is None:
        return new is old
    return (new.denominator == 1 or old.denominator != 1) and (new >= 0 or old < 0)
