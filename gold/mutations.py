"""Controlled mutations of worked GSM8K solutions, each with the labels of its steps.

What is true of a solution is read from the `<<48/2=24>>` that its authors left beside each calculation, by arithmetic
of this module's own: no label hangs on anything that the judge uses. See README.md for what the labels mean.
"""

from __future__ import annotations

import ast
import operator
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from rltpf.numbers import stated

_ANNOTATION = re.compile(r"<<([^<>=]+)=([^<>=]+)>>")
_NUMERAL = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+")
_SIGN = re.compile(r"[-+*/]")
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_TRIES = 50

Label = str | None


@dataclass(frozen=True)
class Site:
    """A calculation whose prose says what its annotation says: its line, and where in it formula and result are."""

    line: int
    formula: slice
    result: slice


@dataclass(frozen=True)
class Solution:
    """A worked solution without its annotations, and what these said: the numbers that each line calculates with, and
    those that it comes to."""

    question: str
    lines: tuple[str, ...]
    answer: str
    operands: tuple[tuple[Fraction, ...], ...]
    results: tuple[tuple[Fraction, ...], ...]
    sites: tuple[Site, ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of its lines and, last, of its answer. A line that calculates nothing may claim nothing."""
        return (*("verified" if results else None for results in self.results), "verified")


@dataclass(frozen=True)
class Chain:
    """A solution with one change: its lines, its answer, and the labels of both."""

    lines: tuple[str, ...]
    answer: str
    labels: tuple[Label, ...]


Mutation = Callable[[Solution, random.Random], Chain | None]


def read(question: str, answer: str) -> Solution | None:
    """A GSM8K solution; None where a calculation is not exact or unreadable, or where it does not end at its answer."""
    body, _, final = answer.partition("\n#### ")
    lines: list[str] = []
    operands: list[tuple[Fraction, ...]] = []
    results: list[tuple[Fraction, ...]] = []
    sites: list[Site] = []
    for number, line in enumerate(filter(None, map(str.strip, body.splitlines()))):
        annotations = list(_ANNOTATION.finditer(line))
        if line.count("<<") != len(annotations) or not all(_holds(match) for match in annotations):
            return None
        sites += _sites(number, line)
        lines.append(_ANNOTATION.sub("", line))
        operands.append(tuple(_number(numeral) for match in annotations for numeral in _NUMERAL.findall(match[1])))
        results.append(tuple(_number(match[2]) for match in annotations))
    if not results or not results[-1] or results[-1][-1] != value(final):
        return None
    return Solution(question, tuple(lines), final, tuple(operands), tuple(results), tuple(sites))


def value(formula: str) -> Fraction | None:
    """The exact value of a formula of numbers, `+ - * /` and brackets; None for anything else."""
    text = formula.replace(",", "").strip()

    def of(node: ast.AST) -> Fraction:
        match node:
            case ast.Constant():
                return Fraction(ast.get_source_segment(text, node) or "")
            case ast.BinOp() if type(node.op) in _OPERATIONS:
                return _OPERATIONS[type(node.op)](of(node.left), of(node.right))
            case ast.UnaryOp(op=ast.USub()):
                return -of(node.operand)
        raise ValueError(formula)

    try:
        return of(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


def _holds(annotation: re.Match[str]) -> bool:
    result = _NUMERAL.fullmatch(annotation[2].strip())
    return result is not None and value(annotation[1]) == _number(annotation[2])


def _number(numeral: str) -> Fraction:
    return Fraction(numeral.replace(",", ""))


def _sites(number: int, line: str) -> Iterator[Site]:
    """The calculations whose prose has the numbers and signs of its annotation, with whatever words between them."""
    plain = _ANNOTATION.sub("", line)
    removed = 0
    for match in _ANNOTATION.finditer(line):
        place = match.start() - removed
        removed += len(match[0])
        equals = re.search(r"\s*=\s*\$?$", plain[:place])
        result = re.compile(rf"\$?({_NUMERAL.pattern})(?![\d%/])").match(plain, place)
        count = len(_NUMERAL.findall(match[1]))
        operands = list(_NUMERAL.finditer(plain, 0, place))[-count:]
        if equals is None or result is None or _number(result[1]) != _number(match[2]) or not _SIGN.search(match[1]):
            continue
        formula = slice(operands[0].start(), equals.start())
        # An opening bracket is before the first number.
        while plain[: formula.start].endswith("(") and plain[formula].count(")") > plain[formula].count("("):
            formula = slice(formula.start - 1, formula.stop)
        if _bare(plain[formula]) == _bare(match[1]):
            yield Site(number, formula, slice(*result.span(1)))


def _bare(formula: str) -> str:
    """A formula without words, signs of money and separators of thousands."""
    return re.sub(r"[^\d.+\-*/()]", "", formula.replace(",", ""))


def none(solution: Solution, rng: random.Random) -> Chain | None:
    """Nothing is changed."""
    return Chain(solution.lines, solution.answer, solution.labels)


def number(solution: Solution, rng: random.Random) -> Chain | None:
    """Another number in a calculation, as an operand or as the result."""

    def change(formula: str, result: str) -> tuple[str, str]:
        numerals = list(_NUMERAL.finditer(formula))
        chosen = rng.randrange(len(numerals) + 1)
        if chosen == len(numerals):
            return formula, _near(result, rng)
        return _put(formula, numerals[chosen], _near(numerals[chosen][0], rng)), result

    return _falsified(solution, rng, change)


def sign(solution: Solution, rng: random.Random) -> Chain | None:
    """Another operator in a calculation."""

    def change(formula: str, result: str) -> tuple[str, str]:
        old = rng.choice(list(_SIGN.finditer(formula)))
        return _put(formula, old, rng.choice([sign for sign in "+-*/" if sign != old[0]])), result

    return _falsified(solution, rng, change)


def _falsified(solution: Solution, rng: random.Random, change: Callable[[str, str], tuple[str, str]]) -> Chain | None:
    """A change is drawn until it makes a calculation false. Of the lines after it nothing is said: they go on with what
    was right."""
    for _ in range(_TRIES if solution.sites else 0):
        site = rng.choice(solution.sites)
        old = solution.lines[site.line]
        formula, result = change(old[site.formula], old[site.result])
        exact = value(_bare(formula))
        # A result that was cut or rounded to the digits written is not false: `39 / 14 = 3`.
        if exact is not None and abs(exact - _number(result)) >= Fraction(1, 10 ** _decimals(result)):
            lines = _with(solution, site, formula, result)
            return Chain(lines, solution.answer, _until(solution, site.line, "false"))
    return None


def quantity(solution: Solution, rng: random.Random) -> Chain | None:
    """A right calculation of the wrong quantity: the last one is made with another number of the question, and the
    answer follows it. The calculation holds, so that its line is not labelled; the answer is false."""
    sites = [site for site in solution.sites if site.line == len(solution.lines) - 1]
    if not sites or _ends_elsewhere(solution, sites[-1]):
        return None
    site, line = sites[-1], solution.lines[sites[-1].line]
    formula, result = line[site.formula], line[site.result]
    others = sorted(set(_NUMERAL.findall(solution.question)) - set(_NUMERAL.findall(formula)))
    numerals = list(_NUMERAL.finditer(formula))
    for _ in range(_TRIES if others else 0):
        drawn = _put(formula, rng.choice(numerals), rng.choice(others))
        exact = value(_bare(drawn))
        if exact is not None and exact > 0 and exact.denominator == 1 and exact != _number(result):
            lines = _with(solution, site, drawn, str(exact))
            return Chain(lines, str(exact), (*solution.labels[:-2], None, "false"))
    return None


def _ends_elsewhere(solution: Solution, site: Site) -> bool:
    """Whether the answer is not what the site comes to, or the line says it once more."""
    line = solution.lines[site.line]
    again = [numeral for numeral in _NUMERAL.findall(line) if _number(numeral) == _number(line[site.result])]
    return _number(line[site.result]) != value(solution.answer) or len(again) > 1


def step(solution: Solution, rng: random.Random) -> Chain | None:
    """A line is left out whose result nothing else gives, and a later one calculates with it."""
    dropped = [(line, user) for line in range(len(solution.lines)) if (user := _only_user(solution, line)) is not None]
    if not dropped:
        return None
    line, user = rng.choice(dropped)
    labels = list(_until(solution, user, "error"))
    del labels[line]
    return Chain(solution.lines[:line] + solution.lines[line + 1 :], solution.answer, tuple(labels))


def _only_user(solution: Solution, line: int) -> int | None:
    """The first line that calculates with what this one alone gives."""
    if not solution.results[line]:
        return None
    result = solution.results[line][-1]
    # Half a dozen is 6, and no step has to say so.
    if result in stated(solution.question) or "dozen" in solution.question:
        return None
    for later in range(line + 1, len(solution.lines)):
        if result in solution.operands[later]:
            said = " ".join(solution.lines[:line] + solution.lines[line + 1 : later])
            return None if result in stated(said) else later
    return None


def answer(solution: Solution, rng: random.Random) -> Chain | None:
    """Another final answer than the one that the steps come to."""
    return Chain(solution.lines, _near(solution.answer, rng), (*solution.labels[:-1], "false"))


def _until(solution: Solution, line: int, label: str) -> tuple[Label, ...]:
    """The labels of the solution before a line, its own, and none after it."""
    return (*solution.labels[:line], label, *[None] * (len(solution.labels) - line - 1))


def _with(solution: Solution, site: Site, formula: str, result: str) -> tuple[str, ...]:
    old = solution.lines[site.line]
    new = old[: site.formula.start] + formula + old[site.formula.stop : site.result.start] + result
    new += old[site.result.stop :]
    return (*solution.lines[: site.line], new, *solution.lines[site.line + 1 :])


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _decimals(numeral: str) -> int:
    return len(numeral.partition(".")[2])


def _near(numeral: str, rng: random.Random) -> str:
    """Another positive number with as many decimals, at most ten of its last digits away."""
    digits = _decimals(numeral)
    old = int(_number(numeral) * 10**digits)
    new = rng.choice([near for near in range(max(1, old - 10), old + 11) if near != old])
    return f"{new / 10**digits:.{digits}f}"


MUTATIONS: dict[str, Mutation] = {
    "none": none,
    "number": number,
    "operator": sign,
    "step": step,
    "quantity": quantity,
    "answer": answer,
}
"""The mutations by their kinds."""
