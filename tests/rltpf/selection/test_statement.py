"""Where the answer stands in a statement: the vectors are those of the specification (base_rpe, A20)."""

import pytest

from rltpf.selection.statement import Place, StatementError, bounds, holds, places, read_statement, substitute


@pytest.mark.parametrize(
    ("source", "answer", "starts"),
    [
        ("theorem t : 1 + 8 = 9 := by sorry", "9", [20]),
        ("theorem t : 14 * 14 = 196 := by sorry", "9", []),
        ("theorem t (x : ℝ) : x = 3.5 := by sorry", "3", []),
        ("theorem t (x : ℤ) : x = -3 := by sorry", "3", []),
        ("theorem t (x : ℤ) : x = -3 := by sorry", "-3", [24]),
        ("theorem t (x : ℤ) : x = - 3 := by sorry", "-3", [24]),
        ("theorem t (x_3 : ℕ) : x_3 = 7 := by sorry", "3", []),
        ("theorem t (h3 : 1 = 1) : 7 = 7 := by sorry", "3", []),
        ("theorem t (h : 3 = 3) : 7 = 7 := by sorry", "3", []),
        ("theorem number_theory_4606 : 2 = 4606 := by sorry", "4606", [33]),
        ("theorem t (x : Fin 5) : 5 = 5 := by sorry", "5", [24, 28]),
        ("theorem t : ∃ x : Fin 5, x = 4 := by sorry", "5", []),
        ("theorem t : x' = 2 := by sorry", "x", []),
        ("/-- the answer is 7 -/\ntheorem t : 3 + 4 = 7 := by sorry", "7", [43]),
        ("/- a /- 7 -/ 7 -/\ntheorem t : 3 + 4 = 7 := by sorry", "7", [38]),
        ("/-- an example -/\ndef k := 7\ntheorem t : 3 + 4 = 7 := by sorry", "7", [49]),
        ("theorem t : 3 + 4 = 7 := sorry", "7", [20]),
        ("theorem t : 3 + 4 = 7 :=\n by sorry", "7", [20]),
        ("theorem t : 3 + 4 = 7", "7", [20]),
        ("theorem t\n    (x : ℕ) :\n  3 + 4 = 7 := by\n  sorry\n", "7", [34]),
        ("def f (n : ℕ) : ℕ := by exact n\ntheorem t : f 7 = 7 := by sorry", "7", [46, 50]),
        ("theorem t : x = 1/2 ∧ y = 11/2 := by sorry", "1/2", [16]),
        ("theorem t : x = 1/25 := by sorry", "1/2", []),
        ("theorem t : x = 1 / 2 := by sorry", "1/2", [16]),
        ("theorem t : x = 1 / 2 := by sorry", "1", []),
        ("theorem t : x = 2 ^ 3 := by sorry", "3", []),
        ("theorem t : x = 3 * Real.sqrt 13 := by sorry", "3 * Real.sqrt 13", [16]),
        ("theorem t : x = 3 * Real.sqrt 13 := by sorry", "3", []),
        ('theorem t : s = "--7" ∧ 7 = 7 := by sorry', "7", [24, 28]),
        ("theorem t : x = 5 → y = 4 := by sorry", "5", []),
        ("theorem t : (x = 5 → y = 4) ∧ z = 5 := by sorry", "5", [34]),
        # A sign between two operands is no part of an answer.
        ("theorem t : x - 3 = 0 := by sorry", "-3", []),
        ("theorem t : (x + 1) - 3 = 0 := by sorry", "-3", []),
        ("theorem t : f x - 3 = 0 := by sorry", "-3", []),
        ("theorem t : f (-3) = 0 := by sorry", "-3", [15]),
        ("theorem t : (f x) 3 = 0 := by sorry", "3", []),
        ("theorem t : y = 2 * 3 := by sorry", "3", []),
        ("theorem t : a.1 = 1 := by sorry", "1", [18]),
        ("theorem t : x = 1e5 := by sorry", "1", []),
        ("theorem t : x₃ = 3⁻¹ := by sorry", "3", []),
        ("theorem t : y = (3 : ℚ) := by sorry", "3", [17]),
    ],
)
def test_places(source: str, answer: str, starts: list[int]) -> None:
    assert [place.start for place in places(read_statement(source), answer)] == starts


