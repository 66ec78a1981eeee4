"""What a statement says that its author may not mean: traps that no check of a proof can see.

A proof of a statement with contradictory hypotheses is a proof, and `10 - 12 + 5 = 5` is true of Lean's natural
numbers. The judge reads what it can off the elaborated type and makes goals of the rest (`inspect` of
`lean/Judge.lean`): a trap is sprung where such a goal can be proved (False, or the negated conclusion, from the
hypotheses; the claim without one of them; the claim with its numerals made variables), or where it cannot (`b ≤ a` for
a difference `a - b` of naturals).
The text is read for precedence, which the type no longer shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rltpf.prover.cascade import Library, Tactic, tactics
from rltpf.prover.lean_text import blank, words
from rltpf.prover.report import Report

REJECTED = {
    "vacuous": "no values meet the hypotheses, so the statement claims nothing",
    "conclusion_refuted": "the hypotheses prove the conclusion and its negation, so no values meet them",
    "goal_in_hypotheses": "the claim is one of the hypotheses, so the statement claims nothing",
}
"""Flags of statements that claim nothing: no proof of theirs counts. The others are for whoever wrote the statement."""

CONTRADICTION = frozenset({"vacuous", "conclusion_refuted"})
"""Flags that, of a statement that is proved, say that no values meet its hypotheses. Of another the second says that it
is false, if any do."""

TRUNCATION = frozenset({"nat_subtraction", "nat_division", "int_division", "division_by_zero"})
"""Flags of operations whose value is not that of the rational numbers."""

# One command each, and cheap: these goals are rarely provable, and a flag that is missed here is no wrong verdict.
_LIGHT = {
    "core": Tactic(
        "first | rfl | exact ⟨_, rfl⟩ | assumption | (subst_vars <;> decide +kernel) | omega | grind", 20_000
    ),
    "mathlib": Tactic("first | rfl | exact ⟨_, rfl⟩ | assumption | norm_num | omega | linarith | grind", 50_000),
}
_OWN_TYPE = re.compile(r"\b(?:structure|class|inductive)\s+([^\s:({\[]+)")
_OWN_DEFINITION = re.compile(r"\b(?:def|abbrev)\s+([^\s:({\[]+)")
# Types within which another may be without values, by how Lean prints them.
_PARTS = {"×": "Prod", "⊕": "Sum", "//": "Subtype", "PEmpty": "PEmpty"}
_OWN_SYNTAX = frozenset(
    ("notation", "notation3", "infix", "infixl", "infixr", "prefix", "postfix", "instance", "attribute")
)
_CONNECTIVES = frozenset("∧∨→↔")
_RELATIONS = frozenset("=≠<>≤≥∣∈")
_TOKEN = re.compile(r"[∧∨→↔¬=≠<>≤≥∣∈()\[\]{}⟨⟩,]|/\\|\\/|->|<->|:=|[^\s∧∨→↔¬=≠<>≤≥∣∈()\[\]{}⟨⟩,]+")

Attempt = Callable[[str, Tactic], Report]
"""Asks whether a tactic proves a goal of the statement, by the goal's name in `prove` of the judge."""


@dataclass(frozen=True)
class Probe:
    """A goal made of the statement: `flag` is raised where it can be proved (`raised_by_proof`), or where it cannot.

    `detail` is the operation, hypothesis or proposition in question, as Lean prints it.
    """

    goal: str
    flag: str
    detail: str
    raised_by_proof: bool


@dataclass(frozen=True)
class Binder:
    name: str
    kind: Literal["value", "hypothesis", "instance"]
    type: str


@dataclass(frozen=True)
class Facts:
    """What the judge says of an elaborated statement: its telescope, the flags that its type shows, the probes."""

    binders: tuple[Binder, ...]
    flags: tuple[str, ...]
    probes: tuple[Probe, ...]

    @classmethod
    def from_reply(cls, reply: Mapping[str, Any]) -> Facts:
        """Raises `KeyError` or `TypeError` where the reply is not what the judge writes."""
        probes = enumerate(reply["probes"])
        return cls(
            tuple(Binder(b["name"], b["kind"], b["type"]) for b in reply["binders"]),
            tuple(reply["flags"]),
            tuple(Probe(str(n), p["flag"], p["detail"], p["raised_by_proof"]) for n, p in probes),
        )


