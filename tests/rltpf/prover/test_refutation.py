"""Refutation: what is false, what is not, and what only truncation makes false."""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest

from rltpf.prover.prover import Prover
from rltpf.prover.refutation import by_equations, by_model, by_small_numbers
from rltpf.prover.report import LeanMessage
from rltpf.prover.traps import Binder, Facts

FALSE = [
    "theorem t : 48 / 2 + 48 = 73",
    "theorem t : (48 : Rat) / 2 + 48 = 73",
    "theorem t (x : Int) (h : 2 * x + 3 = 11) : x = 5",
    "theorem t (x y : Rat) (h : 2 * x + 3 = 12) (h2 : x ≤ y * y) : x ≥ y",
    "theorem t (a b : Rat) (h : a + b = 10) (h2 : a - b = 2) : a * b = 25",
    "theorem t : ∀ n : Nat, n * n ≥ 2 * n",
    "theorem t : ∀ n < 20, n * n < 300",
    "theorem t : ∀ x y : Int, x * y = y * x + 1",
    "theorem t (x : Nat) (h : x ^ 2 = 49) : x = 8",
    "theorem t : ∃ x : Int, 2 * x = 5",
    "theorem t (eggs left price money : Rat) (h1 : eggs = 16) (h2 : left = eggs - 3 - 4) (h3 : price = 2)"
    " (h4 : money = left * price) : money = 19",
]
NOT_FALSE = [
    "theorem t : 2 + 2 = 4",
    "theorem t (x : Nat) (h : x > 3) : x > 2",
    "theorem t (x : Int) : x ^ 2 ≥ 0",
    "theorem t (p q : Prop) : p ∨ q",
]


@pytest.mark.lean
def test_the_negation_of_a_false_statement_is_proved(prover: Prover) -> None:
    async def reasons() -> dict[str, tuple[str, bool]]:
        reports = {statement: await prover.refute(statement) for statement in FALSE}
        return {s: (r.reason, r.verified and r.closed_by != "" and r.toolchain != "") for s, r in reports.items()}

    assert asyncio.run(reasons()) == dict.fromkeys(FALSE, ("ok", True))


@pytest.mark.lean
def test_what_is_not_shown_to_be_false_is_not_refuted(prover: Prover) -> None:
    async def reasons() -> dict[str, str]:
        return {statement: (await prover.refute(statement)).reason for statement in NOT_FALSE}

    assert asyncio.run(reasons()) == dict.fromkeys(NOT_FALSE, "unproved")


@pytest.mark.lean
def test_contradictory_hypotheses_neither_prove_nor_refute(prover: Prover) -> None:
    statement = "theorem t (x : Rat) (h : x = 5) (h2 : x = 6) : x = 7"

    async def reports() -> list[tuple[str, str]]:
        found = [await prover.prove(statement), await prover.refute(statement)]
        return [(report.status, report.reason) for report in found]

    assert asyncio.run(reports()) == [("rejected", "vacuous")] * 2


@pytest.mark.lean
def test_truncation_is_named_where_it_may_be_the_cause(prover: Prover) -> None:
    async def found(statement: str) -> tuple[bool, tuple[str, ...], str]:
        report = await prover.refute(statement)
        return report.verified, report.flags, report.detail

    words = "not with the value that it has among the rational numbers: "
    assert asyncio.run(found("theorem t : 3 - 5 + 5 = 3")) == (
        True,
        ("nat_subtraction",),
        f"{words}`3 - 5` (nat_subtraction)",
    )
    assert asyncio.run(found("theorem t (x : Nat) (h : x = 7) : x / 2 * 2 = 7")) == (
        True,
        ("nat_division",),
        f"{words}`x / 2` (nat_division)",
    )
    assert asyncio.run(found("theorem t : 5 - 3 = 1")) == (True, (), "")


def _facts(*binders: tuple[str, str, str]) -> Facts:
    return Facts(tuple(Binder(name, kind, type_) for name, kind, type_ in binders), (), ())  # type: ignore[arg-type]


def test_equations_give_the_variables_their_values() -> None:
    facts = _facts(("x", "value", "Rat"), ("h", "hypothesis", "x = 3"), ("g", "hypothesis", "x > 2"))
    (tactic,) = by_equations(facts, "core")
    assert "@judge_h _ rfl (by first | decide +kernel | omega | grind);" in tactic.text
    assert list(by_equations(_facts(("x", "value", "Rat"), ("g", "hypothesis", "x > 2")), "core")) == []


def test_the_values_at_which_grind_gave_up() -> None:
    text = "`grind` failed\n  [eqc] Equivalence classes\n    [eqc] {y, 6}\n  [linarith]\n    [assign] x := -9/2"
    facts = _facts(("x", "value", "Rat"), ("y", "value", "Int"), ("z", "value", "Nat"))
    (tactic,) = by_model(facts, "core", [LeanMessage("error", 1, 0, text)])
    assert "@judge_h ((-9 : Rat) / 2) (6 : Int) (0 : Nat);" in tactic.text


def test_a_value_that_its_type_does_not_have_is_no_candidate() -> None:
    message = LeanMessage("error", 1, 0, "[assign] x := -1")
    assert list(by_model(_facts(("x", "value", "Nat")), "core", [message])) == []
    assert list(by_model(_facts(("x", "value", "Nat → Nat")), "core", [message])) == []


def test_small_numbers_of_the_type_in_combination() -> None:
    first = next(iter(by_small_numbers(_facts(("a", "value", "Nat"), ("b", "value", "Int")), "core")))
    candidates = [line.split("@judge_h ")[1].split(";")[0] for line in first.text.splitlines()[2:]]
    assert candidates[:4] == [
        "(0 : Nat) (0 : Int)",
        "(0 : Nat) (1 : Int)",
        "(0 : Nat) (2 : Int)",
        "(0 : Nat) (-1 : Int)",
    ]
    assert not any("(-1 : Nat)" in candidate or "/" in candidate for candidate in candidates)
    four = [(name, "value", "Nat") for name in "abcd"]
    assert list(islice(by_small_numbers(_facts(*four), "core"), 1)) == []
