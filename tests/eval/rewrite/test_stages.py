"""The operations with real Lean: a rewrite is kept for what Lean proved, and ends in the right stage for all else."""

import pytest

from rltpf.prover.prover import Prover
from tests.eval.rewrite.paper import UNIT_CONVERSION
from tests.eval.rewrite.scripted import ORIGINAL, PROOF, STATEMENT, TEXT, Scripted, ended, lean, rewritten, stated

pytestmark = pytest.mark.lean

NO = {"category": "applied", "analysis": "it cannot be answered", "verdict": "no"}


def test_a_rewrite_is_kept_with_what_was_proved(prover: Prover) -> None:
    model = Scripted()
    candidate = rewritten(model, prover)
    (rewrite,) = candidate.rewrites
    assert ended(candidate) == "kept"
    assert (rewrite.question, rewrite.statement, rewrite.lean, rewrite.answer) == (TEXT, STATEMENT, PROOF, "12")
    assert len(rewrite.statements) == len(rewrite.proofs) == 1
    checks = model.asked("checker")
    assert [request.attempt for request in checks] == [0, 1, 2]
    assert {request.sampling.temperature for request in checks} == {0.0}
    # The checker sees neither the original nor its answer, the prover the statement alone.
    for request in (*checks, *model.asked("prover")):
        assert ORIGINAL not in request.messages[1].content
    assert TEXT not in model.asked("prover")[0].messages[1].content


def test_the_papers_case_of_unit_conversion_is_kept(prover: Prover) -> None:
    case = UNIT_CONVERSION
    model = stated(case.statement, "5", "decide +kernel", rewriter={"rewritten_question": case.question})
    assert ended(rewritten(model, prover)) == "kept"


def test_tactics_can_be_the_prover(prover: Prover) -> None:
    model = Scripted()
    assert ended(rewritten(model, prover, atp="tactics")) == "kept"
    assert not model.asked("prover")
    wrong = stated(STATEMENT.replace("dark = 12", "dark = 11"), "11")
    assert ended(rewritten(wrong, prover, atp="tactics")) == "prove:no_proof"


# The failures of figure 3, and what a screener that lets them pass cannot make of them


def test_a_missing_total_ends_at_the_screen_or_the_check(prover: Prover) -> None:
    text = {"rewritten_question": "A hall has lit and dark lamps; 4 are lit. Count the dark ones."}
    assert ended(rewritten(Scripted(rewriter=text, screener=NO), prover)) == "screen:applied_no"
    added = {"judgment": "Inconsistent", "explanation": "The text does not tell the total."}
    assert ended(rewritten(Scripted(rewriter=text, checker=added), prover)) == "check:semantic_mismatch"


CONFLICT = """theorem balls (total red blue : Nat) (h_total : total = 6) (h_sum : red + blue = total)
    (h_red : red = 2) (h_equal : red = blue) :
    blue = 4"""


def test_conflicting_counts_end_at_the_screen_or_the_guard(prover: Prover) -> None:
    assert ended(rewritten(stated(CONFLICT, "4", screener=NO), prover)) == "screen:applied_no"
    assert ended(rewritten(stated(CONFLICT, "4"), prover)) == "guard:vacuous"


def test_a_negative_count_ends_at_the_screen_or_the_guard(prover: Prover) -> None:
    cut_off = "theorem blue (total red : Nat) (h_total : total = 5) (h_red : red = 6) : total - red = 0"
    assert ended(rewritten(stated(cut_off, "0", screener=NO), prover)) == "screen:applied_no"
    assert ended(rewritten(stated(cut_off, "0"), prover)) == "guard:nat_subtraction"


def test_a_wrong_reference_answer_is_not_proved(prover: Prover) -> None:
    wrong = "theorem blue (total red : Int) (h_total : total = 5) (h_red : red = 3) : total - red = 1"
    assert ended(rewritten(stated(wrong, "1"), prover)) == "verify:proof_rejected"


# Statements that say nothing, or something else


