"""Reverse question answering: what a new question has to be, and what becomes of it."""

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from data_gen.prompting import OWN
from data_gen.questions import Reversal, reverse, without_repeats
from data_gen.records import Question
from rltpf.cli import main
from rltpf.llm.model import Request, Sampling
from rltpf.records import Failure, Problem
from tests.data_gen.fakes import AgreeableProver, RoleModel, write_rows

SEED = "Janet's ducks lay 16 eggs. She eats 3 and sells the rest for $2 each. What does she earn?"
SOLUTION = "She sells 16 - 3 = <<16-3=13>>13 eggs.\nShe earns 13 * 2 = $<<13*2=26>>26.\n#### 26"
REVERSED = (
    "Janet's ducks lay some eggs. She eats 3, sells the rest for $2 each and earns $26. How many do the ducks lay?"
)
GOOD = {"question": REVERSED, "given": "26", "asked": "16"}


def made(reply: Any, question: str = SEED, answer: str = SOLUTION) -> tuple[Question, RoleModel]:
    model = RoleModel(s0=reply)
    problem = Problem("id", question, answer)
    return asyncio.run(reverse(problem, model, Sampling(seed=7), OWN)), model


def test_the_new_question_asks_for_what_the_seed_gave() -> None:
    question, model = made(GOOD)
    assert question == Question("id", REVERSED, "16", phase="s0", seed=SEED)
    (request,) = model.asked("s0")
    assert (request.role, request.schema) == ("generator", Reversal.model_json_schema())
    assert SEED in request.messages[1].content
    assert SOLUTION in request.messages[1].content


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": "  "}, "empty"),
        ({"question": SEED.upper().replace(" ", "  ")}, "equal_to_seed"),
        ({"question": "How many eggs do her ducks lay?"}, "no_number"),
        ({"given": "many"}, "answer_not_given"),
        ({"given": "27"}, "answer_not_given"),
        ({"question": REVERSED.replace("26", "25")}, "answer_not_given"),
        # Given and stated, but not by the seed's solution.
        ({"question": REVERSED.replace("26", "25"), "given": "25"}, "answer_not_given"),
        ({"asked": "the eggs"}, "asked_not_in_seed"),
        ({"asked": "17"}, "asked_not_in_seed"),
        ({"question": REVERSED.replace("some eggs", "16 eggs")}, "asked_is_told"),
    ],
)
def test_what_is_no_reverse_is_lost_for_a_reason_of_its_own(change: dict[str, str], reason: str) -> None:
    question, _ = made({**GOOD, **change})
    assert question.error is not None
    assert (question.error.stage, question.error.reason) == ("s0", reason)
    assert (question.question, question.gold, question.phase) == (SEED, SOLUTION, "seed")


@pytest.mark.parametrize("reply", ["no JSON", {"question": REVERSED}, {**GOOD, "given": 26}, {**GOOD, "note": ""}])
def test_a_reply_that_stays_unreadable_is_lost_after_three_tries(reply: Any) -> None:
    question, model = made(reply)
    assert question.error is not None
    assert (question.error.stage, question.error.reason) == ("s0", "unparseable")
    assert len(model.asked("s0")) == 3


@pytest.mark.parametrize(
    ("seed", "solution", "reply"),
    [
        # The 2 that is asked for was told twice, and once is still told.
        (
            "2 hens lay 2 eggs each. How many eggs are there?",
            "2 * 2 = 4",
            {"question": "Some hens lay 2 eggs each, 4 in all. How many hens?", "given": "4", "asked": "2"},
        ),
        # Numbers in words, in thousands, and as fractions of LaTeX.
        (
            "Ten boxes hold 1,200 pens. How many are in one?",
            "1200 / 10 = 120",
            {"question": "Some boxes hold 120 pens each, 1,200 in all. How many boxes?", "given": "120", "asked": "10"},
        ),
        (
            r"What is half of $\frac{3}{2}$?",
            r"$\boxed{\frac{3}{4}}$",
            {"question": r"Half of which number is $\frac{3}{4}$?", "given": "3/4", "asked": "3/2"},
        ),
    ],
)
def test_numbers_are_found_as_texts_write_them(seed: str, solution: str, reply: dict[str, str]) -> None:
    question, _ = made(reply, seed, solution)
    assert question.error is None


