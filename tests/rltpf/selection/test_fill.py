"""The rewriter's contract, with its function in the real sandbox."""

import pytest

from rltpf.selection.fill import Fill, FillError, fill
from rltpf.selection.statement import read_statement

TUPLE = read_statement("theorem t (p q r : ℤ) (h : p + q = 37) : p = 6 ∧ q = 31 ∧ r = -1 := by sorry")
ONES = "p = 1 ∧ q = 1 ∧ r = 1"
BLOCK = "p = 6 ∧ q = 31 ∧ r = -1"
CODE = """
def fill_answer(answer: str) -> str:
    names = ["p", "q", "r"]
    parts = [part.strip() for part in answer.strip("()").split(",")]
    if len(parts) != 3:
        raise ValueError("three parts")
    return " ∧ ".join(f"{name} = {part}" for name, part in zip(names, parts))
"""


def test_a_function_writes_the_statement_for_every_candidate() -> None:
    found = fill(
        TUPLE, "(6, 31, -1)", Fill(original_local_block=BLOCK, fill_answer_code=CODE), ["(-6, -31, 1)", "5", "(1,2,3)"]
    )
    assert found == [
        "theorem t (p q r : ℤ) (h : p + q = 37) : p = -6 ∧ q = -31 ∧ r = 1",
        None,
        "theorem t (p q r : ℤ) (h : p + q = 37) : p = 1 ∧ q = 2 ∧ r = 3",
    ]


@pytest.mark.parametrize(
    ("block", "code", "fault"),
    [
        ("", CODE, "the block is empty"),
        ("p = 7", CODE, "occurs 0 times"),
        (" = ", CODE, "occurs 4 times"),
        ("p + q = 37", CODE, "out of the goal"),
        ("(h : p + q = 37) : p = 6", CODE, "out of the goal"),
        ("= 3", CODE, "occurs 2 times"),
        ("∧ q = 3", CODE, "within a word"),
        (BLOCK, "def fill_answer(answer):\n    return 'p = 6'", "for the base answer"),
        (BLOCK, f"def fill_answer(answer):\n    return {BLOCK!r}", "same text for different answers"),
        (BLOCK, "import os\ndef fill_answer(answer):\n    return os.getcwd()", "the function failed: gate"),
        (BLOCK, "def fill_answer(answer):\n    while True:\n        pass", "the function failed: timeout"),
        (BLOCK, "def other(answer):\n    return answer", "for the base answer"),
        (BLOCK, "def fill_answer(answer)\n    return answer", "the function failed: syntax"),
    ],
)
def test_replies_that_break_the_contract(block: str, code: str, fault: str) -> None:
    with pytest.raises(FillError, match=fault):
        fill(TUPLE, "(6, 31, -1)", Fill(original_local_block=block, fill_answer_code=code), ["(-6, -31, 1)", "(1,2,3)"])


@pytest.mark.parametrize(
    "text",
    [
        "p = 1 := by sorry\ntheorem u : 1 = 1",
        "p = 1 := rfl",
        "p = 1\ntheorem u : 2 = 2",
        "p = 1 := by sorry",
        "",
        "  ",
        "x" * 3000,
        # Weaker than the block, another claim, or true whatever the answer is.
        "p = 2",
        "p = 2 ∧ q = 2 ∨ r = 2",
        "p = 2 ∧ q = 2 ∧ r = 2 ∨ True",
        "p = 2 ∧ q = 2 ∧ r ≤ 2",
        "p = 2 ∧ q = 2 ∧ 2 = 2",
        "p = p + q - q ∧ q = 2 ∧ r = 2",
        "p = p + 0 ∧ q = 2 ∧ r = 2",
        "False → p = 2 ∧ q = 2 ∧ r = 2",
        "True",
    ],
)
def test_a_text_that_leaves_its_slot_is_none(text: str) -> None:
    texts = {"1": ONES, "2": text}
    code = f"def fill_answer(answer):\n    return {BLOCK!r} if '31' in answer else {texts!r}[answer]"
    found = fill(TUPLE, "(6, 31, -1)", Fill(original_local_block=BLOCK, fill_answer_code=code), ["1", "2", "3"])
    assert found == [f"theorem t (p q r : ℤ) (h : p + q = 37) : {ONES}", None, None]


