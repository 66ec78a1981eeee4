"""The baselines as makers of candidates: what is asked, and where each ends."""

import asyncio
from typing import Any

import pytest

from eval.baselines.methods import Baseline
from eval.equivalence import MathVerifier
from eval.rewrite.prompting import build_prompts, home_of
from eval.rewrite.records import Candidate
from tests.eval.rewrite.scripted import ORIGINAL, Scripted, config, ended

VARIABLES = [
    {"name": "total", "value": 6, "low": 6, "high": 6},
    {"name": "red", "value": 4, "low": 3, "high": 4},
]
TEMPLATE = ORIGINAL.replace("6", "[[total]]").replace("4", "[[red]]")
FUNCTION = "def solution(total, red):\n    return total - red\n"
VARBENCH = {"template": TEMPLATE, "variables": VARIABLES, "function": FUNCTION}


def made(method: str, reply: Any) -> tuple[Candidate, Scripted]:
    model = Scripted(rewriter=reply)
    settings = config(method=method)
    with MathVerifier() as verifier:
        baseline = Baseline(settings, model, build_prompts(home_of(settings)), verifier)
        candidate = asyncio.run(baseline.make(Candidate("id", ORIGINAL, "2", "source", "")))
    return candidate, model


@pytest.mark.parametrize(
    ("method", "reply", "question", "answer"),
    [
        ("auto_dataset", {"rewritten_question": " 5 + 1? ", "answer": " 6 "}, "5 + 1?", "6"),
        ("itd", {"rewritten_question": "Of 6 balls 4 are red. And blue?"}, "Of 6 balls 4 are red. And blue?", "2"),
        ("varbench", VARBENCH, ORIGINAL.replace("4", "3"), "3"),
    ],
)
def test_each_makes_a_problem_and_its_answer_of_one_reply(
    method: str, reply: dict[str, Any], question: str, answer: str
) -> None:
    candidate, model = made(method, reply)
    (rewrite,) = candidate.rewrites
    assert (ended(candidate), rewrite.question, rewrite.answer, rewrite.lean) == ("kept", question, answer, "")
    (request,) = model.requests
    assert request.role == "rewriter"
    assert ORIGINAL in request.messages[1].content


@pytest.mark.parametrize(
    ("method", "reply", "end"),
    [
        ("auto_dataset", {"rewritten_question": "5 + 1?", "answer": " "}, "rewrite:empty"),
        ("auto_dataset", {"rewritten_question": "5 + 1?", "answer": 6}, "rewrite:unparseable"),
        ("itd", {"rewritten_question": ""}, "rewrite:empty"),
        ("itd", "no JSON", "rewrite:unparseable"),
        ("varbench", {**VARBENCH, "variables": []}, "rewrite:unparseable"),
        ("varbench", {**VARBENCH, "variables": [{**VARIABLES[0], "value": 10**10}]}, "rewrite:unparseable"),
        ("varbench", {**VARBENCH, "template": "another"}, "rewrite:invalid_template"),
        ("varbench", {**VARBENCH, "function": "def solution(total, red):\n    return y"}, "rewrite:invalid_program"),
        ("varbench", {**VARBENCH, "function": "def solution(total, red):\n    return red"}, "rewrite:wrong_output"),
        (
            "varbench",
            {**VARBENCH, "function": "def solution(total, red):\n    return 2 if red == 4 else -1"},
            "rewrite:constraint_violation",
        ),
    ],
)
def test_what_makes_no_problem_is_recorded_with_its_reason(method: str, reply: Any, end: str) -> None:
    assert ended(made(method, reply)[0]) == end
