"""Answers compared in real Lean."""

import asyncio

import pytest

from eval.lean_equivalence import compare
from eval.score import Sample, grade, summarise
from rltpf.llm.model import Completion, ModelError
from rltpf.prover.prover import Prover
from rltpf.records import Problem
from tests.eval.fakes import Never


def sample(gold: str, answer: str) -> Sample:
    return grade(Problem(gold, "q", gold), "p", Completion(f"The answer is \\boxed{{{answer}}}."), Never())


@pytest.mark.lean
def test_verdicts(prover: Prover) -> None:
    expected = [
        ("18", "18", True, ""),
        ("18", "19", False, "refuted"),
        ("1024", "2^{10}", True, "equal"),
        ("(x+1)^2", "x^2+2x+1", True, "equal"),
        ("(x+1)^2", "x^2+1", False, "refuted"),
        ("12\\pi", "\\pi \\cdot 12", True, "equal"),
        ("2\\sqrt{3}", "\\sqrt{1+2} \\cdot 2", True, "equal"),
        # That the root of 4 is 2 is no fact that is used.
        ("2", "\\sqrt{4}", False, "not_proved"),
        ("0", "1/(2-2)", None, "unread"),
        ("(1, 2)", "(2, 1)", None, "unread"),
    ]
    samples = asyncio.run(compare(prover, [sample(gold, answer) for gold, answer, _, _ in expected], 2))
    assert [(s.gold, s.lenient, s.correct_rpe, s.rpe_reason) for s in samples] == expected
    scores = summarise(samples, ("correct_lenient", "correct_rpe"))["scores"]
    assert {name: score["right"] for name, score in scores.items()} == {"lenient": 1, "rpe": 5}


def test_what_has_no_answer_is_not_asked() -> None:
    class Unasked(Prover):
        def __init__(self) -> None:
            pass

    error = grade(Problem("r", "q", "18"), "p", ModelError("gone"), Never())
    silent = grade(Problem("r", "q", "18"), "p", Completion("I do not know"), Never())
    compared = asyncio.run(compare(Unasked(), [error, silent], 1))
    assert [(s.correct_rpe, s.rpe_reason) for s in compared] == [(False, ""), (False, "")]
