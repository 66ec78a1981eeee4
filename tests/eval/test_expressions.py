"""Answers as Lean terms: what is read, how, and what is left alone."""

import pytest

from eval.expressions import Expression, read

X = {"v_x": "Rat"}


@pytest.mark.parametrize(
    ("answer", "term", "variables"),
    [
        ("18", "(18 / 1)", {}),
        ("$1,234.50", "(2469 / 2)", {}),
        ("-\\frac{3}{4}", "(-3 / 4)", {}),
        ("2\\frac{1}{2}", "(5 / 2)", {}),
        ("18 dollars", "(18 / 1)", {}),
        ("2^{10}", "((2 / 1) ^ 10)", {}),
        ("-3^2", "(-((3 / 1) ^ 2))", {}),
        ("1 - 2 - 3", "(((1 / 1) - (2 / 1)) - (3 / 1))", {}),
        ("2x", "((2 / 1) * v_x)", X),
        ("(x+1)(x-1)", "((v_x + (1 / 1)) * (v_x - (1 / 1)))", X),
        ("\\frac{x}{2}", "(v_x / (2 / 1))", X),
        ("12\\pi", "((12 / 1) * v_pi)", {"v_pi": "Rat"}),
        ("2\\sqrt{3}", "((2 / 1) * (root (3 / 1)))", {"root": "Rat → Rat"}),
        ("\\frac{2}{3}^2", "(((2 / 1) / (3 / 1)) ^ 2)", {}),
        ("6 \\div \\frac{2}{3}", "((6 / 1) / ((2 / 1) / (3 / 1)))", {}),
        ("\\frac12x", "(((1 / 1) / (2 / 1)) * v_x)", X),
        ("3 \\cdot x \\div 4", "(((3 / 1) * v_x) / (4 / 1))", X),
    ],
)
def test_read(answer: str, term: str, variables: dict[str, str]) -> None:
    assert read(answer) == Expression(term, variables)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no",
        "xy",
        "x y",
        "f(x)",
        "x2",
        "2 3",
        "x + 3\\frac{1}{2}",
        "1/2x",
        "(1, 2)",
        "(1,234)",
        "[0, 1)",
        "\\{1, 2\\}",
        "y = 2x",
        "5!",
        "x^{-1}",
        "x^y",
        "2^3^4",
        "\\sqrt[3]{8}",
        "0.\\overline{3}",
        "x <= 2",
        "2 +",
        "(2 + x",
        "\\infty",
        "9^{9999}",
        "((9^{99})^{99})^{99}",
        # Lean's `x / 0` is 0.
        "x/0",
        "1/(2-2)",
        "1/(x-x)",
        "\\frac{1}{(x+1)^2-x^2-2x-1}",
        "(" * 30 + "x" + ")" * 30,
    ],
)
def test_left_alone(answer: str) -> None:
    assert read(answer) is None
