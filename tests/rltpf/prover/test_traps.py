"""Traps in statements: what they are called, and that honest statements have none."""

from __future__ import annotations

import asyncio

import pytest

from rltpf.prover.prover import Prover
from rltpf.prover.traps import text_flags

HONEST = [
    "theorem t : 10 - 3 = 7",
    "theorem t : 48 / 2 + 48 = 72",
    "theorem t (x : Nat) (h : x = 16) : x - 3 - 4 = 9",
    "theorem t (a b : Nat) (h : b ≤ a) : a - b + b = a",
    "theorem t (x : Rat) (h : x ≠ 0) : x / x = 1",
    "theorem t (x y : Rat) (h : y = 4) : x / y * y = x",
    "theorem t (x y : Rat) : (x + y) ^ 2 = x ^ 2 + 2 * x * y + y ^ 2",
    "theorem t (x : Nat) : x % 2 < 2",
    "theorem t : ∀ n : Nat, n < 5 → n * n < 25",
    "theorem t : ∃ x : Nat, x * 2 = 10",
    "theorem t : ¬ (2 + 2 = 5) ∧ 1 = 1",
    "theorem t (p : Prop) : p ∨ ¬ p",
    "def double (n : Nat) : Nat := n + n\ntheorem t : ∀ n, double n = 2 * n",
    "theorem t (f : Nat → Nat) (h : ∀ n, f n = n + 1) : f 3 = 4",
    "theorem t (eggs left price money : Rat) (h1 : eggs = 16) (h2 : left = eggs - 3 - 4) (h3 : price = 2)"
    " (h4 : money = left * price) : money = 18",
]
TRAPS = {
    "theorem t (x : Rat) (h : x = 5) (h2 : x = 6) : x = 7": {"vacuous"},
    "theorem t (x : Nat) (h : x < 0) : x = 42": {"vacuous"},
    "structure T where\n  a : Nat\n  h : a < 0\ntheorem t (s : T) : s.a = 180": {"vacuous"},
    "theorem t (x : { n : Nat // n < 0 }) : x.val = 42": {"vacuous"},
    "theorem t : ∀ x : Fin 0, x.val = 42": {"vacuous", "empty_domain"},
    "theorem t : 1 = 1 ∧ ∀ x : Nat, x < 0 → x = 5": {"vacuous_part"},
    "theorem t (x : Rat) (h : x = 5) : x = 5": {"goal_in_hypotheses", "numbers_unused"},
    "theorem t (a b : Nat) (h : a = b) : b = a": {"goal_assumed"},
    "theorem t (p : Prop) (h : p) : p": {"goal_assumed"},
    "class Known (p : Prop) : Prop where out : p\ntheorem t [Known (6 * 7 = 41)] : 6 * 7 = 41": {
        "instance_hypothesis",
        "goal_assumed",
        "vacuous",
    },
    "theorem t : Nat.div 7 2 = 3": {"nat_division"},
    "theorem t (a b : Int) (h : a = 7) : Int.tdiv a b = Int.tdiv 7 b": {"int_division", "division_by_zero"},
    "theorem t (a b : Nat) (h : b = 2) : Nat.mod a b < 2 ∧ Nat.div 6 b = 3": set(),
    "theorem t (x y : Rat) (h : x = 3) (h2 : y = 4) : x + 1 = 4": {"useless_hypothesis"},
    "theorem t : True": {"trivial"},
    "def answer : Nat := 48 / 2 + 48\ntheorem t : answer = 48 / 2 + 48": {"trivial"},
    "theorem t : let ans := 42; ans = 42": {"trivial", "let_in_statement", "numbers_unused"},
    "theorem t : ∃ ans : Nat, ans = 48 / 2 + 48": {"numbers_unused"},
    "def Good (_ : Nat) : Prop := 1 = 1\ntheorem t : Good 17": {"own_predicate", "trivial", "numbers_unused"},
    "theorem t : ∃ x : Nat, x > 3 → x = 100": {"exists_implies"},
    "theorem t : 10 - 12 + 5 = 5": {"nat_subtraction"},
    "theorem t (n : Nat) (h : n = 3) : n.pred.pred.pred.pred = 0": {"nat_subtraction"},
    "theorem t : (7 : Nat) / 2 = 3": {"nat_division"},
    "theorem t : (-7 : Int) / 2 = -4": {"int_division"},
    "theorem t : (1 : Rat) / 0 = 0": {"division_by_zero"},
    "theorem t : (0 : Rat)⁻¹ = 0": {"division_by_zero"},
    "theorem t : (-7 : Int) % 3 = 2": {"negative_remainder"},
    "theorem t : (255 : UInt8) + 1 = 0": {"wrapping_type"},
    "theorem t : (5 : Fin 3) = 2": {"wrapping_type"},
    "theorem t : (0.5 : Float) + 0.5 = 1.0": {"float"},
    "theorem t : (3 == 4) = (5 == 6)": {"bool_for_prop"},
    "theorem t : (2 + 2 = 5) = (1 = 0)": {"bool_for_prop"},
    "theorem t : [1, 2][7]! = 0": {"made_up_value"},
    "theorem t : (-2 : Int) ^ 2 = 4": {"precedence"},
    "theorem t : ¬ 2 + 2 = 5 ∧ 1 = 1": {"precedence"},
    "theorem t (max : Nat) (h : max = 3) : max + 1 = 4": set(),
    "theorem t (id : Nat) (h : id = 3) : id + 1 = 4": {"shadowed_name"},
}


@pytest.mark.parametrize(
    ("statement", "flags"),
    [
        ("theorem t : ¬ 2 + 2 = 5 ∧ p", ["precedence"]),
        ("theorem t : ¬ (2 + 2 = 5) ∧ p", []),
        ("theorem t : ¬ p ∧ q", []),
        ("theorem t : (¬ 2 = 3) → q", []),
        ("theorem t : ¬ a = b → q", ["precedence"]),
        ("theorem t : p ∧ q ∨ r", ["precedence"]),
        ("theorem t : (p ∧ q) ∨ r", []),
        ("theorem t : p /\\ q \\/ r", ["precedence"]),
        ("theorem t : p → q ↔ r", ["precedence"]),
        ("theorem t : p → q → r", []),
        ("theorem t : ∀ x, x ∈ s ∨ p, q ∧ r", []),
        ("theorem t : p -- ¬ 1 = 2 ∧ q", []),
        ("infixl:65 ` ⊕ ` => Nat.add\ntheorem t : 1 ⊕ 1 = 2", ["own_syntax"]),
        ("instance : Inhabited Nat := ⟨5⟩\ntheorem t : (default : Nat) = 5", ["own_syntax"]),
        ("theorem t : infixes = 1", []),
    ],
)
def test_what_the_text_shows(statement: str, flags: list[str]) -> None:
    assert text_flags(statement) == flags


@pytest.mark.lean
def test_every_trap_has_its_name_and_honest_statements_have_none(prover: Prover) -> None:
    async def found() -> dict[str, set[str]]:
        return {statement: set(await prover.traps(statement)) for statement in [*HONEST, *TRAPS]}

    assert asyncio.run(found()) == {statement: set() for statement in HONEST} | TRAPS


@pytest.mark.lean
def test_what_does_not_elaborate_has_no_traps(prover: Prover) -> None:
    assert asyncio.run(prover.traps("theorem t : 1 = unknown")) == ()
