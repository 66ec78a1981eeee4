"""Presets, on rows of the benchmarks (tests/rltpf/data/README.md says whose they are) with values read by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from rltpf import presets
from rltpf.datasets import DatasetConfig, load_problems
from rltpf.errors import InputError
from rltpf.presets import PRESETS, PresetName, fitting

DATA = Path(__file__).parent / "data"

EXPECTED: dict[PresetName, list[tuple[str, str]]] = {
    "gsm8k": [
        (
            "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
            "How many clips did Natalia sell altogether in April and May?",
            "72",
        ),
        (
            "Weng earns $12 an hour for babysitting. Yesterday, she just did 50 minutes of babysitting. "
            "How much did she earn?",
            "10",
        ),
    ],
    "math": [
        (
            "What fraction of 2 feet is 3 inches? Express your answer as a common fraction.",
            r"\frac{1}{8}",
        ),
        (
            "A figure skater is facing north when she begins to spin to her right. She spins 2250 degrees. "
            "Which direction (north, south, east or west) is she facing when she finishes her spin?",
            r"\text{east}",
        ),
        (
            r"A shirt's sale price is marked $\$14.40$, which is $60\%$ off the original price. "
            "How many dollars was the original price of the shirt?",
            r"\$36",
        ),
    ],
    "math500": [
        (r"Simplify the following:$$\frac{3}{\sqrt{27}}$$", r"\frac{\sqrt{3}}{3}"),
        (
            "If the fourth term of an arithmetic sequence is $200$ and the eighth term is $500$, "
            "what is the sixth term?",
            "350",
        ),
        (
            "On a particular map, $3$ inches on the map equates to $10$ miles in real life. If you know that the "
            "real life distance between two buildings on the map is $53.25$ miles, what would the distance between "
            "the buildings be (in inches) on the map, expressed as a fraction?",
            r"\frac{639}{40}",
        ),
    ],
    "svamp": [
        (
            "There are 87 oranges and 290 bananas in Philip's collection. If the bananas are organized into 2 groups "
            "and oranges are organized into 93 groups How big is each group of bananas?",
            "145",
        ),
        (
            "Edward spent $ 6 to buy 2 books each book costing him the same amount of money. Now he has $ 12. "
            "How much did each book cost?",
            "3",
        ),
    ],
    "multiarith": [
        (
            "Nora picked 48 plums and gave 12 of them away. She packs the others into bags of 9. "
            "How many bags does she fill?",
            "4",
        ),
        ("A tram had 17 riders. At a stop 5 left and 9 came in. How many riders has it now?", "21"),
    ],
    "aqua": [
        (
            "The ratio of the volumes of a cube to that of the sphere which will fit inside the cube is?\n"
            "A)2: π\nB)7:2\nC)8:2\nD)6: π\nE)8:3",
            "D",
        ),
        ("Add: +45 and -30\nA)-30\nB)+30\nC)0\nD)15\nE)-15", "D"),
    ],
    "asdiv": [
        ("A jar holds four black and seven white buttons. How many buttons does it hold?", "11"),
        ("A film starts at 6:45 p.m. and runs for two hours, when does it end?", "8:45 p.m."),
        ("Mia has 3 cats and Leo has 5. Who has more cats?", "Leo"),
    ],
    "aime": [
        ("Find the remainder when $5^2$ is divided by $1000$.", "25"),
        ("Find the number of positive integers less than $205$.", "204"),
    ],
    "amc": [("What is $3^3$?", "27"), ("What is $4 - 5$?", "-1")],
    "olympiadbench": [
        ("Find all real $x$ with $x^{2}=4$.", "2,-2"),
        (r"A square has the area $\frac{1}{4}$. How long is its side?", r"\frac{1}{2}"),
        ("Which real $x$ satisfy $x<1$?", r"(-\infty, 1)"),
    ],
    "repro": [("A lift had 8 riders. At a floor 6 left and half as many came in. How many riders has it now?", "5")],
    "repro_originals": [("A tram had 17 riders. At a stop 5 left and 9 came in. How many riders has it now?", "21")],
}


@pytest.mark.parametrize("preset", get_args(PresetName))
def test_question_and_final_answer_of_every_benchmark_with_the_whole_row(preset: PresetName) -> None:
    path = DATA / f"{preset}.jsonl"
    problems = load_problems(DatasetConfig(path=str(path), preset=preset))
    assert [(problem.question, problem.answer) for problem in problems] == EXPECTED[preset]
    assert [problem.extra for problem in problems] == [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("preset", "row", "question", "answer"),
    [
        (
            "math500",
            {"problem": "What is $1+1$?", "solution": r"$\boxed{2}$", "answer": "2", "subject": "Algebra", "level": 1},
            "What is $1+1$?",
            "2",
        ),
        ("multiarith", {"question": "1 and 1?", "final_ans": "2.0"}, "1 and 1?", "2"),
        ("amc", {"question": "What is $3^3$?", "answer": "27.0"}, "What is $3^3$?", "27"),
    ],
)
def test_a_benchmark_with_other_columns_on_the_hub(
    tmp_path: Path, preset: PresetName, row: dict[str, Any], question: str, answer: str
) -> None:
    (tmp_path / "d.jsonl").write_text(json.dumps(row))
    (problem,) = load_problems(DatasetConfig(path=str(tmp_path / "d.jsonl"), preset=preset))
    assert (problem.question, problem.answer, problem.extra) == (question, answer, row)


def test_columns_of_the_config_go_before_those_of_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    row = {"question": "no", "correct": "A", "task": "Which?", "letter": "B", "options": ["A)1", "B)2"]}
    path.write_text(json.dumps(row))
    config = DatasetConfig(path=str(path), preset="aqua", question_column="task", answer_column="letter")
    (problem,) = load_problems(config)
    assert (problem.question, problem.answer, problem.extra) == ("Which?\nA)1\nB)2", "B", row)


def test_answers_in_another_form_are_refused_with_the_form_in_words(tmp_path: Path) -> None:
    def fault(preset: PresetName, **changes: Any) -> str:
        row = json.loads((DATA / f"{preset}.jsonl").read_text().splitlines()[0]) | changes
        (tmp_path / "d.jsonl").write_text(json.dumps(row))
        with pytest.raises(InputError) as caught:
            load_problems(DatasetConfig(path=str(tmp_path / "d.jsonl"), preset=preset))
        return str(caught.value).removeprefix(f"{tmp_path}/d.jsonl:1: ")

    assert fault("gsm8k", answer="72") == "answer has to be a solution with its final answer after ####, and is '72'"
    assert fault("gsm8k", answer="a\n####") == (
        r"answer has to be a solution with its final answer after ####, and is 'a\n####'"
    )
    assert fault("math", solution="1/8") == (
        r"solution has to be a solution with its final answer in \boxed{}, and is '1/8'"
    )
    assert fault("svamp", Answer="many") == "Answer has to be a number, and is 'many'"
    assert fault("svamp", Body=None) == "Body has to be a text, and is None"
    assert fault("aime", answer=2.5) == "answer has to be an integer, and is 2.5"
    assert fault("amc", answer=True) == "answer has to be an integer, and is True"
    assert fault("aqua", correct="F") == "correct has to be a letter from A to E, and is 'F'"
    assert fault("aqua", options=[]) == "options has to be a list of texts, and is []"
    assert fault("asdiv", answer=9) == "answer has to be a text, and is 9"
    assert fault("olympiadbench", final_answer="2") == "final_answer has to be a list of answers, and is '2'"
    assert fault("olympiadbench", final_answer=[]) == "final_answer has to be a list of answers, and is []"


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"\boxed{1} or \boxed{\left\{ x : \frac{x}{2} \right.}", r"\left\{ x : \frac{x}{2} \right."),
        (r"so $x = \boxed 5$.", "5"),
        (r"\fbox{ 7 }", "7"),
        (r"\boxed{\frac{1}{2}", ""),
        (r"\boxedtext{1}", ""),
        (None, ""),
    ],
)
def test_the_last_box_is_the_answer(solution: Any, answer: str) -> None:
    assert presets.boxed(solution) == answer


@pytest.mark.parametrize(
    ("value", "digits"),
    [(145.0, "145"), (39, "39"), ("-007", "-7"), ("2.50", "2.5"), ("100", "100"), (0.0, "0"), ("1e3", ""), ("½", "")],
)
def test_numbers_lose_their_empty_zeros_and_nothing_else(value: Any, digits: str) -> None:
    assert presets.number(value) == digits


@pytest.mark.parametrize(
    ("value", "answer"),
    [("9 (apples)", "9"), ("14  (seats)", "14"), ("-(1/3)", "-(1/3)"), ("5:6", "5:6"), ("9.5 (square cm)", "9.5")],
)
def test_a_unit_in_brackets_is_taken_off(value: str, answer: str) -> None:
    assert presets.without_unit(value) == answer


def test_each_preset_fits_its_own_columns() -> None:
    assert list(PRESETS) == list(get_args(PresetName)) == list(EXPECTED)
    for preset in PRESETS:
        assert preset in fitting(json.loads((DATA / f"{preset}.jsonl").read_text().splitlines()[0]))
    assert fitting({"text": "", "label": ""}) == []