def find_traps(statement: str, facts: Facts, library: Library, attempt: Attempt) -> tuple[str, ...]:
    """The flags of a statement, without repetition. `undecided` says that Lean gave no verdict on a probe."""
    flags = [*facts.flags, *text_flags(statement)]
    for probe in facts.probes:
        if probe.flag not in flags and not (probe.flag in CONTRADICTION and "vacuous" in flags):
            flags += sprung(statement, facts, probe, library, attempt)
    return tuple(dict.fromkeys(flags))


def sprung(statement: str, facts: Facts, probe: Probe, library: Library, attempt: Attempt) -> Sequence[str]:
    """The probe's flag where its trap is sprung, `undecided` where Lean gave no verdict, or nothing."""
    undecided = False
    for tactic in _tactics_for(statement, facts, probe, library):
        report = attempt(probe.goal, tactic)
        if report.verified:
            return [probe.flag] if probe.raised_by_proof else []
        undecided = undecided or not report.decided
    if not probe.raised_by_proof:
        return [probe.flag]
    return ["undecided"] if undecided else []


def _tactics_for(statement: str, facts: Facts, probe: Probe, library: Library) -> Sequence[Tactic]:
    if probe.raised_by_proof and probe.flag not in CONTRADICTION:
        return [_LIGHT[library]]
    cascade = tactics(library)
    if not probe.raised_by_proof:
        return cascade
    own = _OWN_TYPE.findall(blank(statement))
    opened = [*cascade]
    if definitions := "\n".join(f"try simp only [{n}] at *" for n in _OWN_DEFINITION.findall(blank(statement))):
        opened += [Tactic(f"{definitions}\nall_goals ({t.text})", t.heartbeats) for t in cascade]
    if opening := "\n".join(_opened(own, facts)):
        opened += [Tactic(f"{opening}\nall_goals ({t.text})", t.heartbeats) for t in cascade]
    if split := [*own, *(name for sign, name in _PARTS.items() if any(sign in b.type for b in facts.binders))]:
        opened.append(Tactic(f"grind [{', '.join(f'cases {name}' for name in split)}]", 50_000))
    return opened


def _opened(own: Sequence[str], facts: Facts) -> Iterator[str]:
    """Tactics that bring what a variable's type promises into the context: `structure` with a false field, `Fin 0`."""
    for binder in facts.binders:
        if binder.type.startswith("Fin "):
            yield f"have := {binder.name}.isLt"
        elif "//" in binder.type:
            yield f"have := {binder.name}.property"
        elif binder.type.split(" ")[0] in own:
            # By induction, since a type whose every constructor asks for a value of its own has none.
            yield f"first | induction {binder.name} | cases {binder.name}"


def text_flags(statement: str) -> list[str]:
    """Flags that only the text shows: own syntax, and connectives whose reach a reader may take for another."""
    code = blank(statement)
    flags = ["own_syntax"] if _OWN_SYNTAX & set(words(code)) else []
    return flags + (["precedence"] if _ambiguous(_TOKEN.findall(code)) else [])


def _ambiguous(tokens: Sequence[str]) -> bool:
    """`¬ 2 + 2 = 5 ∧ p` negates only `2 + 2 = 5`; `p ∧ q ∨ r` and `p → q ↔ r` are read in two ways."""
    ascii_ = {"/\\": "∧", "\\/": "∨", "->": "→", "<->": "↔"}
    stack: list[set[str]] = [set()]
    for token in (ascii_.get(token, token) for token in tokens):
        level = stack[-1]
        if token in "([{⟨":
            stack.append(set())
        elif token in ")]}⟩":
            if len(stack) > 1:
                stack.pop()
        elif token in (",", ":="):
            level.clear()
        elif token == "¬":
            level.add("¬")
            level.discard("¬=")
        elif token in _RELATIONS and "¬" in level:
            level.add("¬=")
        elif token in _CONNECTIVES:
            if "¬=" in level:
                return True
            level.discard("¬")
            if {"∧", "∨"} <= level | {token} or {"→", "↔"} <= level | {token}:
                return True
            level.add(token)
    return False