@pytest.mark.parametrize(
    ("statement", "answer", "tactics", "end"),
    [
        ("theorem t (x : Rat) (h : x = 7) : x = 7", "7", "exact h", "guard:goal_in_hypotheses"),
        ("theorem t : (7 : Nat) = 7", "7", "rfl", "guard:trivial"),
        ("theorem t : ∃ x : Nat, x = 7", "7", "exact ⟨7, rfl⟩", "guard:numbers_unused"),
        ("theorem t (x : Nat) (h : x = 4) : 7 = 7 ∧ x > 3", "7", "omega", "guard:trivial"),
        ("theorem t (x : Nat) (h : x = 7) : x > 3 ∧ x = 7", "7", "omega", "guard:goal_in_hypotheses"),
        ("theorem t : ∃ x : Nat, x = 7 ∧ x % 2 = 1", "7", "exact ⟨7, rfl, rfl⟩", "guard:not_forced"),
        (
            "theorem t : ∃ x y : Nat, x = 2 ∧ y = 5 ∧ x + y = 7",
            "2, 5",
            "exact ⟨2, 5, rfl, rfl, rfl⟩",
            "guard:not_forced",
        ),
        ("theorem t : ∃ x : Nat, x = 7 ∧ x > 1", "7", "exact ⟨7, rfl, by decide⟩", "guard:not_forced"),
        ("theorem t (x : Nat) (h : 2 * x = 14) : x = 7 ∨ x = 8", "7", "omega", "classify:unknown"),
        ("theorem t (x : Nat) (h : x = 2 + 5) : x = 2 + 5", "2 + 5", "exact h", "guard:goal_in_hypotheses"),
        ("theorem t (x : Nat) (h : 2 * x = 14) : x = 14 / 2", "14 / 2", "omega", "classify:intermediate"),
        ("theorem t (x : Fin 5) (h : x = 2 * 4) : x = 3", "3", "subst h; rfl", "guard:wrapping_type"),
        ("theorem t : 16 / 5 = 3", "3", "rfl", "guard:nat_division"),
        ("theorem t :\n  let a := 5\n  let b := 6\n  a - b = 0", "0", "rfl", "guard:nat_subtraction"),
        ("theorem t (x : Int) (h : x > 9) : x + x = 6 ↔ x = 3", "3", "omega", "guard:not_forced"),
        (
            "instance (priority := high) odd : OfNat Rat 54 := ⟨53⟩\ntheorem t (x : Rat) (h : x = 60 - 7) : x = 54",
            "54",
            "subst h; decide +kernel",
            "guard:own_syntax",
        ),
    ],
)
def test_a_statement_that_forces_no_answer(prover: Prover, statement: str, answer: str, tactics: str, end: str) -> None:
    assert ended(rewritten(stated(statement, answer, tactics), prover)) == end


@pytest.mark.parametrize(
    ("answer", "proof", "end"),
    [
        ("99", f"{STATEMENT} := by\n  have h : (99 : Nat) = 99 := rfl\n  omega", "classify:wrong_target"),
        ("16", PROOF, "classify:wrong_target"),
        ("12.0", PROOF, "extract:unknown"),
        ("13", PROOF, "extract:unknown"),
        ("99", f"{STATEMENT} := by\n  -- dark = 99\n  omega", "extract:unknown"),
        ("12", "theorem other : (12 : Nat) = 12 := rfl", "verify:proof_rejected"),
        ("11", PROOF.replace("dark = 12", "dark = 11"), "verify:proof_rejected"),
        ("12", f"{STATEMENT} := by\n  sorry", "verify:proof_rejected"),
        ("12", f"axiom magic : False\n{STATEMENT} := magic.elim", "verify:proof_rejected"),
        ("12", f"/-\n{STATEMENT} := by\n  omega\n-/\ntheorem dark_lamps : True := trivial", "verify:proof_rejected"),
    ],
)
def test_the_answer_is_what_lean_proved(prover: Prover, answer: str, proof: str, end: str) -> None:
    """A prover, an extractor and a classifier that agree on another answer cannot make it one."""
    evidence = proof.splitlines()[-1].strip()
    model = Scripted(
        prover=lean(proof),
        extractor={"answer": answer, "evidence": evidence},
        classifier={"answer": answer, "status": "final", "explanation": "asked for"},
    )
    assert ended(rewritten(model, prover)) == end


