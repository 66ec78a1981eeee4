"""Tactics that are tried in turn, the cheap ones first.

Each is a request of its own: a heartbeat or recursion error is caught by neither `try` nor `first`, so one expensive
tactic would take the others with it. Budgets are heartbeats, which do not depend on the machine's load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Library = Literal["core", "mathlib"]
"""What Lean text may build on, and so which tactics there are: core Lean alone, or Mathlib too."""


@dataclass(frozen=True)
class Tactic:
    text: str
    heartbeats: int


# Milliseconds on the embedded Lean for telescopes of 3 to 15 hypotheses, whether it proves or fails: 10-120, 20-480,
# 20-960, 6-40. The first closes two thirds of the steps that follow from equations, the next two the rest.
CORE = (
    # Values into everything, then exact arithmetic; needs a value for every variable.
    Tactic("subst_vars <;> decide +kernel", 20_000),
    Tactic("subst_vars <;> grind", 50_000),
    # Simplifying first splits conjunctions and inequalities, and gives grind products of numbers.
    Tactic("simp_all <;> grind", 50_000),
    Tactic("omega", 50_000),
)

MATHLIB = (
    Tactic("subst_vars <;> norm_num", 50_000),
    Tactic("norm_num [*]", 50_000),
    Tactic("linarith", 50_000),
    Tactic("subst_vars <;> ring", 50_000),
    Tactic("omega", 50_000),
    Tactic("simp_all <;> grind", 100_000),
    Tactic("simp_all <;> field_simp <;> ring", 100_000),
    Tactic("nlinarith", 100_000),
)


def library_of(header: str) -> Library:
    """What the imports of a header bring."""
    return "mathlib" if "import Mathlib" in header else "core"


def tactics(library: Library) -> tuple[Tactic, ...]:
    """The cascade for a header that has Mathlib, or core Lean alone."""
    return MATHLIB if library == "mathlib" else CORE
