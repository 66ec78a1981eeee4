"""What a statement claims: the equations that give its answer, read off the text of its conclusion. Pure functions.

Read are conclusions of the forms by which an answer can be stated, behind any `let`, `∀` and premises:
`total = 17`; `a = 2 ∧ b = 5`; `∃ y, y = a ∧ ...`, where the equations of the bound names count; and
`... ↔ x = 2 ∨ x = -2`. Nothing is read of any other: then no answer can be tied to the claim.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from eval.rewrite.tokens import BRACKETS, Token, closers, is_balanced, outside_brackets, split, tokens
from rltpf.prover.lean_text import scan

_NUMBERS = frozenset(
    (
        "ℕ",
        "ℤ",
        "ℚ",
        "ℝ",
        "ℂ",
        "Nat",
        "Int",
        "Rat",
        "Real",
        "Complex",
        "Set",
        "Finset",
        "List",
        "Multiset",
        "×",
        "(",
        ")",
    )
)
_BINDERS = frozenset(("∀", "∃", "∃!", "fun", "λ", "let", "have", "Σ", "∑", "∏"))
_RELATIONS = frozenset(("≠", "<", "≤", ">", "≥", "∈", "∉", "∣", "⊆", "≡", "==", "=ᶠ", "≈", "∼"))
# Words and signs that make another proposition of what stands after or before them.
_WORDS = frozenset(("if", "then", "else", "match", "with", "show", "by", "do", "from", "in", "suffices", "nomatch"))
_NO_SIDE = _WORDS | {",", ";", ":=", "=>", ":", "¬", "→", "↔", "∨", "∧"}
# Signs that bind closer than `=`. Any other may stand for what turns the claim around, as in `!x = 5` or `x = 5 || p`.
_ARITHMETIC = frozenset("+-*/^%•·×÷√↑⁻.|‖∩∪")
_CONNECTIVES = frozenset(("=", "∧", "∨", "→", "↔", "¬"))
_OWN = re.compile(r"(?<![\w.'])(?:def|abbrev)\s+([^\s:({\[]+)")


class Unclear(ValueError):
    """A conclusion from which no answer can be read; the message says why."""


@dataclass(frozen=True)
class Equation:
    """One equation of a conclusion: its sides."""

    left: Sequence[Token]
    right: Sequence[Token]


@dataclass(frozen=True)
class Claim:
    """The equations that give the answer; `names` are those that mean nothing outside the statement.

    `values` are the numerals that `let` gives to names. `witnessed` says that the equations are of names that `∃`
    binds: whether they determine these names, the equations alone do not show.
    """

    equations: tuple[Equation, ...]
    witnessed: bool = False
    begin: int = 0
    """Where the conclusion begins in the statement."""
    solved: bool = False
    """Whether the equations are the solutions of a condition; they may be none."""
    values: dict[str, Token] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def given(self, equation: Equation) -> Sequence[Token]:
        """What an equation gives as the answer: its right side, bare and with the numerals that `let` gives."""
        side = bare(equation.right)
        return [self.values.get(token.text, token) if token.kind == "name" else token for token in side]


def read_claim(statement: str) -> Claim:
    """The claim of a statement; raises `Unclear`."""
    found = scan(statement)
    if found.problems:
        raise Unclear("what is code and what is comment in the statement is ambiguous")
    all_tokens = tokens(found.code)
    if not is_balanced(all_tokens):
        raise Unclear("the brackets of the statement do not match")
    headers = [number for number, token in enumerate(all_tokens) if token.text in ("theorem", "lemma")]
    if not headers:
        raise Unclear("the statement has no theorem")
    header = all_tokens[headers[-1] :]
    colon = next((number for number in outside_brackets(header) if header[number].text == ":"), None)
    if colon is None:
        raise Unclear("the theorem has no conclusion")
    reader = _Reader(found.code, header[colon].end)
    reader.names |= set(_OWN.findall(found.code))
    equations = reader.read(header[colon + 1 :])
    if not equations:
        raise Unclear("the conclusion has no equation that gives an answer")
    return Claim(
        tuple(equations),
        reader.bound is not None,
        reader.conclusion,
        reader.alternatives,
        reader.values,
        frozenset(reader.names),
    )


def bare(side: Sequence[Token]) -> Sequence[Token]:
    """A side without brackets around all of it, and without a number type in them: `((5) : Rat)` is `5`."""
    while len(side) > 2 and side[0].text == "(" and closers(side).get(0) == len(side) - 1:
        inner = side[1:-1]
        typed = split(inner, ":")
        if len(typed) == 2 and typed[0] and all(token.text in _NUMBERS for token in typed[1]):
            inner = typed[0]
        elif len(typed) > 1 or len(split(inner, ",")) > 1:
            break
        side = inner
    return side


class _Reader:
    def __init__(self, code: str, conclusion: int) -> None:
        self._code = code
        self.conclusion = conclusion
        self.alternatives = False
        self.values: dict[str, Token] = {}
        self.names: set[str] = set()
        self.bound: set[str] | None = None

    def read(self, found: Sequence[Token]) -> list[Equation]:
        found = bare(found)
        if not found:
            raise Unclear("a part of the conclusion is empty")
        first = found[0].text
        if first == "let":
            return self.read(self._after_let(found))
        if first in ("∀", "∃"):
            return self._quantified(found)
        own = _before_binders(found)
        _refuse_strange_signs(found, own)
        signs = {found[number].text for number in own}
        if {"→", "↔"} <= signs:
            raise Unclear("the conclusion mixes → and ↔")
        if "→" in signs:
            arrow = next(number for number in own if found[number].text == "→")
            return self.read(found[arrow + 1 :])
        if "↔" in signs:
            return self._alternatives(found)
        if "∨" in signs:
            raise Unclear("the conclusion is a disjunction")
        equations: list[Equation] = []
        for part in _conjuncts(found):
            equations += self._conjunct(part)
        return equations

    def _conjunct(self, part: Sequence[Token]) -> list[Equation]:
        part = bare(part)
        if not part:
            raise Unclear("a part of the conclusion is empty")
        before = _before_binders(part)
        _refuse_strange_signs(part, before)
        own = [part[number].text for number in before]
        if "∧" in own:
            return [equation for inner in _conjuncts(part) for equation in self._conjunct(inner)]
        if "∨" in own or part[0].text in _BINDERS or part[0].text in _NO_SIDE:
            return []
        equation = _equation(part)
        if equation is None:
            return []
        if self.bound is None:
            return [equation]
        left = [token.text for token in bare(equation.left)]
        return [equation] if len(left) == 1 and left[0] in self.bound else []

    def _alternatives(self, found: Sequence[Token]) -> list[Equation]:
        """`P ↔ x = a ∨ x = b`: all the values of one term."""
        sides = split(found, "↔")
        if len(sides) != 2 or self._code[self.conclusion : found[0].start].strip():
            raise Unclear("of these equivalences no solutions can be read")
        self.alternatives = True
        equations = [_equation(bare(part)) for part in split(bare(sides[1]), "∨")]
        told = [equation for equation in equations if equation is not None]
        subjects = {tuple(token.text for token in equation.left) for equation in told}
        if len(told) != len(equations) or len(subjects) != 1:
            raise Unclear("the right side of ↔ is no list of solutions of one variable")
        return told

    def _quantified(self, found: Sequence[Token]) -> list[Equation]:
        comma = next((number for number in outside_brackets(found) if found[number].text == ","), None)
        if comma is None:
            raise Unclear("a quantifier has no body")
        if unicodedata.category(found[1].text[0]) == "Lm":
            raise Unclear("the conclusion holds for most values, or for some, and not for all")
        names = _bound_names(found[1:comma])
        self.names |= names
        for name in names:
            self.values.pop(name, None)
        if found[0].text == "∃":
            self.bound = (self.bound or set()) | names
        return self.read(found[comma + 1 :])

    def _after_let(self, found: Sequence[Token]) -> Sequence[Token]:
        """What follows a `let`: after a semicolon, or on a line that begins no further right than the `let`."""
        column = self._column(found[0])
        outside = list(outside_brackets(found))
        assign = next((number for number in outside if found[number].text == ":="), None)
        if assign is None or found[1].kind != "name":
            raise Unclear("a `let` of another form than `let name := value`")
        end = next((n for n in outside if n > assign and found[n].text == ";"), None)
        line = next((n for n in range(assign + 1, len(found)) if self._begins_line(found[n], column)), None)
        if line is not None and (end is None or line < end):
            value, rest = found[assign + 1 : line], found[line:]
        elif end is not None:
            value, rest = found[assign + 1 : end], found[end + 1 :]
        else:
            raise Unclear("a `let` without an end")
        if rest and rest[0].kind == "sign" and rest[0].text not in (*BRACKETS, "∀", "∃"):
            raise Unclear("what follows a `let` may belong to its value")
        name = found[1].text
        self.names.add(name)
        self.values.pop(name, None)
        value = bare(value)
        if len(value) == 1 and value[0].kind == "number" and found[2].text in (":", ":="):
            self.values[name] = value[0]
        return rest

    def _column(self, token: Token) -> int:
        return token.start - (self._code.rfind("\n", 0, token.start) + 1)

    def _begins_line(self, token: Token, column: int) -> bool:
        start = self._code.rfind("\n", 0, token.start) + 1
        return token.start - start <= column and not self._code[start : token.start].strip()


def _before_binders(found: Sequence[Token]) -> list[int]:
    """The tokens in no bracket up to the first binder, which reaches to the end."""
    own = []
    for number in outside_brackets(found):
        if found[number].text in _BINDERS:
            break
        own.append(number)
    return own


def _refuse_strange_signs(found: Sequence[Token], own: Sequence[int]) -> None:
    """Raises `Unclear` at what may bind less than `=` and its connectives, or turn what it stands before around."""
    for number in own:
        text, kind = found[number].text, found[number].kind
        before = found[number - 1] if number else None
        if text == "!" and before is not None and before.end == found[number].start and before.text not in _ARITHMETIC:
            continue  # a factorial
        known = _ARITHMETIC | _CONNECTIVES | _RELATIONS
        if kind == "sign" and text not in known and re.fullmatch(r"\.\d+", text) is None:
            raise Unclear(f"what `{text}` means for the conclusion is not known")
        if text in _WORDS:
            raise Unclear(f"the conclusion has a `{text}`")


def _conjuncts(found: Sequence[Token]) -> list[Sequence[Token]]:
    own = _before_binders(found)
    cuts = [number for number in own if found[number].text == "∧"]
    starts = [0, *(cut + 1 for cut in cuts)]
    return [found[start:end] for start, end in zip(starts, [*cuts, len(found)], strict=True)]


def _equation(part: Sequence[Token]) -> Equation | None:
    """The equation that a proposition is; None for every other."""
    signs = [part[number].text for number in outside_brackets(part)]
    if signs.count("=") != 1 or any(sign in _RELATIONS or sign in _NO_SIDE or sign in _BINDERS for sign in signs):
        return None
    left, right = split(part, "=")
    return Equation(left, right) if left and right else None


def _bound_names(binders: Sequence[Token]) -> set[str]:
    names: set[str] = set()
    for token in binders:
        if token.text in (":", "∈", "<", ">", "≤", "≥", "≠"):
            break
        if token.kind == "name":
            names.add(token.text)
    return names
