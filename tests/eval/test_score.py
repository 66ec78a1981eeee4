import asyncio
import math

import pytest

from eval.score import (
    Sample,
    ask,
    grade,
    majority_right,
    mean_and_error,
    paired_difference,
    pass_at_k,
    summarise,
)
from rltpf.llm.model import Completion, ModelError, Request, Sampling
from rltpf.records import Failure, Problem
from tests.eval.fakes import Never


class Scripted:
    """A model that answers from a table, and fails where the table says so."""

    name = "scripted"

    def __init__(self, replies: dict[str, str | None]) -> None:
        self.replies = replies
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        # The first to be asked answers last: order must come from the rows, not from the replies.
        await asyncio.sleep(0.01 / len(self.requests))
        text = self.replies[request.messages[-1].content]
        if text is None:
            raise ModelError("server gone")
        return Completion(text, completion_tokens=len(text.split()))

    async def close(self) -> None:
        pass


def row(number: int, gold: str) -> Problem:
    return Problem(id=f"r{number}", question=f"q{number}", answer=gold)


def sample(reply: str, gold: str, finish_reason: str = "stop", number: int = 0, of: int = 0) -> Sample:
    return grade(row(of, gold), "p", Completion(reply, finish_reason, completion_tokens=5), Never(), number)


GREEDY = Sampling(temperature=0.0, max_tokens=77)


def test_ask_is_greedy_and_keeps_the_order() -> None:
    model = Scripted({"ask q0": "zero", "ask q1": "one", "ask q2": "two"})
    rows = [row(0, "0"), row(1, "1"), row(2, "2")]
    replies = asyncio.run(ask(rows, lambda question: f"ask {question}", model, GREEDY, 1, 3))
    assert [reply.text for (reply,) in replies if isinstance(reply, Completion)] == ["zero", "one", "two"]
    assert {request.sampling for request in model.requests} == {GREEDY}
    assert {request.role for request in model.requests} == {"solver"}


def test_a_failed_request_is_no_wrong_answer() -> None:
    model = Scripted({"q0": "The answer is 0.", "q1": None})
    rows = [row(0, "0"), row(1, "1")]
    replies = asyncio.run(ask(rows, str, model, GREEDY, 1, 2))
    samples = [grade(row, "p", reply, Never()) for row, (reply,) in zip(rows, replies, strict=True)]
    assert samples[1].error == Failure("solver", "no_reply", "server gone")
    summary = summarise(samples)
    assert (summary["n"], summary["failed"], summary["scores"]["strict"]["pass@1"]) == (1, 1, 1.0)


def test_grade_keeps_both_extractions_and_verdicts() -> None:
    record = sample("Answer: $18.00", "18")
    assert (record.strict, record.lenient) == (None, "$18.00")
    assert (record.correct_strict, record.correct_lenient, record.correct_math_verify) == (False, True, True)
    assert Sample.from_json(record.to_json()) == record


def test_grade_does_not_read_the_torn_end_of_a_cut_reply() -> None:
    assert sample("The answer is 18", "18", "length").correct_strict is False
    assert sample("The answer is 18", "18", "stop").correct_strict is True


def test_summarise() -> None:
    samples = [
        sample("The answer is 18.", "18", of=0),
        sample("It is 18 dollars", "18", of=1),
        sample("It is", "18", "length", of=2),
        sample("The answer is 17.", "18", of=3),
    ]
    summary = summarise(samples)
    assert summary["n"] == 4
    assert {name: score["right"] for name, score in summary["scores"].items()} == {
        "strict": 1,
        "lenient": 2,
        "math_verify": 2,
    }
    assert summary["scores"]["strict"]["pass@1"] == 0.25
    assert summary["scores"]["strict"]["stderr"] == pytest.approx(0.25)  # sqrt(1/4 * 3/4 / 3)
    assert summary["no_answer"] == {"strict": 2, "lenient": 1}
    assert summary["cut_by_max_tokens"] == 1
    assert summary["completion_tokens"] == 20


def test_several_replies_to_a_row_differ_by_seed_and_attempt() -> None:
    model = Scripted({"q0": "zero", "q1": "one"})
    sampling = Sampling(temperature=0.7, max_tokens=77, seed=42)
    replies = asyncio.run(ask([row(0, "0"), row(1, "1")], str, model, sampling, 3, 2))
    assert [[reply.text for reply in found if isinstance(reply, Completion)] for found in replies] == [
        ["zero"] * 3,
        ["one"] * 3,
    ]
    assert sorted((request.attempt, request.sampling.seed) for request in model.requests) == [
        (0, 42), (0, 42), (1, 43), (1, 43), (2, 44), (2, 44),
    ]  # fmt: skip


