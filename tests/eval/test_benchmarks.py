import json
from pathlib import Path

import pytest

from eval.benchmarks import BENCHMARKS, load
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
    place = f"{tmp_path}/rows.jsonl: row"
    fault = "answer gives no final answer as gsm8k writes them"
    assert list(caught.value.faults) == [f"{place} 2: {fault}", f"{place} 4: {fault}"]


def test_the_prompt_has_the_question_and_the_agreed_form() -> None:
    prompt = BENCHMARKS["gsm8k"].prompt("How many {eggs}?")
    assert prompt.startswith("How many {eggs}?")
    assert "The answer is N." in prompt
