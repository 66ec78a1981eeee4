"""The rewriter's contract, with its function in the real sandbox."""

import pytest

from rltpf.selection.fill import Fill, FillError, fill
from rltpf.selection.statement import read_statement

TUPLE = read_statement("theorem t (p q r : ℤ) (h : p + q = 37) : p = 6 ∧ q = 31 ∧ r = -1 := by sorry")
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
    ],
)
def test_a_text_that_leaves_its_slot_is_none(text: str) -> None:
    code = (
        f"def fill_answer(answer):\n    return {BLOCK!r} if '31' in answer else {{'1': 'p = 1', '2': {text!r}}}[answer]"
    )
    found = fill(TUPLE, "(6, 31, -1)", Fill(original_local_block=BLOCK, fill_answer_code=code), ["1", "2", "3"])
    assert found == ["theorem t (p q r : ℤ) (h : p + q = 37) : p = 1", None, None]
