"""A base statement as text: its one theorem, and where in the theorem's goal an answer stands.

Places are looked for on Lean's tokens and not on characters: 3 is not in `3.5`, `-3`, `x_3`, `Fin 3` or a name. Only
the goal is ever edited: a number of a hypothesis is a given of the problem, and pasting an answer there makes another
problem of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rltpf.prover.lean_text import scan
from rltpf.prover.slots import names
from rltpf.selection import arithmetic

_NAME = r"[^\W\d][\w'!?]*(?:\.[^\W\d][\w'!?]*)*"
_TOKEN = re.compile(rf"\d+(?:\.\d+)?|{_NAME}|:=|<->|->|<=|>=|/\\|\\/|=>|\S")
_THEOREM = re.compile(r"(?<![\w.'])(theorem|lemma|example)(?![\w'!?])")
_PROOF = re.compile(r"\s*(?:by\s+)?sorry\s*")
_IMPORT = re.compile(r"\s*import\s+[\w.]+[ \t]*(?:\n|$)")
_BRACKETS = dict(zip("([{⟨⦃⌊⌈", ")]}⟩⦄⌋⌉", strict=True))
EQUALITIES = names("= ↔ <->")
_EQUIVALENCES = names("↔ <-> Iff")
_LESS, _GREATER = names("< ≤ <="), names("> ≥ >=")
_PROPERTIES = names("∈ ∣")
# What may stand beside a whole operand: before it, and after it.
_BESIDE = EQUALITIES | names(r"< > ≤ ≥ <= >= ∈ ∧ ∨ /\ \/ ¬ → -> : := ; ,")
_BEFORE = _BESIDE | names("( { [ ⟨")
_AFTER = _BESIDE | names(") } ] ⟩")
# In a goal with one of these an equation may not be claimed by itself.
_DOUBTFUL = names(r"∨ \/ Or Ne Xor False")
_JOINTS = names(r"∧ ∨ → ↔ /\ \/ -> <->")
_PARTS = names("; , { } [ ] ⟨ ⟩")
_LONGEST_OPERAND = 24
# A number after one of these is part of a type, or no argument.
_NO_FUNCTIONS = names("Fin ZMod BitVec Vector Matrix EuclideanSpace fun let have if then else in mod")


class StatementError(ValueError):
    """A text that is no single statement without a proof; the message says why."""


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """Where the base answer stands in a statement: its characters, and whether it is surely a slot of the answer.

    It is sure as one side of an equation that is claimed outright; in a binder, as a bound, a part of a tuple or set,
    an alternative, or the argument of a function it may be a given of the problem, or a part of an answer that is more.
    """

    start: int
    end: int
    sure: bool


@dataclass(frozen=True)
class Statement:
    """`text` is definitions and one theorem header, without `:=` and what follows; `goal` are the characters after the
    colon that ends the binders."""

    text: str
    goal: tuple[int, int]

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the goal."""
        return [token for token in self.all_tokens if token.start >= self.goal[0]]

    @property
    def all_tokens(self) -> list[Token]:
        return [Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(scan(self.text).code)]


def read_statement(source: str) -> Statement:
    """The statement of a formaliser's Lean text, whose imports and final `sorry` are dropped.

    Raises `StatementError` where it is not one theorem, proves it, or has no goal: an empty text type-checks too.
    """
    while match := _IMPORT.match(source):
        source = source[match.end() :]
    source = source.strip()
    code = scan(source).code
    theorems = list(_THEOREM.finditer(code))
    if len(theorems) != 1:
        raise StatementError(f"{len(theorems)} theorems, and one is needed" if theorems else "there is no theorem")
    depth, goal, lets = 0, None, 0
    for token in _TOKEN.finditer(code, theorems[0].end()):
        depth += token[0] in _BRACKETS
        if depth == 0 and token[0] in ("let", "have") and goal is not None:
            lets += 1
        elif depth == 0 and token[0] == ":" and goal is None:
            goal = token.end()
        elif depth == 0 and token[0] == ":=" and lets:
            lets -= 1
        elif depth == 0 and token[0] == ":=":
            if not _PROOF.fullmatch(code, token.end()):
                raise StatementError("the theorem comes with a proof, or something follows it")
            source, code = source[: token.start()], code[: token.start()]
            break
        depth -= token[0] in _BRACKETS.values()
    if goal is None or not code[goal:].strip():
        raise StatementError("the theorem has no goal")
    text = source.rstrip()
    return Statement(text, (goal, len(text)))


def places(statement: Statement, answer: str) -> list[Place]:
    """Where the answer, a Lean term, stands in the goal as a whole operand, from left to right."""
    wanted = [m[0] for m in _TOKEN.finditer(answer)]
    tokens = statement.tokens
    doubtful = any(token.text in _DOUBTFUL for token in tokens)
    found = []
    for first in range(len(tokens) - len(wanted) + 1):
        last = first + len(wanted)
        if [token.text for token in tokens[first:last]] != wanted:
            continue
        before = tokens[first - 1].text if first else ":"
        after = tokens[last].text if last < len(tokens) else ":="
        bound = is_bound(tokens[:first])
        if after not in _AFTER or not _may_precede(before, wanted[0]):
            continue
        if _is_denied(tokens[:first]) or (not bound and is_antecedent(tokens[last:])):
            continue
        whole = before in _BEFORE - _PARTS and after in _AFTER - _PARTS
        sure = whole and not bound and not doubtful and bool({before, after} & EQUALITIES)
        found.append(Place(tokens[first].start, tokens[last - 1].end, sure))
    return found


