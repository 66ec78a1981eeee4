"""How a statement is refuted: by a proof of its negation, hypotheses and quantifiers inside it.

`theorem r : ¬ (∀ x, H x → C x)` is what makes a claim false. That no tactic proves the claim says nothing, and
`H x → ¬ C x` is another claim, true also where the hypotheses contradict each other. A quantified claim is refuted by a
counterexample. Where to look for one is a guess (the equations among the hypotheses; the values at which `grind` gave
up; small numbers), but whether it is one is checked by Lean.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from rltpf.prover.cascade import Library, Tactic, tactics
from rltpf.prover.report import LeanMessage
from rltpf.prover.traps import Binder, Facts

MODEL = Tactic("grind", 50_000)
"""The tactic whose failure on the claim shows values that satisfy the hypotheses and not the claim."""

_SIGNED = frozenset({"Int", "ℤ", "Rat", "ℚ", "Real", "ℝ"})
_FRACTIONS = _SIGNED - {"Int", "ℤ"}
_NUMBERS = _SIGNED | {"Nat", "ℕ"}
# By the number of variables: few enough to try all of their combinations.
_SMALL = {
    1: tuple(map(Fraction, (*range(31), *range(-1, -6, -1), "1/2", "1/3", "3/2", "100"))),
    2: tuple(map(Fraction, ("0", "1", "2", "-1", "3", "5", "1/2", "10"))),
    3: tuple(map(Fraction, ("0", "1", "2", "-1"))),
}
_CHUNK = 16
_HEARTBEATS = 50_000
_CLOSER = {
    "core": "first | decide +kernel | omega | grind",
    "mathlib": "first | norm_num | decide +kernel | omega | grind",
}
_ASSIGNMENT = re.compile(r"\[assign\] (\S+) := (-?[0-9]+(?:/[0-9]+)?)$", re.MULTILINE)
_NUMBER = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
_CLASS = re.compile(r"\[eqc\] \{([^{}]*)\}$", re.MULTILINE)
_EQUATION = re.compile(r"[^=≠<>≤≥∧∨→↔¬∀∃]*=[^=≠<>≤≥∧∨→↔¬∀∃]*")


def direct(facts: Facts, library: Library) -> Sequence[Tactic]:
    """Tactics for the negation as it stands; few, where only a counterexample can refute it."""
    if facts.binders:
        return [Tactic("decide +kernel", 20_000), Tactic("grind", _HEARTBEATS)]
    return [*tactics(library), Tactic("intro ⟨_, _⟩\nfirst | omega | grind", _HEARTBEATS)]


def by_equations(facts: Facts, library: Library) -> Iterator[Tactic]:
    """The variables have the values that the equations among the hypotheses give them: `rfl` finds each in turn."""
    if any(_is_equation(binder) for binder in facts.binders):
        yield _specialised([["_" if b.kind == "value" else _evidence(b, library) for b in facts.binders]], library)


def by_model(facts: Facts, library: Library, messages: Sequence[LeanMessage]) -> Iterator[Tactic]:
    """The values at which `MODEL` gave up on the claim, 0 for those that it does not mention."""
    model: dict[str, Fraction] = {}
    for message in messages:
        for members in _CLASS.findall(message.text):
            terms = members.split(", ")
            values = [Fraction(term) for term in terms if _NUMBER.fullmatch(term)]
            model |= dict.fromkeys(terms, values[0]) if values else {}
        model |= {name: Fraction(value) for name, value in _ASSIGNMENT.findall(message.text)}
    if model and (arguments := _arguments(facts, library, model)):
        yield _specialised([arguments], library)


def by_small_numbers(facts: Facts, library: Library) -> Iterator[Tactic]:
    """All combinations of a few numbers, where the statement has at most three variables."""
    names = [binder.name for binder in facts.binders if binder.kind == "value"]
    candidates = (
        _arguments(facts, library, dict(zip(names, values, strict=True)))
        for values in itertools.product(_SMALL.get(len(names), ()), repeat=len(names))
    )
    usable = [arguments for arguments in candidates if arguments]
    for start in range(0, len(usable), _CHUNK):
        yield _specialised(usable[start : start + _CHUNK], library)


def _arguments(facts: Facts, library: Library, values: Mapping[str, Fraction]) -> list[str] | None:
    """What the statement is applied to; None where a value does not fit its variable's type."""
    arguments = []
    for binder in facts.binders:
        if binder.kind == "value":
            literal = _literal(values.get(binder.name, Fraction(0)), binder.type)
            if literal is None:
                return None
            arguments.append(literal)
        else:
            arguments.append("inferInstance" if binder.kind == "instance" else _proof(library))
    return arguments


def _literal(value: Fraction, type_: str) -> str | None:
    fits = (value >= 0 or type_ in _SIGNED) and (value.denominator == 1 or type_ in _FRACTIONS)
    if type_ not in _NUMBERS or not fits:
        return None
    whole = f"({value.numerator} : {type_})"
    return whole if value.denominator == 1 else f"({whole} / {value.denominator})"


def _is_equation(binder: Binder) -> bool:
    return binder.kind == "hypothesis" and _EQUATION.fullmatch(binder.type) is not None


def _evidence(binder: Binder, library: Library) -> str:
    if binder.kind == "instance":
        return "inferInstance"
    return "rfl" if _is_equation(binder) else _proof(library)


def _proof(library: Library) -> str:
    return f"(by {_CLOSER[library]})"


def _specialised(candidates: Sequence[Sequence[str]], library: Library) -> Tactic:
    """The claim, assumed, applied to the first candidate that makes it false."""
    attempts = "\n".join(
        f"  | (have judge_c := @judge_h {' '.join(arguments)}; revert judge_c; {_CLOSER[library]})"
        for arguments in candidates
    )
    return Tactic(f"intro judge_h\nfirst\n{attempts}", _HEARTBEATS)
