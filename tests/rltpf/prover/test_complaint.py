"""Complaints for repair prompts: what they keep, what they cut, and that no text or report breaks or lengthens them."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.prover.complaint import MAX_CHARACTERS, MESSAGE_CHARACTERS, complaint
from rltpf.prover.prover import Prover
from rltpf.prover.report import LeanMessage, Report

TEXT = "theorem t\n    (a b : Rat)\n    (h : a = 2) :\n    b = c\n    := by\n  grind"


def error(line: int, column: int, text: str = "wrong") -> LeanMessage:
    return LeanMessage("error", line, column, text)


def rejected(*messages: LeanMessage, detail: str = "the submission does not elaborate") -> Report:
    return Report("rejected", "elaboration_error", detail, messages)


def test_an_error_comes_with_its_place_its_goal_and_four_lines() -> None:
    message = error(4, 8, "unsolved goals\na b : Rat\nh : a = 2\n⊢ b = 2\n")
    assert complaint(TEXT, rejected(message)) == (
        "4:8: error: unsolved goals\n"
        "a b : Rat\n"
        "h : a = 2\n"
        "⊢ b = 2\n"
        "  2 |     (a b : Rat)\n"
        "  3 |     (h : a = 2) :\n"
        "> 4 |     b = c\n"
        "  5 |     := by"
    )


def test_the_numbers_of_lines_are_aligned() -> None:
    text = "\n".join("abcdefghijkl")
    assert complaint(text, rejected(error(9, 0))) == "9:0: error: wrong\n   7 | g\n   8 | h\n>  9 | i\n  10 | j"


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (0, -1, "1:0: error: wrong\n> 1 | ab\n  2 | c"),
        (-7, 99, "1:2: error: wrong\n> 1 | ab\n  2 | c"),
        (3, 0, "2:0: error: wrong\n  1 | ab\n> 2 | c"),
        (10**30, 10**30, "2:1: error: wrong\n  1 | ab\n> 2 | c"),
    ],
)
def test_a_place_outside_the_text_is_moved_to_its_nearest_end(line: int, column: int, expected: str) -> None:
    assert complaint("ab\nc", rejected(error(line, column))) == expected


def test_an_empty_text_has_one_line() -> None:
    assert complaint("", rejected(error(1, 0))) == "1:0: error: wrong\n> 1 | "


def test_lines_end_where_lean_ends_them() -> None:
    text = "a\x0bb\u2028c\x85d\ne\rf"
    assert complaint(text, rejected(error(2, 0))) == "2:0: error: wrong\n  1 | a\x0bb\u2028c\x85d\n> 2 | e\rf"


def test_only_errors_count_and_each_once() -> None:
    messages = (LeanMessage("warning", 1, 0, "w"), error(1, 0, "e"), LeanMessage("info", 1, 0, "i"), error(1, 0, "e"))
    assert complaint("x", rejected(*messages)) == "1:0: error: e\n> 1 | x"


def test_eight_errors_are_shown_and_the_others_counted() -> None:
    shown = "\n\n".join(f"1:0: error: e{n}\n> 1 | x" for n in range(8))
    errors = [error(1, 0, f"e{n}") for n in range(11)]
    assert complaint("x", rejected(*errors[:8])) == shown
    assert complaint("x", rejected(*errors)) == f"{shown}\n\nMore errors: 3."


def test_without_errors_the_detail_or_else_a_sentence() -> None:
    warning = LeanMessage("warning", 1, 0, "unused variable")
    assert complaint("x", rejected(warning, detail="`sorry` leaves something unproved")) == (
        "`sorry` leaves something unproved"
    )
    assert complaint("x", rejected(warning, detail="")) == (
        "Lean found neither a proof of the claim nor one of its negation."
    )
    assert complaint("x", rejected(detail="d" * 5000)) == "d" * 999 + "…"


def test_a_long_message_loses_its_end() -> None:
    assert complaint("x", rejected(error(1, 0, "m" * 1000))) == f"1:0: error: {'m' * 1000}\n> 1 | x"
    assert complaint("x", rejected(error(1, 0, "m" * 1001))) == f"1:0: error: {'m' * 999}…\n> 1 | x"


@pytest.mark.parametrize(
    ("before", "goal", "expected"),
    [
        # 1000 characters, one of them the end of a line: what comes before the goal has what the goal leaves.
        ("h" * 2000, "⊢ b = 2", f"{'h' * 991}…\n⊢ b = 2"),
        ("h" * 2000, "⊢ " + "g" * 2000, f"{'h' * 498}…\n⊢ {'g' * 497}…"),
        ("a : Rat", "⊢ " + "g" * 2000, f"a : Rat\n⊢ {'g' * 989}…"),
    ],
)
def test_a_long_message_keeps_its_goal(before: str, goal: str, expected: str) -> None:
    assert len(expected) == MESSAGE_CHARACTERS
    assert complaint("x", rejected(error(1, 0, f"{before}\n{goal}"))) == f"1:0: error: {expected}\n> 1 | x"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (0, "a" * 160 + "…"),
        (80, "a" * 160 + "…"),
        (200, "…" + "a" * 80 + "b" * 80 + "…"),
        (400, "…" + "b" * 160),
    ],
)
def test_a_long_line_is_cut_around_the_place(column: int, expected: str) -> None:
    text = "a" * 200 + "b" * 200 + "\n" + "c" * 161
    assert complaint(text, rejected(error(1, column))) == (
        f"1:{column}: error: wrong\n> 1 | {expected}\n  2 | {'c' * 160}…"
    )


def test_the_longest_complaint() -> None:
    """A text of a million lines with long ones in the middle, and a thousand errors there with long messages."""
    text = "\n" * 500_000 + "\n".join(["x" * 1000] * 4) + "\n" * 499_996
    errors = [error(500_003, 500 + n % 100, f"{n}{'m' * 4000}\n⊢ {'g' * 4000}") for n in range(1000)]
    # `500003:500: error: ` and the message, then four lines: end of line, mark, number, ` | `, and 160 characters
    # between `…` at the right, at the faulty line also at the left.
    one = 19 + 1000 + 4 * (1 + 2 + 6 + 3 + 161) + 1
    assert len(complaint(text, rejected(*errors))) == 8 * one + 8 * len("\n\n") + len("More errors: 992.") == 13_729
    assert MAX_CHARACTERS == 14_000


MESSAGES = st.builds(
    LeanMessage,
    st.sampled_from(["error", "warning", "info"]),
    st.integers(),
    st.integers(),
    st.text() | st.text().map(lambda part: f"{part * 200}\n⊢ {part * 300}"),
)


@given(st.text() | st.text().map(lambda part: part * 100), st.lists(MESSAGES, max_size=12), st.text())
def test_of_any_text_and_report(text: str, messages: list[LeanMessage], detail: str) -> None:
    """No exception, no more than the bound, and as many places and goals as are to be shown."""
    found = complaint(text, rejected(*messages, detail=detail))
    assert 0 < len(found) <= MAX_CHARACTERS
    errors = list(dict.fromkeys(message for message in messages if message.severity == "error"))[:8]
    assert found.count(": error: ") >= len(errors)
    assert found.count("⊢") >= sum("⊢" in message.text for message in errors)


@pytest.mark.lean
def test_of_lean(prover: Prover) -> None:
    statement = "theorem t (a b : Rat)\n    (h : a = 2) :\n    b = 2"
    text = f"{statement} := by\n  subst_vars\n  rw [h]\n  rfl"
    assert (
        complaint(text, asyncio.run(prover.check(statement, text)))
        == """\
5:6: error: Unknown identifier `h`
  3 |     b = 2 := by
  4 |   subst_vars
> 5 |   rw [h]
  6 |   rfl

3:13: error: unsolved goals
b : Rat
⊢ b = 2
  1 | theorem t (a b : Rat)
  2 |     (h : a = 2) :
> 3 |     b = 2 := by
  4 |   subst_vars"""
    )
