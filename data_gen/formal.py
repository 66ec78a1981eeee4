"""The formal side of a question and of an answer, and the guards between prose and Lean.

A question is a *telescope*: Lean binders that declare its quantities and assume its premises, with the asked
quantity called `answer`. A step of an answer is a `FormalStep`: definitions of new quantities and a claim about
them. Lean judges claims; the guards judge whether a claim is the prose step's claim at all, since the judge must not
be argued into a different one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from data_gen.terms import ForeignTerm, check_term, denominators, has_names
from rltpf.numbers import asserted_results, mentioned, numerals, operands, parse_value, stated, states_a_number
from rltpf.prover.gate import gate
from rltpf.records import Record

ANSWER = "answer"
RAT = "Rat"
"""The type of every quantity: naturals and integers round what they subtract and divide."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_RELATION = re.compile(r"≠|≤|≥|<=|>=|!=|=|<|>")
# Words of a step that may be claimed as another relation than `=`.
_COMPARES = re.compile(
    r"[<>≤≥≠]|n't|\b(?:than|least|most|not|no|cannot|less|fewer|more|greater|larger|bigger|smaller|higher|lower|exceed\w*|"
    r"below|above|under|over|within|between|up to|enough|too|max\w*|min\w*|differ\w*|positive|negative|limit)\b",
    re.IGNORECASE,
)


class Refusal(Exception):
    """A formalisation that a guard refused; `reason` is a code to count by, the message goes into the repair prompt."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Definition(Record):
    """A new quantity, defined by a Lean term over earlier ones."""

    name: str
    value: str
    type: str = RAT

    def binders(self) -> str:
        return f"({self.name} : {self.type}) ({self.name}_def : {self.name} = {self.value})"


@dataclass(frozen=True)
class FormalStep(Record):
    """One step in Lean; `claim` is None for a step that claims nothing, `proof` is the model's own tactic block, if
    any."""

    definitions: tuple[Definition, ...] = ()
    claim: str | None = None
    proof: str | None = None


def binder_groups(telescope: str) -> Iterator[tuple[list[str], str]]:
    """The groups `(names : body)` of a telescope that passed the gate: names and body."""
    depth, start = 0, 0
    for position, character in enumerate(telescope):
        if character in "({":
            depth += 1
            start = position + 1 if depth == 1 else start
        elif character in ")}":
            depth -= 1
            if depth == 0:
                names, _, body = telescope[start:position].partition(":")
                yield names.split(), body.strip()


def variables(telescope: str) -> set[str]:
    """The names that a telescope binds, premises' names included."""
    return {name for names, _ in binder_groups(telescope) for name in names}


def quantities(telescope: str) -> set[str]:
    """The names of its quantities."""
    return {name for names, body in binder_groups(telescope) if body == RAT for name in names}


def check_telescope(telescope: str) -> None:
    """Refuses a telescope that is more or less than binders around an `answer`."""
    if hits := gate(telescope, "binders"):
        raise Refusal("gate", "The telescope must consist of binders alone: " + "; ".join(hits) + ".")
    if ANSWER not in variables(telescope):
        raise Refusal("no_answer_slot", f"The telescope declares no variable `{ANSWER}`.")


def premise_terms(telescope: str) -> list[str]:
    """Both sides of every premise; refuses binders that are neither rational quantities nor relations between them."""
    known = quantities(telescope)
    terms = []
    for names, body in binder_groups(telescope):
        if body == RAT:
            continue
        if not _RELATION.search(body):
            raise Refusal("type", f"`{' '.join(names)}` has type `{body}`; every quantity is of type {RAT}.")
        sides = [side for left, _, right in atoms(body) for side in (left, right)]
        _check_terms(sides, known)
        terms += sides
    return terms


def step_terms(step: FormalStep, known: set[str]) -> list[str]:
    """All terms of a step; refuses those outside the language of claims. `known` are the quantities before the step.

    Called for steps that Lean could read: of an undeclared name Lean itself complains best.
    """
    values = [definition.value for definition in step.definitions]
    sides = [side for left, _, right in atoms(step.claim) for side in (left, right)] if step.claim else []
    _check_terms([*values, *sides], known | {definition.name for definition in step.definitions})
    return [*values, *sides]


