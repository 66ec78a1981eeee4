"""The rules of a final answer: what the proved conclusion gives, all of it, in a form that is finished."""

import pytest

from eval.rewrite.final import failure, other_claims, single_claims
from tests.eval.rewrite.paper import CASES, Case

ASKS = "How many are there?"


def reason(answer: str, conclusion: str, question: str = ASKS, binders: str = "(x y a b : Rat)") -> str:
    found = failure(answer, question, f"theorem t {binders} (h : x = 99) : {conclusion}")
    return "" if found is None else found.reason


@pytest.mark.parametrize("case", CASES)
def test_the_papers_cases(case: Case) -> None:
    assert failure(case.answer, case.question, case.statement) is None


@pytest.mark.parametrize(
    ("answer", "conclusion"),
    [
        ("17", "x = 17"),
        ("17", "(x = (17 : Rat))"),
        ("-3", "x = -3"),
        ("-3", "x = (-3)"),
        ("7/2", "x = 7 / 2"),
        ("-7/2", "x = -7/2"),
        ("0.5", "x = 0.5"),
        ("2, 5", "a = 2 ∧ b = 5"),
        ("2, 5", "(a = 2) ∧ (b = 5)"),
        ("2, 5", "(a, b) = (2, 5)"),
        ("(2, 5)", "(a, b) = (2, 5)"),
        ("2, -2", "x ^ 2 = 4 ↔ x = 2 ∨ x = -2"),
        ("47", "a + 3 * b = 23 → a + 5 * b = 35 → a + 7 * b = 47"),
        ("4", "∃ z : Rat, z = 4 ∧ 2 * z = 8"),
        ("5", "x > 0 ∧ x = 5"),
        ("5", "let s : Rat := 5\n  x = s"),
        ("Real.sqrt 2", "x = Real.sqrt 2"),
    ],
)
def test_what_a_conclusion_gives(answer: str, conclusion: str) -> None:
    assert reason(answer, conclusion) == ""


@pytest.mark.parametrize(
    ("answer", "conclusion", "why"),
    [
        ("3", "a + b = 7", "wrong_target"),  # a number of the proof, not of the claim
        ("99", "x = 17", "wrong_target"),  # given, not proved
        ("2", "2 * x = 34", "wrong_target"),  # inside a side
        ("3", "x = -3", "wrong_target"),
        ("5, 2", "a = 2 ∧ b = 5", "wrong_target"),  # reordered
        ("7", "a = 2 ∧ b = 5", "wrong_target"),
        ("2", "a = 2 ∧ b = 5", "unknown"),  # a part of what is claimed
        ("2", "x = 2 ∨ x = -2", "unknown"),  # one of two, and which of them nobody knows
        ("2", "x ^ 2 = 4 ↔ x = 2 ∨ x = -2", "unknown"),
        ("2, 5", "a = 2", "unknown"),
        ("2", "x ≠ 2", "unknown"),
        ("2", "x < 2", "unknown"),
        ("2", "¬ (x = 2)", "unknown"),
        ("2", "x = 2 → y = 3", "wrong_target"),
        ("2", "if x = 2 then True else False", "unknown"),
        ("53", "let p : Prop := 1 = 1\n  ∧ 9 = 53\n  p", "unknown"),
        ("10 + 7", "x = 10 + 7", "intermediate"),
        ("2^4", "x = 2^4", "intermediate"),
        ("5!", "x = 5!", "intermediate"),
        ("6/4", "x = 6/4", "intermediate"),
        ("4/1", "x = 4/1", "intermediate"),
        ("1/2/3", "x = 1/2/3", "intermediate"),
        ("y", "x = y", "intermediate"),
        ("s", "let s : Rat := 2 + 3\n  x = s", "intermediate"),
        ("8", "∃ z : Rat, z = 4 ∧ 2 * z = 8", "wrong_target"),
        ("2", "x = 2 ↔ y = 2 ∨ x = 3", "unknown"),
        ("17", "17 = x", "wrong_target"),
        # Conclusions that Lean reads in another way than a glance at them.
        ("5", "y = 3 ∧ x = 5 || true", "unknown"),
        ("5", "!x = 5", "unknown"),
        ("5", "y = 3 ∧ !x = 5", "unknown"),
        ("5", "Not <| x = 5", "unknown"),
        ("5", "if x = 2 then True else y = 3 ∧ x = 5", "unknown"),
        ("5", "let p : Prop := True\n  → x = 5\n  p", "unknown"),
        ("5", "∀ᶠ z in f, z = 5", "unknown"),
        ("5", "y > 1 → (x > 0 ↔ x = 5)", "unknown"),
    ],
)
def test_what_it_does_not_give(answer: str, conclusion: str, why: str) -> None:
    assert reason(answer, conclusion) == why