@pytest.mark.parametrize(
    ("goal", "block", "text", "fault"),
    [
        # 5 for each 3: another problem, and true; the right answer, 7, would be refuted.
        ("x + 3 = 10 → x = 3", "x + 3 = 10 → x = 3", "x + {} = 10 → x = {}", "what the goal gives"),
        ("x + 3 = 10 → x = 4", "x + 3", "x + {}", "what the goal gives"),
        ("∀ (y : ℤ) (h : |y| = 3), y = x", "|y| = 3", "|y| = {}", "what the goal gives"),
        ("f 3 = 3", "f 3 = 3", "f {} = {}", "both sides"),
        ("f x = 3", "= 3", "= {} + (x - x)", "the variable x"),
        ("3 + 3 + 3 = x", "3 + 3", "3 + {}", "occurs 2 times"),
    ],
)
def test_an_edit_is_of_the_answer_alone(goal: str, block: str, text: str, fault: str) -> None:
    statement = read_statement(f"theorem t (x : ℤ) (f : ℤ → ℤ) : {goal} := by sorry")
    code = f"def fill_answer(answer):\n    return {text!r}.replace('{{}}', answer).replace('3 + (x - x)', '3')"
    with pytest.raises(FillError, match=fault):
        fill(statement, "3", Fill(original_local_block=block, fill_answer_code=code), ["5", "7"])


@pytest.mark.parametrize(
    ("goal", "block", "code", "candidates", "goals"),
    [
        # Intervals, sets with conditions, functions: another answer, and nothing else.
        (
            "S = Set.Icc 0 3",
            "Set.Icc 0 3",
            "kind = 'Set.I' + 'oc'[answer[0] == '['] + 'oc'[answer[-1] == ']']\n"
            "    return ' '.join([kind, *answer[1:-1].split(',')])",
            ["(0,3)", "[1,2)"],
            ["S = Set.Ioo 0 3", "S = Set.Ico 1 2"],
        ),
        (
            "S = {x : ℤ | 0 < x ∧ x < 3}",
            "0 < x ∧ x < 3",
            "ends = answer[1:-1].split(',')\n    strict = ['≤<'[answer[0] == '('], '≤<'[answer[-1] == ')']]\n"
            "    return f'{ends[0]} {strict[0]} x ∧ x {strict[1]} {ends[1]}'",
            ["[0,3)"],
            ["S = {x : ℤ | 0 ≤ x ∧ x < 3}"],
        ),
        ("f = fun n => 3 * n", "3 * n", "return answer.replace('n', ' * n')", ["5n"], ["f = fun n => 5 * n"]),
        # One function is wrong for an answer, and of use for another.
        ("k = 3", "3", "return answer.strip('-')", ["-3", "5"], [None, "k = 5"]),
    ],
)
def test_edits_of_other_answers(
    goal: str, block: str, code: str, candidates: list[str], goals: list[str | None]
) -> None:
    statement = read_statement(f"theorem t : {goal} := by sorry")
    answer = {"S": "[0,3]", "f": "3n", "k": "3"}[goal[0]] if "{" not in goal else "(0,3)"
    reply = Fill(original_local_block=block, fill_answer_code=f"def fill_answer(answer):\n    {code}")
    found = fill(statement, answer, reply, candidates)
    assert [text and text.removeprefix("theorem t : ") for text in found] == goals


def test_what_depends_on_the_calls_before_is_no_function() -> None:
    code = "calls = []\ndef fill_answer(answer):\n    calls.append(answer)\n    return f'p = {5 + len(calls)}'"
    with pytest.raises(FillError, match="another text each time"):
        fill(TUPLE, "(6, 31, -1)", Fill(original_local_block="p = 6", fill_answer_code=code), ["(1,2,3)", "(4,5,6)"])


@pytest.mark.parametrize(
    ("candidates", "goals"),
    [
        # All of one kind: the function need not read it.
        (["[1,2]", "[-1,2]"], ["S = Icc 1 2", "S = Icc -1 2"]),
        (["(1,2]", "[1,2]"], [None, None]),
        (["(1,2]", "[4,5]"], [None, None]),
    ],
)
def test_brackets_are_part_of_an_answer_where_they_vary(candidates: list[str], goals: list[str | None]) -> None:
    statement = read_statement("theorem t : S = Icc 0 3 := by sorry")
    code = "def fill_answer(answer):\n    return 'Icc ' + answer[1:-1].replace(',', ' ')"
    reply = Fill(original_local_block="Icc 0 3", fill_answer_code=code)
    if not any(goals):
        with pytest.raises(FillError, match="same text for"):
            fill(statement, "[0,3]", reply, candidates)
    else:
        found = fill(statement, "[0,3]", reply, candidates)
        assert [text and text.removeprefix("theorem t : ") for text in found] == goals
