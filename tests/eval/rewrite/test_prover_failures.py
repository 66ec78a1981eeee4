"""The kinds of failed proofs, by the paper's examples (appendix J)."""

from eval.rewrite.metrics import prover_failures
from eval.rewrite.prover_failures import kinds, repeats
from eval.rewrite.records import ProofTry
from rltpf.prover.report import LeanMessage, Report

OPENING = "set_option maxHeartbeats 200000\n\nopen scoped BigOperators\nopen BigOperators Real Nat Topology Rat\n\n"


def rejected(*texts: str) -> Report:
    messages = tuple(LeanMessage("error", 1, 0, text) for text in texts)
    return Report("rejected", "elaboration_error", messages=messages)


def found(statement: str, text: str, report: Report | None = None, cut: bool = False) -> tuple[str, ...]:
    return kinds(statement, f"```lean\n{text}\n```", text, report, cut)


def test_example_4_inappropriate_tactics() -> None:
    statement = "theorem simplify_expr (x : ℝ) :\n  (x + 5) * (x - 4) - x * (x - 1) = 2 * x - 20"
    text = f"{OPENING}{statement} := by\n  norm_num" + "\n  <;> omega" * 5
    report = rejected("omega could not prove the goal:\na possible counterexample may satisfy the constraints")
    assert found(statement, text, report) == ("repetition", "inappropriate_tactic")


LANDLORD = """theorem landlord_profit :
  let num_tenants : ℕ := 4
  let monthly_rent_per_tenant : ℕ := 350
  let monthly_expenses : ℕ := 1100
  let monthly_income := num_tenants * monthly_rent_per_tenant
  let monthly_profit := monthly_income - monthly_expenses
  let annual_profit := monthly_profit * 12
  annual_profit = 3600"""


def test_example_5_another_statement() -> None:
    tactics = " := by\n  norm_num [mul_comm, mul_assoc, mul_left_comm]\n  <;> rfl" + "\n  <;> decide" * 5
    assert found(LANDLORD, f"{OPENING}{LANDLORD} / 12{tactics}") == ("target_changed", "repetition")


def test_example_6_special_tokens() -> None:
    statement = "theorem problem : (13 + 3)^2 - (13 - 3)^2 = 156"
    text = f"{OPENING}{statement}<|Assistant|>3 := by\n  norm_num" + "\n  <;> rfl\n  <;> norm_num" * 2 + "\n  <;> rfl"
    assert found(statement, text)[0] == "boundary_corruption"
    assert found(statement, text) == ("boundary_corruption", "target_changed")


def test_example_7_natural_language() -> None:
    statement = (
        "theorem arithmetic_sequence_term (a_1 d : ℝ) :\n  (a_1 + 3 * d = 23) →\n  (a_1 + 5 * d = 35) →\n"
        "  (a_1 + 7 * d = 47)"
    )
    thoughts = """    -- We need to solve for a_1 using the given equations.
    -- From the first equation: a_1 + 3d = 23
    -- Subtract the first equation from the second to eliminate a_1:
    -- However, this solution does not satisfy the third equation:
    -- This indicates a mistake in the initial calculation. Rechecking the steps:
    -- Rechecking the initial conditions and calculations, we find that the correct solution is
"""
    proof = f" := by\n  intro h_1 h_2\n  have h_3 : a_1 = 1 := by\n{thoughts}    linarith"
    corrupted = f"{statement}<|Assistant|>! (a_1 = 1) ∧ (d = 7){proof}"
    assert found(statement, corrupted) == ("boundary_corruption", "target_changed", "natural_language")
    failed = rejected("linarith failed to find a contradiction")
    assert found(statement, f"{statement}{proof}", failed) == ("natural_language", "inappropriate_tactic")


def test_example_8_corrupted_target_and_repetition() -> None:
    statement = "theorem evaluate_expression :\n  let a := 5\n  let b := 7\n  35 - (3 * a - b) = 27"
    proof = " := by\n  let a := 5\n  let b := 7\n  norm_num\n  <;> simp_all\n  <;> norm_num" + "\n  <;> omega" * 5
    assert found(statement, f"{OPENING}{statement} / 27{proof}") == ("target_changed", "repetition")


def test_truncated_proofs_time_outs_and_the_rest() -> None:
    statement = "theorem t (x : Nat) (h : x = 2) : x = 2"
    assert found(statement, f"{statement} := by\n  simp <;>") == ("truncated",)
    assert found(statement, f"{statement} := by\n  simp <;") == ("truncated",)
    assert found(statement, f"{statement} := by\n  omega", cut=True) == ("truncated",)
    assert found(statement, f"{statement} := by\n  omega", rejected("unexpected end of input")) == ("truncated",)
    assert found(statement, f"{statement} := by\n  omega", Report("timeout", "timeout")) == ("time_out",)
    slow = rejected("(deterministic) timeout at `whnf`, maximum number of heartbeats (200000) has been reached")
    assert found(statement, f"{statement} := by\n  omega", slow) == ("time_out",)
    assert found(statement, f"{statement} := by\n  omega", Report("rejected", "axioms")) == ("other",)
    assert kinds(statement, "The claim is true because it is what we need.", None, None)[0] == "no_lean"


def test_steps_in_a_row_are_counted() -> None:
    assert repeats("simp <;> omega <;> omega; omega\n omega") == 4
    assert repeats("omega -- once\nsimp\nomega") == 1


def test_counts_are_of_all_kinds_and_examples_of_the_telling_one() -> None:
    tries = [
        ProofTry("fine"),
        ProofTry("a", ("boundary_corruption", "repetition"), "gate", "token"),
        ProofTry("b" * 1000, ("repetition",), "elaboration_error", "failed"),
    ]
    assert prover_failures(tries) == {
        "proofs": 2,
        "kinds": {"boundary_corruption": 1, "repetition": 2},
        "examples": {
            "boundary_corruption": [{"text": "a", "detail": "token"}],
            "repetition": [{"text": "b" * 600, "detail": "failed"}],
        },
    }