def test_a_form_that_is_asked_for_is_final() -> None:
    conclusion = "x ^ 2 - 4 = (x - 2) * (x + 2)"
    assert reason("(x - 2) * (x + 2)", conclusion) == "intermediate"
    assert reason("(x - 2) * (x + 2)", conclusion, "Factor x^2 - 4.") == ""
    assert reason("x ^ 2 - 4", conclusion, "Factor x^2 - 4.") == "wrong_target"  # the question's own words
    assert reason("(x - s) * 2", "let s : Rat := 2\n  y = (x - s) * 2", "Factor it.") == "intermediate"


@pytest.mark.parametrize(
    "question",
    [
        "Simplify 2 + 3.",
        "What is the value of the expression 2 + 3?",
        "Express 2 + 3 as a single number.",
        "Use the formula to find it.",
        "Expand and find the constant term.",
        "What is the greatest common factor?",
    ],
)
def test_a_calculation_of_numbers_is_carried_out_whatever_the_question_is_called(question: str) -> None:
    assert reason("2 + 3", "x = 2 + 3", question) == "intermediate"
    assert reason("6/4", "x = 6/4", question) == "intermediate"
    assert reason("3/2", "x = 3/2", question) == ""


@pytest.mark.parametrize(
    "question", ["Factor 12.", "Write 12 as a product of primes.", "Write it in the form 2^a * 3^b."]
)
def test_a_calculation_of_numbers_that_is_asked_for_is_final(question: str) -> None:
    assert reason("2^2 * 3", "x = 2^2 * 3", question) == ""


def test_a_hypothesis_in_any_brackets_is_no_conclusion() -> None:
    assert reason("5", "y > 1", binders="⦃k : x = 5 ∧ True⦄") == "unknown"
    assert reason("5", "y > 1", binders="{k : x = 5 ∧ True} [Inhabited (5 = 5)]") == "unknown"


def test_a_number_type_that_wraps_is_no_bare_number() -> None:
    assert reason("13", "x = (13 : Fin 10)") == "wrong_target"


def test_other_claims_change_each_answer_in_its_place() -> None:
    assert other_claims("theorem t (x : Nat) (h : x = 5) : x = 5") == ["theorem t (x : Nat) (h : x = 5) : x = 6"]
    assert other_claims("theorem t : a = 2 ∧ b = -5") == ["theorem t : a = 3 ∧ b = -5", "theorem t : a = 2 ∧ b = -6"]
    assert other_claims("theorem t : x = 0.5") == ["theorem t : x = 1.5"]
    assert other_claims("theorem t : x = y") == []
    assert other_claims("theorem t (x : Int) : x * x = 4 ↔ x = 2 ∨ x = -2") == [
        "theorem t (x : Int) : x * x = 4 ↔ x = 3 ∨ x = -2",
        "theorem t (x : Int) : ¬ (x = 2)",
        "theorem t (x : Int) : x * x = 4 ↔ x = 2 ∨ x = -3",
        "theorem t (x : Int) : ¬ (x = -2)",
    ]


def test_single_claims_are_the_parts_of_a_conjunction() -> None:
    header = "theorem t (a b : Nat) (h : a = 2 ∧ b = 9) :"
    assert single_claims(f"{header} a = 2 ∧ b - 4 = 5 ∧ a > 1") == [f"{header} a = 2", f"{header} b - 4 = 5"]
    assert single_claims(f"{header} (a = 2) ∧ a > 1") == [f"{header} a = 2"]
    assert single_claims(f"{header} a = 2") == []
    assert single_claims(f"{header} a > 1 → a = 2 ∧ b = 9") == []


def test_more_claims_are_compared_with_one_of_what_exists() -> None:
    assert other_claims("theorem t : ∃ x : Nat, x = 7 ∧ x % 2 = 1") == [
        f"theorem t : ∃ x : Nat, x = {other} ∧ x % 2 = 1" for other in (8, 9, 12, 17)
    ]
    found = other_claims("theorem t : ∃ x y : Nat, x = 2 ∧ y = 5 ∧ x + y = 7")
    assert found[-2:] == [
        "theorem t : ∃ x y : Nat, x = 3 ∧ y = 4 ∧ x + y = 7",
        "theorem t : ∃ x y : Nat, x = 1 ∧ y = 6 ∧ x + y = 7",
    ]
    assert len(found) == 10
    assert other_claims("theorem t : ∃ x y : Nat, x = 0 ∧ y = 5 ∧ x + y = 5")[-1] == (
        "theorem t : ∃ x y : Nat, x = (0 - 1) ∧ y = 6 ∧ x + y = 5"
    )
