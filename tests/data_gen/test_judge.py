"""Chains judged by real Lean: a scripted formaliser, verdicts derived by hand."""

import asyncio
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from data_gen.arithmetic import Calculation
from data_gen.judge import Judge
from data_gen.records import Judgement, StepVerdict
from rltpf.llm.model import Completion, Request, Sampling
from rltpf.prover.prover import Prover

pytestmark = pytest.mark.lean

QUESTION = "Janet's ducks lay 16 eggs. She eats 3 and bakes with 4. She sells the rest for $2 each. What does she earn?"
TELESCOPE = """\
(eggs eaten baked price answer : Rat)
(h_eggs : eggs = 16) (h_eaten : eaten = 3) (h_baked : baked = 4) (h_price : price = 2)
(h_answer : answer = (eggs - eaten - baked) * price)"""
RIGHT = "Step 1: She sells 16 - 3 - 4 = 9 eggs.\nStep 2: She earns 9 * 2 = 18 dollars.\nThe answer is 18."

SOLD = {"definitions": [{"name": "sold", "type": "Rat", "value": "eggs - eaten - baked"}], "claim": "sold = 9"}
EARNED = {"definitions": [{"name": "earned", "type": "Rat", "value": "sold * price"}], "claim": "earned = 18"}


def entry(claim: str | None, proof: str | None = None) -> dict[str, Any]:
    return {"definitions": [], "claim": claim, "proof": proof}


