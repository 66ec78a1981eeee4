"""The rules of a final answer that are code: its form, and that the proved claim gives it. Pure functions.

Lean proves a statement, not an answer: only what the statement's conclusion says to be the asked quantity is proved to
be it. So an answer has to be, part by part and in order, what the equations of the conclusion give, all of them. A
classifier's word is needed besides, and cannot replace this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from eval.rewrite.claim import Claim, Unclear, bare, read_claim
from eval.rewrite.literal import parts
from eval.rewrite.tokens import Token, closers, split, tokens
from rltpf.records import Failure

STAGE = "classify"
_OPERATORS = frozenset("+-*/^!%×·÷∑∏")
_OF_NUMBERS = (
    r"(?<!common )factor(?:s|ed|i[sz]\w*|ing|isation|ization)?|as an? (?:product|sum|power)|in the form|"
    r"scientific notation"
)
_ASKS_FOR_CALCULATION = re.compile(rf"\b(?:{_OF_NUMBERS})\b", re.IGNORECASE)
_ASKS_FOR_FORM = re.compile(
    rf"\b(?:{_OF_NUMBERS}|expand\w*|simplif\w*|expressions?|express|in terms of|polynomials?|formula)\b",
    re.IGNORECASE,
)
_STEPS = (1, 2, 5, 10)
_CONSTANTS = frozenset(("π", "sqrt", "Real.pi", "Real.sqrt", "Real.exp", "Real.log"))


def failure(answer: str, question: str, statement: str) -> Failure | None:
    """Why an answer is not the final one that a proved statement gives; None where it is."""
    try:
        claim = read_claim(statement)
    except Unclear as error:
        return Failure(STAGE, "unknown", str(error))
    for part in parts(answer):
        if unfinished := _unfinished(tokens(part), claim, question):
            return Failure(STAGE, "intermediate", f"`{part}` {unfinished}")
    return _tie([tokens(part) for part in parts(answer)], claim)


def _asks_for_form(question: str, of_numbers: bool) -> bool:
    """Whether a problem asks for an expression and not for a value: `simplify 2 + 3` asks for a number, and `factor 6`
    for a product of numbers."""
    return (_ASKS_FOR_CALCULATION if of_numbers else _ASKS_FOR_FORM).search(question) is not None


def _unfinished(part: Sequence[Token], claim: Claim, question: str) -> str:
    """Why a part is no final form, in words; empty where it is."""
    names = [token.text for token in part if token.kind == "name"]
    if own := [name for name in names if name in claim.names]:
        return f"holds the name `{own[0]}`, which means nothing outside of the statement"
    if _asks_for_form(question, of_numbers=not names):
        return ""
    if variables := [name for name in names if name not in _CONSTANTS]:
        return f"holds the name `{variables[0]}`, and the problem asks for a value"
    operators = [
        number
        for number, token in enumerate(part)
        if token.text in _OPERATORS and not _is_sign(part, number) and not _is_reduced_fraction(part, number)
    ]
    return f"holds the operator `{part[operators[0]].text}`, which is not carried out" if operators else ""


def _is_sign(part: Sequence[Token], number: int) -> bool:
    """Whether a minus is the sign of a number."""
    before = part[number - 1].text if number else ""
    after = part[number + 1].kind if number + 1 < len(part) else ""
    return part[number].text == "-" and before in ("", "(", "{", "[", "⟨", ",") and after == "number"


def _is_reduced_fraction(part: Sequence[Token], number: int) -> bool:
    """Whether a slash is that of a fraction in lowest terms: there is nothing left to carry out."""
    if part[number].text != "/" or not 0 < number < len(part) - 1:
        return False
    above, below = part[number - 1].text, part[number + 1].text
    around = [part[place].text for place in (number - 2, number + 2) if 0 <= place < len(part)]
    if not (_is_digits(above) and _is_digits(below)) or any(sign in _OPERATORS - {"-"} for sign in around):
        return False
    return int(below) > 1 and gcd(int(above), int(below)) == 1


def _is_digits(text: str) -> bool:
    return re.fullmatch("0|[1-9][0-9]{0,39}", text) is not None


def _tie(answer: list[list[Token]], claim: Claim) -> Failure | None:
    """Take the parts of an answer from the equations of a claim, in their order, until both are used up."""
    rest = [_texts(part) for part in answer]
    for number, equation in enumerate(claim.equations):
        if not rest:
            left = len(claim.equations) - number
            return Failure(STAGE, "unknown", f"the answer has fewer parts than the claim: {left} equations are left")
        taken = _taken(claim.given(equation), rest)
        if not taken:
            shown = " ".join((*_texts(equation.left), "=", *_texts(equation.right)))
            return Failure(STAGE, "wrong_target", f"`{' '.join(rest[0])}` is not what `{shown}` gives")
        rest = rest[taken:]
    if rest:
        return Failure(STAGE, "unknown", f"`{' '.join(rest[0])}` is given by no equation of the claim")
    return None


def _taken(side: Sequence[Token], answer: Sequence[tuple[str, ...]]) -> int:
    """How many parts at the beginning of an answer a side gives: itself, or the elements of the list that it is."""
    if answer[0] == _texts(side):
        return 1
    if len(side) > 2 and side[0].text in "({[⟨" and closers(side).get(0) == len(side) - 1:
        elements = [_texts(bare(element)) for element in split(side[1:-1], ",")]
        if all(elements) and list(answer[: len(elements)]) == elements:
            return len(elements)
    return 0


def _texts(part: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.text for token in part)


def other_claims(statement: str) -> list[str]:
    """What must not be provable too: the statement with another number in the place of each answer, one at a time, and,
    where its answers are the solutions of a condition, that one of them is none.

    For a claim that gives no numbers there is nothing to compare. That a term is 17 and 18, nothing can prove; but what
    exists may be any odd number, so there several other numbers are tried, and two are changed together.
    """
    claim = read_claim(statement)
    others = []
    changed = [token for equation in claim.equations if (token := _last_of(equation.right))]
    for equation in claim.equations:
        if token := _last_of(equation.right):
            others += [_replaced(statement, [token], [step]) for step in (_STEPS if claim.witnessed else (1,))]
        if claim.solved:
            solution = statement[equation.left[0].start : equation.right[-1].end]
            others.append(f"{statement[: claim.begin]} ¬ ({solution})")
    if claim.witnessed:
        others += [_replaced(statement, pair, steps) for pair in pairwise(changed) for steps in ((1, -1), (-1, 1))]
    return others


def single_claims(statement: str) -> list[str]:
    """The statement with each equation alone, where its conclusion is a conjunction: beside `x > 3`, nobody would see
    that `17 = 17` claims nothing."""
    claim = read_claim(statement)
    conclusion = tokens(statement[claim.begin :])
    if claim.witnessed or claim.solved or {"→", "∀", "let"} & {token.text for token in conclusion}:
        return []
    equations = [statement[e.left[0].start : e.right[-1].end] for e in claim.equations]
    if "∧" not in {token.text for token in conclusion}:
        return []
    return [f"{statement[: claim.begin]} {equation}" for equation in equations]


def _replaced(statement: str, numbers: Sequence[Token], steps: Sequence[int]) -> str:
    """The statement with numbers that are so much larger."""
    for token, step in sorted(zip(numbers, steps, strict=True), key=lambda item: -item[0].start):
        statement = f"{statement[: token.start]}{_larger(token.text, step)}{statement[token.end :]}"
    return statement


def _last_of(side: Sequence[Token]) -> Token | None:
    return next((token for token in reversed(side) if token.kind == "number"), None)


def _larger(number: str, step: int) -> str:
    whole, point, part = number.partition(".")
    if whole.isascii() and whole.isdigit() and int(whole) + step >= 0:
        return f"{int(whole) + step}{point}{part}"
    return f"({number} {'+' if step > 0 else '-'} {abs(step)})"