def _check_terms(terms: Iterable[str], known: set[str]) -> None:
    try:
        for term in terms:
            check_term(term, known)
    except ForeignTerm as error:
        raise Refusal("foreign_term", f"{error}.") from error


def divisors(terms: Iterable[str]) -> list[str]:
    """What the terms divide by, each once; Lean's `x / 0` is 0, so these have to be shown not to be zero."""
    return list(dict.fromkeys(divisor for term in terms for divisor in denominators(term)))


def check_definitions(definitions: Sequence[Definition], known: set[str]) -> None:
    """Refuses definitions that could assume something: old names, values that mention themselves or later names."""
    for index, definition in enumerate(definitions):
        name = definition.name
        if not _IDENTIFIER.fullmatch(name):
            raise Refusal("definition", f"`{name}` is not a lower-case identifier.")
        if name in known or f"{name}_def" in known:
            raise Refusal("definition", f"`{name}` is already in use; a definition needs a new name.")
        if definition.type != RAT:
            raise Refusal("type", f"`{name}` has type `{definition.type}`; every quantity is of type {RAT}.")
        if hits := gate(definition.value, "term"):
            raise Refusal("gate", f"The value of `{name}`: " + "; ".join(hits) + ".")
        later = {d.name for d in definitions[index:]}
        # `(x : Rat) (x_def : x = x + 1)` would assume a falsehood, and everything would follow from it.
        if used := later & set(re.findall(r"\w+", definition.value)):
            raise Refusal("definition", f"The value of `{name}` uses `{min(used)}`, which is not defined before it.")
        known |= {name, f"{name}_def"}


def atoms(claim: str) -> list[tuple[str, str, str]]:
    """A claim as relations (left, relation, right); refuses whatever is not relations joined by ∧."""
    if hits := gate(claim, "term"):
        raise Refusal("gate", f"The claim `{claim}`: " + "; ".join(hits) + ".")
    parts = []
    for atom in claim.split("∧"):
        # Brackets around whole atoms may be balanced only across ∧, as in `(a = b ∧ c = d)`.
        text = _unbracket(atom.strip())
        sides = _RELATION.split(text)
        if len(sides) != 2 or not all(side.strip() and side.count("(") == side.count(")") for side in sides):
            raise Refusal("claim_form", f"`{atom.strip()}` is not one relation between two terms.")
        relation = _RELATION.search(text)
        assert relation is not None
        parts.append((sides[0].strip(), relation.group(), sides[1].strip()))
    return parts


def proposition(claim: str) -> str:
    """A claim as it is handed to Lean: its relations as they are, those between mere numerals stated over the
    rationals.

    `7 / 2 = 3` would be read over the naturals, where it holds.
    """
    relations = []
    for left, relation, right in atoms(claim):
        mere = not has_names(left) and not has_names(right)
        relations.append(f"({left} : {RAT}) {relation} {right}" if mere else f"{left} {relation} {right}")
    return " ∧ ".join(relations)


def _unbracket(atom: str) -> str:
    while atom.startswith("(") and atom.endswith(")") and _closes_at_end(atom):
        atom = atom[1:-1].strip()
    return atom


def _closes_at_end(text: str) -> bool:
    depth = 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return index == len(text) - 1
    return False


def check_step(step: str, formal: FormalStep, context: str) -> None:
    """Refuses a formalisation that is not the prose step's: numbers from elsewhere (`drift`), results left out,
    calculations not claimed.

    `context` is the question and the earlier steps; their numbers may occur too.
    """
    results = asserted_results(step)
    lean = " ".join((formal.claim or "", *(definition.value for definition in formal.definitions)))
    if strange := numerals(lean) - mentioned(step) - mentioned(context):
        raise Refusal("drift", f"The entry holds {min(strange)}, which the step `{step}` does not mention.")
    if formal.claim is None:
        if states_a_number(step):
            raise Refusal("hidden_claim", f"The step `{step}` states a number, so it has a claim.")
        return
    relations = atoms(formal.claim)
    # `left < 10` holds where the step is wrong to say that 10 are left.
    if any(sign != "=" for _, sign, _ in relations) and not _COMPARES.search(step):
        raise Refusal("drift", f"The claim `{formal.claim}` compares, and the step `{step}` does not.")
    given = set().union(*(_given(relation, formal.definitions) for relation in relations))
    said = given.union(*(_said(relation, formal.definitions) for relation in relations))
    # A number that the question and the earlier steps do not have is what the step concludes.
    if not results and mentioned(step) and not said & (stated(step) - mentioned(context) or mentioned(step)):
        raise Refusal("drift", f"The claim `{formal.claim}` says nothing with the numbers of the step `{step}`.")
    for readings in results:
        if not readings & given:
            raise Refusal(
                "drift", f"The step says `= {max(readings)}`, but the claim `{formal.claim}` does not say so."
            )