def test_summarise_several_replies() -> None:
    def replies(of: int, *answers: str) -> list[Sample]:
        return [sample(f"The answer is {a}.", "18", number=n, of=of) for n, a in enumerate(answers)]

    # Right of 4: 3, 1, 0; the fourth row lacks a reply and is in no score.
    failed = grade(row(3, "18"), "p", ModelError("gone"), Never(), 1)
    rows = [*replies(0, "18", "18", "17", "18"), *replies(1, "16", "18", "16", "5"), *replies(2, "1", "2", "3", "4")]
    summary = summarise([*rows, *replies(3, "18"), failed])
    assert (summary["n"], summary["samples"], summary["failed"]) == (3, 4, 1)
    strict = summary["scores"]["strict"]
    assert (strict["right"], strict["pass@1"]) == (4, pytest.approx(1 / 3))
    # Shares 3/4, 1/4, 0: deviations 5/12, -1/12, -4/12; their squares add up to 42/144.
    error = math.sqrt(42 / 144 / 2 / 3)
    assert strict["stderr"] == pytest.approx(error)
    assert strict["interval_95"] == pytest.approx([max(0, 1 / 3 - 1.959964 * error), 1 / 3 + 1.959964 * error])
    # pass@2: 1 - C(1,2)/C(4,2) = 1, 1 - C(3,2)/C(4,2) = 1/2, 0
    assert strict["pass@k"]["2"] == {"value": pytest.approx(0.5), "stderr": pytest.approx(math.sqrt(1 / 12))}
    assert strict["pass@k"]["4"]["value"] == pytest.approx(2 / 3)
    assert list(strict["pass@k"]) == ["2", "4"]
    # The most frequent answers: 18, 16, and of four different ones the first.
    assert strict["maj@k"] == {"4": {"value": pytest.approx(1 / 3), "stderr": pytest.approx(1 / 3)}}


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        (["18", "17", "18.0"], True),  # equal values count together
        (["17", "18", "17"], False),
        (["18", "17"], True),  # of equals the first
        (["17", "18"], False),
        (["", "18", ""], True),  # replies without an answer have no vote
        (["", ""], False),
    ],
)
def test_majority(answers: list[str], right: bool) -> None:
    row = [sample(f"The answer is {answer}." if answer else "I do not know", "18") for answer in answers]
    assert majority_right(row, "correct_strict") is right


def test_mean_and_error() -> None:
    assert mean_and_error([1.0, 0.0] * 5) == (0.5, pytest.approx(1 / 6))  # sqrt(10/4 / 9 / 10)
    assert mean_and_error([0.0] * 10) == (0.0, 0.0)
    assert mean_and_error([1.0]) == (1.0, None)


@pytest.mark.parametrize(
    ("n", "right", "k", "value"),
    [
        (4, 2, 1, 0.5),  # the plain share
        (4, 2, 2, 5 / 6),  # 1 - C(2,2)/C(4,2) = 1 - 1/6
        (5, 1, 3, 0.6),  # 1 - C(4,3)/C(5,3) = 1 - 4/10
        (5, 0, 5, 0.0),
        (5, 3, 3, 1.0),  # too few wrong ones to fill k
        (10, 3, 2, 8 / 15),  # 1 - C(7,2)/C(10,2) = 1 - 21/45
    ],
)
def test_pass_at_k(n: int, right: int, k: int, value: float) -> None:
    assert pass_at_k(n, right, k) == pytest.approx(value)


@pytest.mark.parametrize(("n", "right", "k"), [(4, 5, 1), (4, 2, 5), (4, 2, 0), (4, -1, 1)])
def test_pass_at_k_refuses_impossible_counts(n: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="need 0 <= right <= n"):
        pass_at_k(n, right, k)


def test_paired_difference() -> None:
    # differences 1, 1, 0, -1: mean 1/4, variance (9/16 + 9/16 + 1/16 + 25/16) / 3 = 11/12
    mean, error = paired_difference([False, False, True, True], [True, True, True, False])
    assert mean == 0.25
    assert error == pytest.approx(math.sqrt(11 / 12 / 4))
    # The same scores on the same rows differ by nothing, with no error at all.
    assert paired_difference([True, False], [True, False]) == (0.0, 0.0)
    with pytest.raises(ValueError, match="at least two"):
        paired_difference([True], [False])