def holds(statement: Statement, answer: str) -> bool:
    """Whether the goal has the answer, a Lean term, as a whole operand, be it written in another way: 0.5 for 1 / 2.

    It has not where it stands in one of two alternatives or is denied, which claims another thing.
    """
    return any(True for _ in _held(statement, answer))


def bounds(statement: Statement, answer: str) -> bool:
    """Whether the goal claims no more of the answer than a bound, or another property that many numbers have.

    `x ≤ 50` is true with 51, too. `x ≤ 50 ∧ 50 ≤ x` is not, nor `x ≤ 50 ↔ p x`.
    """
    if {token.text for token in statement.tokens} & _EQUIVALENCES:
        return False
    kinds = {_property(before, after) for before, after in _held(statement, answer)}
    return len(kinds) == 1 and "" not in kinds


def _property(before: str, after: str) -> str:
    """What is claimed of the operand between these tokens; empty for an equation, or what is not known."""
    if {before, after} & EQUALITIES:
        return ""
    if before in _LESS or after in _GREATER:
        return "no less"
    return "no more" if before in _GREATER or after in _LESS else after if after in _PROPERTIES else ""


def _held(statement: Statement, answer: str) -> Iterator[tuple[str, str]]:
    """The tokens beside each whole operand of the goal that is the answer, as far as it is claimed outright."""
    value, tokens = arithmetic.value(answer), statement.tokens
    if value is None:
        found = [
            (sum(t.end <= place.start for t in tokens), sum(t.end <= place.end for t in tokens) - 1)
            for place in places(statement, answer)
        ]
    else:
        found = _of_value(statement, value)
    for first, last in found:
        if _is_outright(tokens[:first], tokens[last + 1 :]):
            yield tokens[first - 1].text if first else ":", tokens[last + 1].text if last + 1 < len(tokens) else ":="


def _of_value(statement: Statement, value: Fraction) -> list[tuple[int, int]]:
    """The first and last tokens of the goal's whole operands of a value that are not denied."""
    tokens, found = statement.tokens, []
    for first, token in enumerate(tokens):
        before = tokens[first - 1].text if first else ":"
        if not _may_precede(before, token.text) or _is_denied(tokens[:first]):
            continue
        for last in range(first, min(len(tokens), first + _LONGEST_OPERAND)):
            after = tokens[last + 1].text if last + 1 < len(tokens) else ":="
            if after in _AFTER and arithmetic.value(statement.text[token.start : tokens[last].end]) == value:
                found.append((first, last))
    return found


def _may_precede(before: str, first: str) -> bool:
    """Whether a whole operand may begin between these: not at the sign of `x - 3`, which is no argument of x."""
    function = re.fullmatch(_NAME, before) is not None and before not in _NO_FUNCTIONS
    return before in _BEFORE or (function and first != "-")


def is_bound(before: Sequence[Token]) -> bool:
    """Whether these tokens end within the brackets of a binder, `∀ (h : x = …`: most often a given, too."""
    depth = 0
    for place in range(len(before) - 1, -1, -1):
        depth += (before[place].text in _BRACKETS.values()) - (before[place].text in _BRACKETS)
        if depth < 0:
            rest = [token.text for token in before[place + 1 :]]
            if before[place].text == "{" and "|" in rest:
                return False  # a set `{x : ℕ | x < 3}` gives nothing
            return ":" in rest and all(re.fullmatch(_NAME, name) for name in rest[: rest.index(":")])
    return False


def is_antecedent(rest: Sequence[Token]) -> bool:
    """Whether an arrow follows, so that what comes before it is a given."""
    depth = 0
    for token in rest:
        depth += (token.text in _BRACKETS) - (token.text in _BRACKETS.values())
        if token.text in ("→", "->") and depth <= 0:
            return True
    return False


def _is_outright(before: Sequence[Token], rest: Sequence[Token]) -> bool:
    """Whether no `∨` joins what stands between these tokens with something else; in a binder it is a name's value."""
    sides = (rest, _BRACKETS.keys()), (before[::-1], _BRACKETS.values())
    return is_bound(before) or not any(_is_joined(tokens, opening) for tokens, opening in sides)


def _is_joined(beside: Sequence[Token], opening: Collection[str]) -> bool:
    """Whether an `∨` comes before any arrow or comma on the way outwards; `opening` are the brackets that lead in."""
    depth = 0
    for token in beside:
        if token.text in opening:
            depth += 1
        elif token.text in _BRACKETS or token.text in _BRACKETS.values():
            depth = max(0, depth - 1)
        elif depth == 0 and token.text in ("∨", r"\/", "→", "->", ","):
            return token.text in ("∨", r"\/")
    return False


def _is_denied(before: Sequence[Token]) -> bool:
    """Whether a negation reaches here: an equation in it says what the answer is not."""
    depth, reaches = 0, True
    for token in reversed(before):
        depth += (token.text in _BRACKETS.values()) - (token.text in _BRACKETS)
        if depth < 0:
            depth, reaches = 0, True
        elif depth == 0 and token.text in _JOINTS:
            reaches = False
        elif depth == 0 and reaches and token.text in ("¬", "Not"):
            return True
    return False


def substitute(statement: Statement, chosen: Sequence[Place], replacement: str) -> str:
    """The statement's text with the replacement, a Lean term, at each place; in brackets unless it is an atom."""
    if not re.fullmatch(rf"\d+(?:\.\d+)?|{_NAME}", replacement):
        replacement = f"({replacement})"
    text = statement.text
    for place in sorted(chosen, key=lambda place: -place.start):
        text = text[: place.start] + replacement + text[place.end :]
    return text
