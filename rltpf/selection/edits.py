"""What an edit of a base statement may change: the answer, and nothing that is given or that weakens the claim.

Neither a function nor a model that chooses places is trusted with this. `x + 3 = 10 → x = 3` with 5 for each 3 is
proved, and so may `a 5 = 5` be that was `a 3 = 3`; both are another problem than theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rltpf.prover.slots import names
from rltpf.selection.statement import Statement, Token, is_antecedent, is_bound

_CONNECTIVES = names(
    r"""∧ ∨ /\ \/ ¬ → -> ↔ <-> ∀ ∃ ∃! forall exists fun λ let have if then else match And Or Not Iff Exists Xor
    True False"""
)
_ORDERS = names("< > ≤ ≥ <= >=")
_RELATIONS = _ORDERS | names("= ≠ == != ∈ ∉ ⊆ ∣ ≡ Eq Ne")
_DRESS = names("( ) : ↑ ℕ ℤ ℚ ℝ Nat Int Rat Real")
_DEFINITIONS = names("def abbrev let have")
_BINDERS = _DEFINITIONS | names("∀ ∃ ∃! forall exists")
_VARIABLE = re.compile(r"[a-zα-ω_][\w'!?]*")


def overreach(base: Statement, edited: Statement, chosen: bool = False) -> str:
    """Why an edit of the goal is more than another answer; empty where it is no more.

    The connectives stay, and between two of them one side of each equation or inequality; what is given in the goal
    stays; and no variable comes in. Where a model chose the places one by one, a binder may hold one of them:
    `∀ (x : ℕ) (h : x = 14), x * x = 196`.
    """
    before, after = list(_parts(base.tokens)), list(_parts(edited.tokens))
    if [part[0].text for part in before[1:]] != [part[0].text for part in after[1:]]:
        return "the edit changes the logic of the goal"
    seen = 0
    for old, new in zip(before, after, strict=True):
        start, seen = seen, seen + len(old)
        texts, other = [token.text for token in old], [token.text for token in new]
        if texts == other:
            continue
        same = next((i for i, (a, b) in enumerate(zip(texts, other, strict=False)) if a != b), len(texts))
        changed = start + same
        bound = is_bound(base.tokens[:changed])
        if (bound and not chosen) or (is_antecedent(base.tokens[seen:]) and not bound):
            return "the edit changes what the goal gives"
        if (sides := _changed(texts, other)) is None:
            return "the edit changes both sides of an equation, or its relation"
        if variable := _new_variable(base, *sides):
            return f"the edit brings in the variable {variable}"
    return ""


def says_nothing(statement: Statement) -> bool:
    """Whether an equation of the goal is true by its words alone: the same stands on both sides, or a name that is
    defined as the other side, or of which nothing but this is said (`∃ x, x = 14`)."""
    for part in _parts(statement.tokens):
        texts = [token.text for token in _claim(statement, part)]
        if texts.count("=") != 1:
            continue
        equal = texts.index("=")
        sides = _bare(texts[:equal]), _bare(texts[equal + 1 :])
        if sides[0] == sides[1] != [] or any(_is_free(statement, *pair) for pair in (sides, sides[::-1])):
            return True
    return False


def _claim(statement: Statement, part: Sequence[Token]) -> Sequence[Token]:
    """A part without its connective, the names that this binds and the definition that it begins."""
    if not part or part[0].text not in _CONNECTIVES:
        return part
    depth, start = 0, 1
    for place, token in enumerate(part[1:], 1):
        depth += (token.text in "([{⟨") - (token.text in ")]}⟩")
        if depth == 0 and part[0].text in _BINDERS and token.text in (",", ";"):
            start = place + 1
        elif part[0].text in _DEFINITIONS and "\n" in statement.text[part[place - 1].end : token.start]:
            start = place
    return part[start:]


def _is_free(statement: Statement, name: Sequence[str], value: Sequence[str]) -> bool:
    """Whether the name is defined as just that value, `def n : ℕ := 14`, or exists without a word on it."""
    if len(name) != 1 or not _VARIABLE.fullmatch(name[0]):
        return False
    tokens = statement.all_tokens
    texts = [token.text for token in tokens]
    for place, text in enumerate(texts[1:], 1):
        if text != name[0] or texts[place - 1] not in _DEFINITIONS or ":=" not in texts[place:]:
            continue
        body = texts.index(":=", place) + 1
        end = body
        while (
            end < len(tokens)
            and texts[end] != ";"
            and "\n" not in statement.text[tokens[end - 1].end : tokens[end].start]
        ):
            end += 1
        if _bare(texts[body:end]) == value:
            return True
    exists = any(pair == ("∃", name[0]) for pair in pairwise(texts))
    return exists and texts.count(name[0]) == 2


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens cut before each connective; the first part may be empty."""
    part: list[Token] = []
    for token in tokens:
        if token.text in _CONNECTIVES:
            yield part
            part = []
        part.append(token)
    yield part


def _changed(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The side of the part's relation that changed, before and after; None where both sides did, or the relation."""
    places = [[i for i, text in enumerate(texts) if text in _RELATIONS] for texts in (old, new)]
    if len(places[0]) != len(places[1]):
        return None
    if not places[0]:
        return old, new
    # The relation with fewest brackets around it is that of the claim.
    one, other = (min(found, key=lambda i: _depth(texts, i)) for texts, found in zip((old, new), places, strict=True))
    if old[one] != new[other] and not {old[one], new[other]} <= _ORDERS:
        return None
    if old[:one] == new[:other]:
        return old[one + 1 :], new[other + 1 :]
    return (old[:one], new[:other]) if old[one + 1 :] == new[other + 1 :] else None


def _depth(texts: Sequence[str], place: int) -> int:
    return sum((text in "([{⟨") - (text in ")]}⟩") for text in texts[:place])


def _new_variable(base: Statement, old: Sequence[str], new: Sequence[str]) -> str:
    """A name that the statement has outside of this side, and the edit has in it: the answer may be given by that."""
    known, heads = {token.text for token in base.all_tokens}, [text.split(".")[0] for text in new]
    return next((name for name in heads if name in known and name not in old and _VARIABLE.fullmatch(name)), "")


def _bare(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text not in _DRESS]