def test_of_equal_questions_the_first_in_the_order_of_the_input_stays() -> None:
    def question(name: str, text: str, seed: str | None = "S") -> Question:
        return Question(name, text, "1", phase="s4", seed=seed)

    given = [
        question("a", "How many?", "S a"),
        question("b", "how  MANY?", "S b"),
        question("c", "Another?", "S c"),
        question("d", "S A", "S d"),
        dataclasses.replace(question("e", "Why?", "S e"), error=Failure("s4", "not_aligned")),
        question("f", "Why?", "S f"),
    ]
    found = without_repeats(given)
    assert [q.error.reason if q.error else "" for q in found] == ["", "duplicate", "", "duplicate", "not_aligned", ""]
    assert [q.phase for q in found if q.error and q.error.stage == "s0"] == ["seed", "seed"]
    # Questions of the seeds are compared before they cost anything.
    assert without_repeats([question("a", "Q", None), question("b", "Q", None)])[1].kept


ANSWER = "Step 1: Before she eats 3, there are 13 + 3 = 16 eggs.\nThe answer is 16."
FORMAL = {"definitions": [], "proof": None}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> RoleModel:
    """`generate` with a scripted model and a prover that agrees to everything."""

    def s0(request: Request) -> dict[str, str]:
        asks_for_nothing_new = "Janet" not in request.messages[1].content
        return {**GOOD, "question": "What?"} if asks_for_nothing_new else GOOD

    steps = [{**FORMAL, "claim": "13 + 3 = 16"}, {**FORMAL, "claim": "answer = 16"}]
    model = RoleModel(s0=s0, answer=ANSWER, formalise={"steps": steps})
    monkeypatch.setattr("data_gen.pipeline.build_prover", lambda _: AgreeableProver())
    monkeypatch.setattr("data_gen.pipeline.build_model", lambda *_: model)
    return model


def generate(folder: Path, *overrides: str) -> int:
    rows = ((SEED, SOLUTION), (f"{SEED} Say it.", SOLUTION), ("How many are 2 and 3?", "5"))
    data = write_rows(folder / "data.jsonl", *rows)
    arguments = ("--dataset.path", str(data), "--llm.model", "m", "--output_dir", str(folder / "run"))
    return main(["generate", *arguments, *overrides])


def metrics(folder: Path) -> Any:
    return json.loads((folder / "run" / "metrics.json").read_text())


def test_new_questions_go_through_every_phase(model: RoleModel, tmp_path: Path) -> None:
    assert generate(tmp_path, "--strategy", "reverse_qa") == 0
    found = metrics(tmp_path)
    # Two seeds that say the same, and so do their reverses; the third has none.
    assert found["questions"] == {"in": 3, "kept": 1, "lost": {"s0:duplicate": 1, "s0:no_number": 1}, "unfinished": 0}
    assert found["phases"][0] == {"phase": "s0", "in": 3, "out": 1}
    for prompt in ("s1", "s4", "answer"):
        assert all(REVERSED in request.messages[1].content for request in model.asked(prompt))
    (row, *_) = [json.loads(line) for line in (tmp_path / "run" / "sft.jsonl").read_text().splitlines()]
    assert row["prompt"][0]["content"].startswith(REVERSED)


def test_the_questions_of_the_seeds_are_taken_as_they_are(model: RoleModel, tmp_path: Path) -> None:
    assert generate(tmp_path) == 0
    assert metrics(tmp_path)["questions"]["kept"] == 3
    assert not model.asked("s0")
    rows = [json.loads(line) for line in (tmp_path / "run" / "questions.jsonl").read_text().splitlines()]
    assert {row["question"] for row in rows} == {SEED, f"{SEED} Say it.", "How many are 2 and 3?"}
    assert {row["seed"] for row in rows} == {None}
