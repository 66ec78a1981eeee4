"""The labelled set: the file is what the builder makes, and each mutation labels what it changed."""

import json
import random
from collections import Counter
from fractions import Fraction

import pytest

from data_gen.answers import parse_chain
from gold.build import CHAINS, SOLUTIONS, build
from gold.mutations import MUTATIONS, Chain, read, value

QUESTION = "Natalia sold clips to 48 of her friends, and half as many in May. How many did she sell, at 5 cents each?"
ANSWER = """\
Natalia sold 48 / 2 = <<48/2=24>>24 clips in May.
We add both months.
She sold 48 clips + 24 clips = <<48+24=72>>72 clips.
She earned 72 * 5 = <<72*5=360>>360 cents.
#### 360"""
LINES = (
    "Natalia sold 48 / 2 = 24 clips in May.",
    "We add both months.",
    "She sold 48 clips + 24 clips = 72 clips.",
    "She earned 72 * 5 = 360 cents.",
)


def drawn(kind: str, answer: str = ANSWER, question: str = QUESTION, draws: int = 40) -> list[Chain | None]:
    solution = read(question, answer)
    assert solution is not None
    return [MUTATIONS[kind](solution, random.Random(draw)) for draw in range(draws)]


def test_file_is_what_the_builder_makes() -> None:
    rows = build(json.loads(line) for line in SOLUTIONS.read_text().splitlines())
    assert CHAINS.read_text() == "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert Counter(row["kind"] for row in rows) == {
        "none": 55,
        "number": 55,
        "operator": 54,
        "step": 54,
        "quantity": 54,
        "answer": 54,
    }
    for row in rows:
        chain = parse_chain(row["answer"])
        assert chain is not None
        assert tuple(step["text"] for step in row["gold"]) == chain.texts


def test_unchanged_chain_is_right_where_it_calculates() -> None:
    assert drawn("none", draws=1) == [Chain(LINES, "360", ("verified", None, "verified", "verified", "verified"))]


@pytest.mark.parametrize("kind", ["number", "operator"])
def test_a_changed_calculation_is_false_and_nothing_is_said_of_what_follows(kind: str) -> None:
    first, second, third = set(), set(), set()
    for chain in drawn(kind):
        assert chain is not None
        changed = [index for index in range(4) if chain.lines[index] != LINES[index]]
        assert chain.answer == "360"
        expected = {
            0: ("false", None, None, None, None),
            2: ("verified", None, "false", None, None),
            3: ("verified", None, "verified", "false", None),
        }
        assert len(changed) == 1
        assert chain.labels == expected[changed[0]]
        {0: first, 2: second, 3: third}[changed[0]].add(chain.lines[changed[0]])
    if kind == "operator":
        assert first == {f"Natalia sold 48 {sign} 2 = 24 clips in May." for sign in "+-*"}
        assert second == {f"She sold 48 clips {sign} 24 clips = 72 clips." for sign in "-*/"}
        assert third == {f"She earned 72 {sign} 5 = 360 cents." for sign in "+-/"}
    else:
        assert "Natalia sold 48 / 3 = 24 clips in May." in first


def test_a_change_that_leaves_the_calculation_right_or_rounded_is_drawn_again() -> None:
    for chain in drawn("operator", "It is 2 * 2 = <<2*2=4>>4.\n#### 4"):
        assert chain is not None
        assert chain.lines[0] in ("It is 2 - 2 = 4.", "It is 2 / 2 = 4.")
    for chain in drawn("number", "It is 42 / 14 = <<42/14=3>>3.\n#### 3"):
        assert chain is not None
        over, under, result = map(
            int, chain.lines[0].replace("It is ", "").replace(".", "").replace("=", "/").split("/")
        )
        assert abs(Fraction(over, under) - result) >= 1


def test_a_step_is_left_out_that_a_later_one_needs() -> None:
    without_first = Chain(LINES[1:], "360", (None, "error", None, None))
    without_third = Chain((*LINES[:2], LINES[3]), "360", ("verified", None, "error", None))
    assert set(drawn("step")) == {without_first, without_third}


def test_no_step_is_left_out_whose_number_is_said_elsewhere() -> None:
    assert drawn("step", question=f"{QUESTION} May had 24, and both 72.", draws=1) == [None]
    assert drawn("step", question=f"{QUESTION} She sells by the dozen.", draws=1) == [None]


def test_wrong_quantity_is_calculated_rightly_and_answered() -> None:
    labels = ("verified", None, "verified", None, "false")
    assert set(drawn("quantity")) == {
        Chain((*LINES[:3], "She earned 72 * 48 = 3456 cents."), "3456", labels),
        Chain((*LINES[:3], "She earned 48 * 5 = 240 cents."), "240", labels),
    }


def test_another_answer_contradicts_the_steps() -> None:
    for chain in drawn("answer"):
        assert chain is not None
        assert (chain.lines, chain.labels) == (LINES, ("verified", None, "verified", "verified", "false"))
        assert chain.answer != "360"
        assert abs(int(chain.answer) - 360) <= 10


@pytest.mark.parametrize(
    "answer",
    [
        "A third is 10 / 3 = <<10/3=3.33>>3.33.\n#### 3.33",  # rounded
        "It is 25% of 8 = <<25%*8=2>>2.\n#### 2",  # not read
        "It is 3 * 5 = <<3*5=15>>15.\n#### 16",
        "We add them up.\n#### 16",
    ],
)
def test_solutions_that_are_not_surely_right_are_left_out(answer: str) -> None:
    assert read(QUESTION, answer) is None


def test_a_calculation_is_changed_only_where_prose_and_annotation_agree() -> None:
    answer = "It is 25% * 8 = <<.25*8=2>>2, or (1 + 1) * 1 = $<<(1+1)*1=2>>2.\n#### 2"
    solution = read(QUESTION, answer)
    assert solution is not None
    line = solution.lines[0]
    assert [(line[site.formula], line[site.result]) for site in solution.sites] == [("(1 + 1) * 1", "2")]


@pytest.mark.parametrize(
    ("formula", "exact"),
    [
        ("1,000 + .5 * 2", Fraction(1001)),
        ("-(3 - 5) / 4", Fraction(1, 2)),
        ("1 / 0", None),
        ("2 ** 3", None),
        ("a", None),
    ],
)
def test_value_of_a_formula(formula: str, exact: Fraction | None) -> None:
    assert value(formula) == exact
