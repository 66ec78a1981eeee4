import time

import pytest

from eval.equivalence import MathVerifier


@pytest.mark.slow
def test_math_verify_compares_values_and_never_hangs() -> None:
    """One process for all of it, since a start takes seconds."""
    with MathVerifier(timeout=3.0) as verifier:
        assert verifier.same("18", "18.00") is True
        assert verifier.same("\\sqrt{8}", "2\\sqrt{2}") is True
        assert verifier.same("x+1", "1+x") is True
        assert verifier.same("18", "-18") is False
        started = time.monotonic()
        assert verifier.same("18", "9^{9^{9^9}}") is None
        assert time.monotonic() - started < 10
        assert verifier.same("1/2", "0.5") is True


EQUAL = [
    ("2\\pi r", "2r\\pi"), ("\\sin x", "\\sin(x)"), ("\\frac{1}{2}x", "\\frac{x}{2}"), ("[-2,7]", "x \\in [-2,7]"),
    ("\\begin{pmatrix} -1/3 \\\\ 2/3 \\end{pmatrix}", "\\begin{pmatrix}-\\frac13\\\\ \\frac23\\end{pmatrix}"),
    ("52_8", "52_{8}"), ("52_8", "52"), ("255", "255_{10}"), ("1500", "1.5 x 10^3"), ("11,\\!111", "11,\\! 111"),
    ("5x - 7y + 11z + 4 = 0", "5x-7y+11z=-4"), ("y = 2x + 3", "2x+3"), ("x=3,y=4", "y=4,x=3"), ("16", "016"),
    ("2,-2", "\\pm 2"), ("\\text{(C)}", "C"), ("3 \\text{ hours}", "3"), ("\\frac{3}{4}", "\\dfrac34"),
]  # fmt: skip
UNEQUAL = [
    ("12", "1 2"), ("12", "1\\,2"), ("34", "3\\text{ }4"), ("52_8", "52_9"), ("17", "17_8"), ("3", "\\geq 3"),
    ("3", "\\neq 3"), ("\\frac{1}{2x}", "\\frac{1}{2}x"), ("5", "5\\text{ feet }3\\text{ inches}"),
    ("x\\geq 3", "x\\leq 3"), ("5x - 7y + 11z + 4 = 0", "5x + 7y + 11z + 4 = 0"), ("5x - 7y + 11z + 4 = 0", "0"),
    ("x=5", "y=5"), ("x+y=3", "x-y=3"), ("4", "x=3,y=4"), ("x=3,y=4", "x=4,y=3"),
    ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\begin{pmatrix}2\\\\1\\end{pmatrix}"),
    ("\\sqrt{2}", "1.41421356"), ("1/3", "0.3333333333"), ("0.5", "50\\%"), ("[1,2]", "(1,2)"), ("(2,3)", "(3,2)"),
    ("\\infty", "-\\infty"), ("6 - 5i", "6+5i"), ("3", "3,4"), ("1500", "1.500"), ("2^{10}", "210"), ("5", "5x"),
]  # fmt: skip


@pytest.mark.slow
def test_answers_of_many_styles_are_equal_where_they_are() -> None:
    with MathVerifier() as verifier:
        assert [pair for pair in EQUAL if not verifier.equal(*pair)] == []
        assert [pair for pair in UNEQUAL if verifier.equal(*pair) is not False] == []
