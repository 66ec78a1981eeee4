import json
from pathlib import Path
from typing import get_args

import pytest

from eval.benchmarks import BENCHMARKS, listing, load
from eval.extraction import strict
from eval.settings import EvaluateConfig
from rltpf.datasets import DatasetConfig
from rltpf.errors import InputError


def write(path: Path, rows: list[dict[str, str]]) -> DatasetConfig:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return DatasetConfig(path=str(path))


def test_gsm8k_takes_the_gold_answer_after_the_hashes(tmp_path: Path) -> None:
    solution = "9 * 2 = <<9*2=18>>18\n#### 1,018"
    dataset = write(tmp_path / "rows.jsonl", [{"question": "How many?", "answer": solution}])
    (row,) = load(BENCHMARKS["gsm8k"], dataset)
    assert (row.question, row.answer) == ("How many?", "1,018")


def test_jsonl_takes_the_answer_as_it_is(tmp_path: Path) -> None:
    dataset = write(tmp_path / "rows.jsonl", [{"question": "How many?", "answer": " \\frac{1}{2} "}])
    assert load(BENCHMARKS["jsonl"], dataset)[0].answer == "\\frac{1}{2}"


def test_a_preset_gives_the_gold_answers_of_its_own_benchmark_and_of_jsonl(tmp_path: Path) -> None:
    dataset = write(tmp_path / "rows.jsonl", [{"question": "How many?", "answer": "9 * 2 = 18\n#### 18"}])
    dataset = dataset.model_copy(update={"preset": "gsm8k"})
    for name in ("gsm8k", "jsonl"):
        assert [row.answer for row in load(BENCHMARKS[name], dataset)] == ["18"]


def test_every_row_without_a_gold_answer_is_named(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": a} for a in ("#### 1", "18", "#### 3", "####")]
    with pytest.raises(InputError) as caught:
        load(BENCHMARKS["gsm8k"], write(tmp_path / "rows.jsonl", rows))
    place = f"{tmp_path}/rows.jsonl:"
    fault = "answer has to be a solution with its final answer after ####, and is"
    assert list(caught.value.faults) == [f"{place}2: {fault} '18'", f"{place}4: {fault} '####'"]
    with pytest.raises(InputError) as caught:
        load(BENCHMARKS["jsonl"], write(tmp_path / "rows.jsonl", [{"question": "q", "answer": " "}]))
    assert list(caught.value.faults) == [f"{tmp_path}/rows.jsonl: row 1: answer is empty"]


ROWS = {
    "multiarith": ({"question": "q", "final_ans": "39.0"}, "39"),
    "svamp": ({"Body": "b.", "Question": "q?", "Answer": 145.0}, "145"),
    "asdiv": ({"body": "b.", "question": "q?", "answer": "9 (apples)"}, "9"),
    "aqua": ({"question": "q", "options": ["A)1", "B)2"], "correct": "B"}, "B"),
    "math": ({"problem": "q", "solution": r"so $\boxed{\frac{1}{2}}$."}, r"\frac{1}{2}"),
    "math500": ({"problem": "q", "answer": r"\frac{1}{2}"}, r"\frac{1}{2}"),
    "aime24": ({"problem": "q", "answer": "025"}, "25"),
    "amc23": ({"problem": "q", "answer": 27.0}, "27"),
    "olympiadbench": ({"question": "q", "final_answer": ["$2$", "$3$"]}, "2, 3"),
    "repro": ({"rewritten_question": "r", "new_answer": "2"}, "2"),
    "repro_originals": ({"original_question": "o", "original_answer": "1", "new_answer": "2"}, "1"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_benchmark_reads_its_own_rows(tmp_path: Path, name: str) -> None:
    row, gold = ROWS[name]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    assert load(BENCHMARKS[name], DatasetConfig(path=str(tmp_path / "rows.jsonl")))[0].answer == gold


def test_every_benchmark_can_be_configured_and_is_listed() -> None:
    assert list(get_args(EvaluateConfig.model_fields["benchmark"].annotation)) == sorted(
        BENCHMARKS, key=list(BENCHMARKS).index
    )
    assert [name for name, _, _ in listing()] == list(BENCHMARKS)
    assert ("svamp", "1", "Body, Question, Answer") in listing()


def test_prompts_ask_for_what_the_gold_answer_is() -> None:
    assert r"`The answer is \boxed{X}.`" in BENCHMARKS["math500"].prompt("q")
    assert "the letter of the right choice" in BENCHMARKS["aqua"].prompt("q")
    # Strict reads the forms that the prompts ask for.
    assert strict(r"Step 1: so it is.\nThe answer is \boxed{\frac{1}{2}}.") == r"\frac{1}{2}"
    assert strict("Step 1: so it is.\nThe answer is B.") == "B"


def test_the_prompt_has_the_question_and_the_agreed_form() -> None:
    prompt = BENCHMARKS["gsm8k"].prompt("How many {eggs}?")
    assert prompt.startswith("How many {eggs}?")
    assert "The answer is N." in prompt