def unstated(step: str, formal: FormalStep, context: str) -> set[Fraction]:
    """The numbers that a prose step calculates with and that no one has given or worked out: neither the question and
    the earlier steps, which are the `context`, nor the step's other calculations, nor its entry."""
    entry = numerals(" ".join((formal.claim or "", *(definition.value for definition in formal.definitions))))
    known = entry.union(mentioned(context), *asserted_results(step))
    # A percentage may be a fraction in the entry.
    return {value for value in operands(step) - known if not {value / 100, value * 100} & entry}


def _numerals(term: str, definitions: Sequence[Definition]) -> set[Fraction]:
    """The numerals of a term and, where it uses a quantity that this entry defines, of the entry's definitions."""
    names = set(re.findall(r"\w+", term))
    values = [d.value for d in definitions] if any(d.name in names for d in definitions) else []
    return numerals(" ".join((term, *values)))


def _said(relation: tuple[str, str, str], definitions: Sequence[Definition]) -> set[Fraction]:
    """The numbers that a relation says something with: `x = 14` says nothing of a quantity defined to be 14."""
    left, _, right = relation
    return _numerals(left, definitions) ^ _numerals(right, definitions)


def _given(relation: tuple[str, str, str], definitions: Sequence[Definition]) -> set[Fraction]:
    """The values that an equation gives to something else; none for `10 = 10 + x - x`, true of every number."""
    left, sign, right = relation
    found = set()
    for side, other in ((left, right), (right, left)):
        value = parse_value(_unbracket(side))
        if sign == "=" and value is not None and value not in _numerals(other, definitions):
            found.add(value)
    return found


def other_reading(step: str, claim: str) -> str | None:
    """The claim with each percentage of the step's results read the other way, `x = 120` as `x = 120 / 100`.

    None where the results can be read in one way only. A claim is refuted only if both its readings are.
    """
    other: dict[Fraction | None, Fraction] = {}
    for readings in asserted_results(step):
        if len(readings) == 2:
            small, large = sorted(readings, key=abs)
            other |= {small: large, large: small}
    relations = []
    changed = False
    for left, sign, right in atoms(claim):
        sides = []
        for side in (left, right):
            value = parse_value(_unbracket(side))
            changed |= value in other
            sides.append(f"({other[value]})" if value in other else side)
        relations.append(f"{sides[0]} {sign} {sides[1]}")
    return " ∧ ".join(relations) if changed else None


def check_final(claim: str | None, final: str) -> None:
    """Refuses a last claim that is not `answer = N` with the N of the answer's prose."""
    relations = atoms(claim) if claim is not None else []
    stated = parse_value(final)
    if len(relations) != 1 or relations[0][:2] != (ANSWER, "="):
        raise Refusal("answer_mismatch", f"The last claim must be `{ANSWER} = N`.")
    if stated is None or parse_value(_unbracket(relations[0][2])) != stated:
        raise Refusal("answer_mismatch", f"The answer says `{final}`, the last claim says `{claim}`.")


def step_binders(telescope: str, earlier: Sequence[FormalStep], proved: Sequence[bool], step: FormalStep) -> str:
    """The hypotheses of a step: the premises, all definitions so far, and those earlier claims that were proved."""
    parts = [telescope.strip()]
    for number, (previous, is_proved) in enumerate(zip(earlier, proved, strict=True), start=1):
        parts += [definition.binders() for definition in previous.definitions]
        if is_proved and previous.claim is not None:
            parts.append(f"(step_{number} : {proposition(previous.claim)})")
    parts += [definition.binders() for definition in step.definitions]
    return "\n    ".join(line for part in parts for line in part.splitlines())


def theorem(name: str, binders: str, goal: str) -> str:
    """A Lean theorem without its proof."""
    return f"theorem {name}\n    {binders} :\n    {goal}"