class Script:
    """A formaliser that replies from a list and keeps what it was asked."""

    name = "script"

    def __init__(self, replies: Sequence[Any]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if not isinstance(reply, str):
            reply = json.dumps({"steps": [{"definitions": [], "proof": None, **step} for step in reply]})
        return Completion(reply, completion_tokens=7)

    async def close(self) -> None:
        pass


@pytest.fixture
def judged(prover: Prover):  # type: ignore[no-untyped-def]
    def judge(answer: str, *replies: Any, telescope: str = TELESCOPE, repairs: int = 5) -> tuple[Judgement, Script]:
        script = Script(replies)
        judgement = asyncio.run(Judge(script, prover, Sampling(), repairs).judge(QUESTION, telescope, answer))
        assert not script.replies, "the judge stopped early"
        return judgement, script

    return judge


def outcomes(judgement: Judgement) -> list[str]:
    return [step.outcome for step in judgement.steps]


def test_right_chain_is_verified(judged) -> None:  # type: ignore[no-untyped-def]
    judgement, _ = judged(RIGHT, [SOLD, EARNED, entry("answer = 18")])
    assert (judgement.verdict, judgement.reason) == ("verified", "")
    assert outcomes(judgement) == ["verified", "verified", "verified"]
    assert "theorem step_2\n" in judgement.lean
    assert "(step_1 : sold = 9)" in judgement.lean
    assert "(earned : Rat) (earned_def : earned = sold * price)" in judgement.lean
    assert judgement.attempts[0].elaborated == (True, True, True)


def test_wrong_claim_is_false_and_stops_the_chain(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She sells 10 of the 16 eggs.\nStep 2: She earns 10 * 2 = 20 dollars.\nThe answer is 20."
    judgement, script = judged(
        answer, [{**SOLD, "claim": "sold = 10"}, {**EARNED, "claim": "earned = 20"}, entry("answer = 20")]
    )
    assert (judgement.verdict, judgement.reason) == ("false", "refuted")
    assert outcomes(judgement) == ["false", "unchecked", "unchecked"]
    assert "theorem step_1_denied" in judgement.lean
    assert "¬ (sold = 10)" in judgement.lean
    assert len(script.requests) == 1


def test_number_from_nowhere_has_to_be_claimed(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She sells 16 - 7 = 9 eggs.\nThe answer is 18."
    judgement, _ = judged(answer, [SOLD, entry("answer = 18")], repairs=0)
    assert (judgement.verdict, judgement.reason) == ("error", "unstated")
    assert "calculates with 7, which neither" in judgement.attempts[0].complaint
    claimed = {**SOLD, "claim": "eaten + baked = 7 ∧ sold = 9"}
    judgement, _ = judged(answer, [SOLD, entry("answer = 18")], [claimed, entry("answer = 18")])
    assert (judgement.verdict, outcomes(judgement)) == ("verified", ["verified", "verified"])


def test_wrong_number_from_nowhere_is_refuted(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She sells 17 - 8 = 9 eggs.\nThe answer is 18."
    claimed = {**SOLD, "claim": "eaten + baked = 8 ∧ eggs = 17 ∧ sold = 9"}
    judgement, _ = judged(answer, [claimed, entry("answer = 18")])
    assert (judgement.verdict, judgement.reason) == ("false", "refuted")


@pytest.mark.parametrize(
    ("text", "claim", "goal"),
    [
        ("She earns 9 * 2 = 20 dollars.", "9 * 2 = 20", "(9 * 2 : Rat) = 20"),
        ("She earns 9 * 2 = $<<9*2=20>>20.", "9 * 2 = 20", "(9 * 2 : Rat) = 20"),
        (
            "That is 25% of 80 = 40 / 2 = 21.",
            "(25 / 100) * 80 = 40 / 2 ∧ 40 / 2 = 21",
            "((25 / 100) * 80 : Rat) = 40 / 2 ∧ (40 / 2 : Rat) = 21",
        ),
    ],
)
def test_refuted_calculation_ends_the_chain_without_a_model(judged, text: str, claim: str, goal: str) -> None:  # type: ignore[no-untyped-def]
    first, last = "She sells 16 - 3 - 4 = 9 eggs.", "The answer is 20."
    judgement, script = judged(f"Step 1: {first}\nStep 2: {text}\n{last}")
    assert (judgement.verdict, judgement.reason, judgement.attempts) == ("false", "refuted_calculation", ())
    proof = f"theorem step_2_denied\n     :\n    ¬ ({goal}) := by\n  decide +kernel"
    assert judgement.steps == (
        StepVerdict(first, None, "unchecked"),
        StepVerdict(text, claim, "false", "refuted_calculation", proof),
        StepVerdict(last, None, "unchecked"),
    )
    assert judgement.lean == proof
    assert (script.requests, judgement.usage.checks) == ([], 1)


def test_word_of_the_arithmetic_is_no_verdict(judged, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Where Lean does not prove the negation, the answer goes on to the model, and the step is not verified either."""
    mistaken = Calculation("16 - 3 - 4 = 9", "16 - 3 - 4 = 9", Fraction(10), holds=False)
    for module in ("calculated", "judge"):
        name = f"data_gen.{module}.wrong_calculations"
        monkeypatch.setattr(name, lambda text: [mistaken] if "sells" in text else [])
    judgement, script = judged(RIGHT, [SOLD, EARNED, entry("answer = 18")], repairs=0)
    assert (judgement.verdict, judgement.reason) == ("error", "calculation")
    assert len(script.requests) == 1


def test_wrong_reading_meets_the_premises_at_the_end(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She sells 16 - 3 = 13 eggs.\nStep 2: She earns 13 * 2 = 26 dollars.\nThe answer is 26."
    sold = {"definitions": [{"name": "sold", "type": "Rat", "value": "eggs - eaten"}], "claim": "sold = 13"}
    judgement, _ = judged(answer, [sold, {**EARNED, "claim": "earned = 26"}, entry("answer = 26")])
    assert judgement.verdict == "false"
    assert outcomes(judgement) == ["verified", "verified", "false"]


def test_question_that_does_not_force_the_answer(judged) -> None:  # type: ignore[no-untyped-def]
    telescope = "(eggs eaten baked price answer : Rat) (h_eggs : eggs = 16) (h_eaten : eaten = 3) (h_baked : baked = 4)"
    steps = [SOLD, entry(None), entry("answer = 18")]
    answer = "Step 1: She sells 16 - 3 - 4 = 9 eggs.\nStep 2: She sells them at her price.\nThe answer is 18."
    judgement, _ = judged(answer, steps, [entry("answer = 18")], telescope=telescope, repairs=1)
    assert (judgement.verdict, judgement.reason) == ("error", "underdetermined")
    assert outcomes(judgement) == ["verified", "no_claim", "error"]


def test_contradictory_premises_prove_nothing(judged) -> None:  # type: ignore[no-untyped-def]
    telescope = TELESCOPE + " (h_more : eggs = 17)"
    judgement, _ = judged(RIGHT, [SOLD, EARNED, entry("answer = 18")], telescope=telescope)
    assert (judgement.verdict, judgement.reason) == ("error", "vacuous")
    assert outcomes(judgement) == ["vacuous", "unchecked", "unchecked"]


def test_repair_keeps_settled_steps(judged) -> None:  # type: ignore[no-untyped-def]
    judgement, script = judged(
        RIGHT,
        [
            SOLD,
            {**EARNED, "definitions": [{"name": "earned", "type": "Rat", "value": "sold * prize"}]},
            entry("answer = 18"),
        ],
        [EARNED, entry("answer = 18")],
    )
    assert judgement.verdict == "verified"
    assert [(a.iteration, a.first, a.outcome, a.reason) for a in judgement.attempts] == [
        (1, 1, "error", "not_elaborated"),
        (2, 2, "verified", ""),
    ]
    assert judgement.attempts[0].elaborated == (True, False, False)
    question = script.requests[1].messages[1].content
    assert "Entry 2 failed" in question
    assert "prize" in question
    assert "the 2 entries from number 2" in question
    assert "step_1 : sold = 9" in question, "Lean's text with the proved step is shown"


@pytest.mark.parametrize(
    ("proof", "complaint"),
    [
        # The cascade's tactics are none of the model's.
        (None, "Lean found neither a proof of the claim nor one of its negation."),
        ("sorry", "`sorry` leaves something unproved"),
        (
            "rw [h_kept]",
            """\
7:6: error: Unknown identifier `h_kept`
  5 |     (eaten : Rat) (eaten_def : eaten = eggs - kept) :
  6 |     eaten = 3 := by
> 7 |   rw [h_kept]

6:17: error: unsolved goals
eggs kept answer : Rat
h_eggs : eggs = 16
h_answer : answer = eggs - kept
eaten : Rat
eaten_def : eaten = eggs - kept
⊢ eaten = 3
  4 |     (h_answer : answer = eggs - kept)
  5 |     (eaten : Rat) (eaten_def : eaten = eggs - kept) :
> 6 |     eaten = 3 := by
  7 |   rw [h_kept]""",
        ),
    ],
)
def test_complaint_of_an_unproved_step(judged, proof: str | None, complaint: str) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She eats 3 eggs.\nThe answer is 3."
    telescope = "(eggs kept answer : Rat)\n(h_eggs : eggs = 16)\n(h_answer : answer = eggs - kept)"
    eaten = {"definitions": [{"name": "eaten", "type": "Rat", "value": "eggs - kept"}], "claim": "eaten = 3"}
    judgement, script = judged(
        answer, *[[{**eaten, "proof": proof}, entry("answer = 3")]] * 2, telescope=telescope, repairs=1
    )
    assert (judgement.verdict, judgement.reason) == ("error", "unproved")
    assert judgement.attempts[0].complaint == complaint
    assert f"Entry 1 failed:\n{complaint}\n" in script.requests[1].messages[1].content


def test_model_proof_that_fails_is_no_failure(judged) -> None:  # type: ignore[no-untyped-def]
    steps = [{**SOLD, "proof": "norm_num [sold_def]"}, {**EARNED, "proof": "subst_vars\ngrind"}, entry("answer = 18")]
    judgement, _ = judged(RIGHT, steps)
    assert judgement.verdict == "verified"


def test_hostile_proof_is_refused_before_lean(judged) -> None:  # type: ignore[no-untyped-def]
    steps = [{**SOLD, "claim": "sold = 9", "proof": "sorry"}, EARNED, entry("answer = 18")]
    judgement, _ = judged(RIGHT, steps)
    assert judgement.verdict == "verified"
    assert "sorry" not in judgement.lean


def test_judge_cannot_be_argued_into_another_claim(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: She sells 16 eggs less 3 and 4 = 10.\nStep 2: She earns 9 * 2 = 18 dollars.\nThe answer is 18."
    judgement, _ = judged(answer, [SOLD, EARNED, entry("answer = 18")], [SOLD, EARNED, entry("answer = 18")], repairs=1)
    assert (judgement.verdict, judgement.reason) == ("error", "drift")


UNREADABLE = ["I cannot.", '{"steps": 3}', '{"steps": [{"claim": 1}, 2, 3]}']


@pytest.mark.parametrize("reply", [*UNREADABLE, [SOLD, EARNED]])
def test_wrong_replies_use_up_the_repairs(judged, reply: Any) -> None:  # type: ignore[no-untyped-def]
    tries = 3 if reply in UNREADABLE else 1
    judgement, script = judged(RIGHT, *[reply] * 2 * tries, repairs=1)
    assert judgement.verdict == "error"
    assert judgement.reason == ("unparseable" if reply in UNREADABLE else "entries")
    assert judgement.attempts[0].elaborated == (False, False, False)
    assert len(script.requests) == 2 * tries


@pytest.mark.parametrize("reply", UNREADABLE)
def test_an_unreadable_reply_is_asked_for_again_and_is_no_repair(judged, reply: str) -> None:  # type: ignore[no-untyped-def]
    judgement, script = judged(RIGHT, reply, [SOLD, EARNED, entry("answer = 18")], repairs=0)
    assert (judgement.verdict, len(judgement.attempts)) == ("verified", 1)
    first, second = script.requests
    assert (second.messages, second.attempt) == (first.messages, first.attempt + 1)


def test_final_claim_has_to_be_the_answer_of_the_prose(judged) -> None:  # type: ignore[no-untyped-def]
    judgement, _ = judged(RIGHT.replace("is 18", "is 19"), [SOLD, EARNED, entry("answer = 18")], repairs=0)
    assert (judgement.verdict, judgement.reason) == ("error", "answer_mismatch")


def test_answer_without_steps_is_never_judged(judged) -> None:  # type: ignore[no-untyped-def]
    judgement, _ = judged("18")
    assert (judgement.verdict, judgement.reason, judgement.steps) == ("error", "unparseable_answer", ())


@pytest.mark.parametrize(
    ("text", "claim", "verdict", "reason"),
    [
        ("Half of the 7 left over is 7 / 2 = 3.", "7 / 2 = 3", "false", "refuted"),  # holds over the naturals
        ("She is short by 3 eggs less 5 = 0 eggs.", "3 - 5 = 0", "false", "refuted"),  # holds over the naturals
        ("She splits 5 / 0 = 0 of them.", "5 / 0 = 0", "error", "drift"),  # holds in Lean
        ("It is 16 / (3 - 3) = 0.", "eggs / (eaten - eaten) = 0", "error", "division_by_zero"),
        ("The root is 9 ^ (2 / 3) = 1.", "9 ^ (2 / 3) = 1", "error", "foreign_term"),  # natural exponents
        ("She is short by 3 eggs less 5 = 0 eggs.", "Nat.sub 3 5 = 0", "error", "foreign_term"),
    ],
)
def test_lean_notation_does_not_verify_wrong_prose(judged, text: str, claim: str, verdict: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    answer = f"Step 1: {text}\nThe answer is 18."
    judgement, _ = judged(answer, [entry(claim), entry("answer = 18")], repairs=0)
    assert (judgement.verdict, judgement.reason) == (verdict, reason)


def test_division_by_a_quantity_that_is_not_zero(judged) -> None:  # type: ignore[no-untyped-def]
    answer = "Step 1: For each dollar she hands out 16 / 2 = 8 eggs.\nThe answer is 18."
    judgement, _ = judged(answer, [entry("eggs / price = 8"), entry("answer = 18")])
    assert judgement.verdict == "verified"
