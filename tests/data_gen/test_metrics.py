"""The numbers of a run, from records written by hand."""

import dataclasses

from data_gen.allocate import Allocation
from data_gen.metrics import summarise
from data_gen.records import Answer, Attempt, Question, TelescopeAttempt, Verdict
from rltpf.prover.session import LeanUsage
from rltpf.records import Failure


def question(name: str, stage: str = "", reason: str = "", attempts: int = 1) -> Question:
    tries = (*[TelescopeAttempt("t", "not_elaborated", "c")] * (attempts - 1), TelescopeAttempt("t"))
    error = Failure(stage, reason) if stage else None
    return Question(name, "Q", "1", phase="s4", attempts=tries, error=error, usage=LeanUsage(2, 0.5))


def answer(name: str, verdict: Verdict, *elaborated: tuple[bool, ...]) -> Answer:
    last = len(elaborated)
    attempts = tuple(
        Attempt(number, 1, (), flags, verdict if number == last else "error", tokens=10)
        for number, flags in enumerate(elaborated, start=1)
    )
    reason = "unproved" if verdict == "error" else ""
    return Answer(name, "q", 0, "Q", "A", verdict, reason, (), attempts, "", LeanUsage(3, 1.0))


def test_summary() -> None:
    questions = [
        question("a"),
        question("b", attempts=2),
        question("c", "s2", "contradictory"),
        question("d", "s4", "not_aligned"),
    ]
    answers = [
        answer("1", "verified", (True, True)),
        answer("2", "false", (True, False), (True, True)),
        answer("3", "verified", (False, False), (True, False), (True,)),
        answer("4", "error", (True, True), (True, True), (False, True)),
    ]
    metrics = summarise(
        questions, answers, [Allocation("a", "dpo", dpo=((answers[0], answers[1]),)), Allocation("b", "error")]
    )
    assert metrics["questions"] == {"in": 4, "kept": 2, "lost": {"s2:contradictory": 1, "s4:not_aligned": 1}}
    assert [(row["phase"], row["in"], row["out"]) for row in metrics["phases"]] == [
        ("s0", 4, 4), ("s1", 4, 4), ("s2", 4, 3), ("s3", 3, 3), ("s4", 3, 2),
    ]  # fmt: skip
    assert metrics["answers"] == {"in": 4, "verified": 2, "false": 1, "error": 1, "reasons": {"error:unproved": 1}}
    assert metrics["iterations"] == [
        {"iteration": 1, "chains": 4, "chains_elaborated": 2, "steps": 8, "steps_elaborated": 5,
         "verified": 1, "false": 0, "error": 3, "tokens": 40},
        {"iteration": 2, "chains": 3, "chains_elaborated": 2, "steps": 6, "steps_elaborated": 5,
         "verified": 0, "false": 1, "error": 2, "tokens": 30},
        {"iteration": 3, "chains": 2, "chains_elaborated": 1, "steps": 3, "steps_elaborated": 2,
         "verified": 1, "false": 0, "error": 1, "tokens": 20},
    ]  # fmt: skip
    assert metrics["allocation"] == {
        "sft_rows": 0, "dpo_pairs": 1, "discarded_questions": 0, "error_questions": 1, "contradicted_answers": 0,
    }  # fmt: skip
    assert metrics["lean"] == {"checks": 20, "seconds": 6.0}


def lengths(*pairs: tuple[str, str]) -> object:
    found = [
        (
            dataclasses.replace(answer("1", "verified"), answer=chosen),
            dataclasses.replace(answer("2", "false"), answer=rejected),
        )
        for chosen, rejected in pairs
    ]
    return summarise([], [], [Allocation("q", "dpo", dpo=(pair,)) for pair in found])["lengths"]


def test_lengths_of_chosen_against_rejected() -> None:
    assert lengths(("a b c", "a b"), ("a", "aa b"), ("ab", "b")) == {
        "words": {
            "chosen": {"min": 1, "median": 1, "mean": 1.7, "max": 3},
            "rejected": {"min": 1, "median": 2, "mean": 1.7, "max": 2},
        },
        "characters": {
            "chosen": {"min": 1, "median": 2, "mean": 2.7, "max": 5},
            "rejected": {"min": 1, "median": 3, "mean": 2.7, "max": 4},
        },
        "chosen_longer": 1,
        "rejected_longer": 1,
    }


def test_no_pairs_have_no_lengths() -> None:
    none: dict[str, object] = {"chosen": {}, "rejected": {}}
    assert lengths() == {"words": none, "characters": none, "chosen_longer": 0, "rejected_longer": 0}
