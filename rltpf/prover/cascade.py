"""Tactics that are tried in turn, the cheap ones first.

Each is a request of its own: a heartbeat or recursion error is caught by neither `try` nor `first`, so one expensive tactic would
take the others with it. Budgets are heartbeats, which do not depend on the machine's load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Tactic:
    text: str
    heartbeats: int


CORE = (
    Tactic("grind", 100_000),
    Tactic("subst_vars <;> decide +kernel", 20_000),
    Tactic("omega", 50_000),
    Tactic("simp_all <;> grind", 100_000),
)

MATHLIB = (
    Tactic("norm_num [*]", 50_000),
    Tactic("omega", 50_000),
    Tactic("subst_vars <;> norm_num", 50_000),
    Tactic("linarith", 50_000),
    Tactic("subst_vars <;> ring", 50_000),
    Tactic("grind", 100_000),
    Tactic("simp_all <;> field_simp <;> ring_nf", 100_000),
    Tactic("nlinarith", 100_000),
)


def tactics(library: Literal["core", "mathlib"]) -> tuple[Tactic, ...]:
    """The cascade for a header that has Mathlib, or core Lean alone."""
    return MATHLIB if library == "mathlib" else CORE
