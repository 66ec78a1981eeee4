"""VarBench: new numbers with the function's answer, and each of its failures with its own code."""

from typing import Any

import pytest

from eval.baselines.varbench import DRAWS, Template, VarBenchError, resample

QUESTION = "Tom has 1,200 stamps and gives 5 to each of 4 friends. How many are left?"
TEMPLATE = "Tom has [[stamps]] stamps and gives [[each]] to each of [[friends]] friends. How many are left?"
FUNCTION = "def solution(stamps, each, friends):\n    return stamps - each * friends\n"


def variable(name: str, value: int, low: int, high: int) -> dict[str, Any]:
    return {"name": name, "value": value, "low": low, "high": high}


VARIABLES = [variable("stamps", 1200, 1000, 1200), variable("each", 5, 2, 9), variable("friends", 4, 2, 9)]


def made(question: str = QUESTION, answer: str = "1180", **changed: Any) -> tuple[str, str]:
    reply = {"template": TEMPLATE, "variables": VARIABLES, "function": FUNCTION, **changed}
    return resample(question, answer, Template.model_validate(reply), "seed", lambda one, other: one == other)


def reason(**changed: Any) -> str:
    with pytest.raises(VarBenchError) as caught:
        made(**changed)
    return caught.value.reason


def test_new_numbers_come_with_the_functions_answer() -> None:
    question, answer = made()
    stamps, each, friends = (int(word) for word in question.split() if word.isdigit())
    assert question == f"Tom has {stamps} stamps and gives {each} to each of {friends} friends. How many are left?"
    assert 1000 <= stamps <= 1200
    assert {each, friends} <= set(range(2, 10))
    assert answer == str(stamps - each * friends)
    assert made() == (question, answer)


# x = 2 may become 3 alone, so what comes out is known.
ONE = {"question": "Take 2.", "template": "Take [[x]].", "variables": [variable("x", 2, 2, 3)]}


@pytest.mark.parametrize(
    ("output", "first", "second"),
    [
        ("x * 5", "10", "15"),
        ("Fraction(1, x)", "1/2", "1/3"),
        ("x / 10 + 0.1", "0.3", "0.4"),
        ("x * 1.0", "2", "3"),
        ("f'{x} miles'", "2 miles", "3 miles"),
        ("-x", "-2", "-3"),
    ],
)
def test_outputs_are_written_as_answers_are(output: str, first: str, second: str) -> None:
    function = f"from fractions import Fraction\ndef solution(x):\n    return {output}\n"
    assert made(answer=first, function=function, **ONE) == ("Take 3.", second)


@pytest.mark.parametrize(
    "body",
    [
        "return x + y",  # example 9
        "import math\n    return math.sqrt(-1)",  # example 9
        "import os\n    return os.getpid()",
        "while True: pass",
        "return",
        "return True",
        "return [x]",
        "return 'long' * 1000",
        "return x +",
        "return 1 // (3 - x) if x == 3 else 10",
    ],
)
def test_a_program_that_does_not_run_is_an_invalid_one(body: str) -> None:
    assert reason(answer="10", function=f"def solution(x):\n    {body}\n", **ONE) == "invalid_program"


def test_a_function_that_takes_the_place_of_ours_is_no_program() -> None:
    function = f"def solution(x):\n    return 10\nsolve_all = lambda draws: [['10', '']] * {DRAWS + 2}\n"
    assert made(answer="10", function=function, **ONE) == ("Take 3.", "10")
    assert reason(answer="10", function="def solution(x, y):\n    return 10\n", **ONE) == "invalid_program"


def test_an_output_that_is_not_the_problems_answer_is_wrong() -> None:
    """Example 10: 4 * 2 where 10 is expected."""
    one = {"question": "Take 4.", "template": "Take [[x]].", "variables": [variable("x", 4, 3, 4)]}
    assert reason(answer="10", function="def solution(x):\n    return x * 2\n", **one) == "wrong_output"


@pytest.mark.parametrize("output", ["5 - 2 * x", "Fraction(2, x)", "'none' if x == 3 else 1"])
def test_an_answer_of_another_type_breaks_what_the_problem_takes_for_granted(output: str) -> None:
    function = f"from fractions import Fraction\ndef solution(x):\n    return {output}\n"
    assert reason(answer="1", function=function, **ONE) == "constraint_violation"


@pytest.mark.parametrize(
    "changed",
    [
        {"template": TEMPLATE.replace("[[each]]", "5")},
        {"template": TEMPLATE.replace("[[each]]", "[[eech]]")},
        {"template": TEMPLATE.replace("Tom", "Tim")},
        {"template": TEMPLATE.replace("[[each]]", "[[friends]]")},
        {"variables": [*VARIABLES, VARIABLES[0]]},
        {"variables": [variable("stamps", 1201, 1000, 1200), *VARIABLES[1:]]},
        {"variables": [variable("stamps", 1300, 1000, 1300), *VARIABLES[1:]]},
        {"variables": [variable(v["name"], v["value"], v["value"], v["value"]) for v in VARIABLES]},
    ],
    ids=["no slot", "no variable", "text", "slot twice", "variable twice", "bounds", "other number", "fixed"],
)
def test_a_template_that_is_not_the_problem_is_invalid(changed: dict[str, Any]) -> None:
    assert reason(**changed) == "invalid_template"