@pytest.mark.parametrize(
    ("source", "answer", "sure"),
    [
        ("theorem t : x = 7 := sorry", "7", [True]),
        ("theorem t : (x : ℝ) = 7 ∧ y = 8 := sorry", "7", [True]),
        ("theorem t : 7 ≤ x := sorry", "7", [False]),
        ("theorem t : S = {7, 8} := sorry", "7", [False]),
        ("theorem t : (x, y) = (7, 8) := sorry", "7", [False]),
        ("theorem t : f 7 = y := sorry", "7", [False]),
        ("theorem t : let z := 7; x = z := sorry", "7", [False]),
        ("theorem t : IsLeast S 7 := sorry", "7", [False]),
        ("theorem t : ∀ (x : Nat) (h : x = 7), x + 1 = 8 := sorry", "7", [False]),
        ("theorem t : ∀ (x : Int) (h : |x| = 7), x = 7 := sorry", "7", [False, True]),
        # One of two, or denied: an edit of it is another claim.
        ("theorem t : x = 7 ∨ x = 8 := sorry", "7", [False]),
        ("theorem t : ¬ x = 7 := sorry", "7", []),
        ("theorem t : ¬ (y = 1 ∧ x = 7) := sorry", "7", []),
        ("theorem t : ¬ ∃ x, x = 7 := sorry", "7", []),
        ("theorem t : x ≠ 7 := sorry", "7", []),
        ("theorem t : ¬ (y = 1) ∧ x = 7 := sorry", "7", [True]),
        ("theorem t : ∀ (x : Nat) (h : x = 7), x = 2 → x = 7 := sorry", "7", [False, True]),
    ],
)
def test_only_a_side_of_an_equation_is_sure(source: str, answer: str, sure: list[bool]) -> None:
    assert [place.sure for place in places(read_statement(source), answer)] == sure


@pytest.mark.parametrize(
    ("goal", "answer", "held"),
    [
        ("x = 0.5", "1/2", True),
        ("x - 3 = 0", "-3", False),
        ("x = 3 ∨ x = 7", "3", False),
        ("x = 3 ∨ x = 7", "7", False),
        ("(x = 3 ∧ y = 1) ∨ z = 7", "1", False),
        ("z = 7 ∨ (y = 1 ∧ x = 3)", "3", False),
        ("(y = 1 ∨ y = 2) ∧ x = 3", "3", True),
        ("(y = 1 ∨ y = 2) → x = 3", "3", True),
        ("∀ y, y = 1 ∨ y = 2 → x = 3", "3", True),
        ("∀ (x : Nat) (h : x = 3), x = 1 ∨ x * x = 9", "3", True),
        ("x = Real.sqrt 3 ∨ x = 7", "Real.sqrt 3", False),
        ("x = Real.sqrt 3 ∧ y = 7", "Real.sqrt 3", True),
        ("¬ x = 3", "3", False),
    ],
)
def test_whether_a_goal_claims_the_answer(goal: str, answer: str, held: bool) -> None:
    assert holds(read_statement(f"theorem t : {goal} := by sorry"), answer) is held


@pytest.mark.parametrize(
    ("goal", "bounded"),
    [
        ("x ≤ 7", True),
        ("7 > x", True),
        ("∀ x ∈ S, x ≤ 7", True),
        ("7 ∈ S", True),
        ("x ≤ 7 ∧ y < 7", True),
        ("x ≤ 7 ∧ 7 ≤ x", False),
        ("7 ∈ S ∧ ∀ x ∈ S, x ≤ 7", False),
        ("∀ x, p x ↔ x ≤ 7", False),
        ("x = 7", False),
        ("x ≤ y ∧ y = 7", False),
        ("IsLeast S 7", False),
    ],
)
def test_whether_a_goal_claims_a_bound_alone(goal: str, bounded: bool) -> None:
    assert bounds(read_statement(f"theorem t : {goal} := by sorry"), "7") is bounded


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("", "no theorem"),
        ("import Mathlib\nopen Real\n", "no theorem"),
        ("theorem a : 1 = 7 := by sorry\ntheorem b : 2 = 7 := by sorry", "2 theorems"),
        ("theorem t : 1 = 1 := rfl", "comes with a proof"),
        ("theorem t : 1 = 1 := by sorry\n#eval 5", "something follows"),
        ("theorem t := by sorry", "no goal"),
        ("theorem t (h : 1 = 1) := by sorry", "no goal"),
    ],
)
def test_what_is_no_statement(source: str, fault: str) -> None:
    with pytest.raises(StatementError, match=fault):
        read_statement(source)


def test_imports_and_the_sorry_are_dropped() -> None:
    statement = read_statement("import Mathlib\nimport Aesop\n\nopen Real\ntheorem t : 1 = 7 := by\n  sorry\n")
    assert statement.text == "open Real\ntheorem t : 1 = 7"
    assert read_statement(statement.text) == statement


@pytest.mark.parametrize(
    ("replacement", "text"),
    [
        ("8", "theorem t : f 8 = 8"),
        ("3.5", "theorem t : f 3.5 = 3.5"),
        ("-8", "theorem t : f (-8) = (-8)"),
        ("1 / 2", "theorem t : f (1 / 2) = (1 / 2)"),
        ("Real.pi", "theorem t : f Real.pi = Real.pi"),
    ],
)
def test_edits(replacement: str, text: str) -> None:
    statement = read_statement("theorem t : f 7 = 7 := by sorry")
    assert substitute(statement, places(statement, "7"), replacement) == text
    assert substitute(statement, [Place(18, 19, True)], replacement).startswith("theorem t : f 7 = ")