@pytest.mark.parametrize(
    ("replies", "end"),
    [
        ({"rewriter": "no JSON"}, "rewrite:unparseable"),
        ({"rewriter": {"rewritten_question": " "}}, "rewrite:empty"),
        ({"rewriter": {"rewritten_question": TEXT, "answer": "12"}}, "rewrite:unparseable"),
        ({"rewriter": '{"rewritten_question": "half \\ud83d"}'}, "rewrite:unparseable"),
        ({"rewriter": {"rewritten_question": ORIGINAL.replace("6", "9")}}, "rewrite:too_similar"),
        ({"screener": {"category": "pure", "analysis": "", "verdict": "no"}}, "screen:pure_no"),
        ({"screener": {"verdict": "maybe"}}, "screen:unparseable"),
        ({"formaliser": "It is 12."}, "formalise:no_lean"),
        ({"formaliser": lean("theorem t : foo = 12")}, "formalise:statement_error"),
        ({"formaliser": lean("#eval 1\ntheorem t : 1 = 1")}, "formalise:gate"),
        ({"checker": "Consistent"}, "check:semantic_mismatch"),
        ({"checker": [{"judgment": "Consistent", "explanation": ""}] * 2 + ["?"]}, "check:semantic_mismatch"),
        ({"prover": "I cannot."}, "prove:no_proof"),
        ({"extractor": {"answer": "unknown", "evidence": "unknown"}}, "extract:unknown"),
        ({"extractor": {"answer": "12", "evidence": "made up"}}, "extract:unknown"),
        ({"classifier": {"answer": "12", "status": "wrong_target", "explanation": ""}}, "classify:wrong_target"),
        ({"classifier": {"answer": "13", "status": "final", "explanation": ""}}, "classify:unknown"),
        ({"classifier": {"answer": "12", "status": "done", "explanation": ""}}, "classify:unparseable"),
    ],
)
def test_every_stage_fails_closed(prover: Prover, replies: dict, end: str) -> None:  # type: ignore[type-arg]
    assert ended(rewritten(Scripted(**replies), prover)) == end


def test_a_question_of_the_benchmark_is_no_rewrite(prover: Prover) -> None:
    assert ended(rewritten(Scripted(), prover, frozenset({TEXT.lower()}))) == "rewrite:in_source"


# Loops


def test_a_statement_is_made_anew_with_what_was_wrong(prover: Prover) -> None:
    model = Scripted(
        formaliser=[lean("theorem t : foo = 12"), lean(f"import Mathlib\n\n{STATEMENT} := by sorry")],
        checker=[{"judgment": "Inconsistent", "explanation": "Lamps."}, {"judgment": "Consistent", "explanation": ""}],
    )
    candidate = rewritten(model, prover, formalizations=3)
    assert ended(candidate) == "kept"
    tries = candidate.rewrites[0].statements
    assert [tried.reason for tried in tries] == ["statement_error", "semantic_mismatch", ""]
    assert tries[1].statement == STATEMENT
    asked = [request.messages[1].content for request in model.asked("formaliser")]
    assert "foo" in asked[1]
    assert "Lamps." in asked[2]


def test_a_failed_proof_leads_to_another_rewrite_that_differs(prover: Prover) -> None:
    other = "Of 16 seats in a bus 4 are taken. What is the number of free seats?"
    model = Scripted(
        rewriter=[{"rewritten_question": TEXT}, {"rewritten_question": other}],
        prover=[lean("nonsense"), lean("nonsense"), lean(PROOF)],
    )
    candidate = rewritten(model, prover, rewrites=2, proofs=2)
    assert ended(candidate) == "kept"
    assert [rewrite.question for rewrite in candidate.rewrites] == [TEXT, other]
    assert candidate.rewrites[0].error is not None
    assert TEXT in model.asked("rewriter")[1].messages[1].content
    assert [request.attempt for request in model.asked("prover")] == [0, 1, 0]
    assert ended(rewritten(Scripted(prover=lean("x")), prover, rewrites=2)) == "rewrite:repeated"
    # Those that end before the proof are deleted.
    assert len(rewritten(Scripted(screener=NO), prover, rewrites=2).rewrites) == 1
