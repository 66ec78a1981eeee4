"""Ranked lists and candidates as terms; the golds are real ones, which a released parser damages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.selection.candidates import ranked, term, units_differ, value_of, values_of, without_repeats

# Of FormalMath500: the golds that begin with `-`, and those with digits before a sign that numbers a list.
GOLDS = [
    "-\\sqrt{3}", "-41", "-2 + 7i", "-\\frac{\\pi}{6}", "-4", "-3", "-1", "-2", "-120", "-128", "-\\frac{35}{9}",
    "-13x+3", "-256", "-5", "-50", "-\\frac{3}{8}", "-2,1", "1.25", "4.5", "326.5", "0.15", "3.21", "1 - 12i",
]  # fmt: skip


@pytest.mark.parametrize("gold", GOLDS)
def test_a_gold_goes_through_a_list_as_it_is(gold: str) -> None:
    assert ranked(gold, 8) == [gold]
    assert ranked(f"{gold}\n1000", 8) == [gold, "1000"]
    assert ranked(f"1. {gold}\n2. 1000", 8) == [gold, "1000"]


def test_all_golds_together() -> None:
    assert ranked("\n".join(GOLDS), 100) == GOLDS


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("-3\n-4", ["-3", "-4"]),
        ("3.5\n4.5", ["3.5", "4.5"]),
        ("1.5\n2.5", ["1.5", "2.5"]),
        ("2 - x", ["2 - x"]),
        ("1:2\n2:3", ["1:2", "2:3"]),
        ("1) 3\n2. 4", ["3", "4"]),
        ("1. 3\n3. 4", ["1. 3", "3. 4"]),
        ("- 3\n- -4", ["3", "-4"]),
        ("- 3", ["- 3"]),
        ("* 3\n- 4", ["* 3", "- 4"]),
        ("3\n3\n4", ["3", "4"]),
        ("1/2\n0.5\n\\frac{1}{2}\n$\\dfrac12$\n2", ["1/2", "2"]),
        ("I think.\n<ranked_answers>\n7\n8\n</ranked_answers>\nDone.", ["7", "8"]),
        ("Some words.\n### RANKED ANSWERS\n5\n6", ["5", "6"]),
        ("<ranked_answers>\n```\n5\n6\n```\n</ranked_answers>", ["5", "6"]),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9", ["1", "2", "3", "4", "5", "6", "7", "8"]),
        ("<think>\n1. 4\n<ranked_answers>\n9\n</ranked_answers></think>\n5\n6", ["5", "6"]),
        ("1: 2", ["1: 2"]),
        ("1: 5\n2: 6", ["5", "6"]),
        ("", []),
    ],
)
def test_lists(reply: str, answers: list[str]) -> None:
    assert ranked(reply, 8) == answers


@pytest.mark.parametrize(
    ("candidate", "lean"),
    [
        ("3", "3"),
        ("-3", "-3"),
        (".5", "0.5"),
        ("1/2", "1/2"),
        ("$1,000", "1000"),
        ("\\$18.00", "18.00"),
        ("1000\\text{ cm}^2", "1000"),
        ("90^\\circ", "90"),
        ("\\boxed{7}", "7"),
        ("\\frac{35}{9}", "35 / 9"),
        ("-\\frac{35}{9}", "-(35 / 9)"),
        ("-\\frac{\\pi}{6}", "-(Real.pi / 6)"),
        ("3\\sqrt{13}", "3 * Real.sqrt 13"),
        ("12\\pi", "12 * Real.pi"),
        ("2^{10}", None),
        ("2^10", "2^10"),
        ("2(3)", "2 * (3)"),
        ("2 * -3", "2 * -3"),
        ("3\\pi\\text{ square units}", "3 * Real.pi"),
        ("\\frac{1}{2}\\text{ inches}", "1 / 2"),
        ("1/2 + 2\\sqrt{3}", "1/2 + 2 * Real.sqrt 3"),
        ("\\frac{1}{2}\\frac{1}{3}", "(1 / 2) * (1 / 3)"),
        # A mixed number, and products that may stand above or below the slash.
        *((text, None) for text in ("2\\frac{1}{2}", "3\\frac12", "1/2\\sqrt{3}", "1/2\\pi", "(1/2\\pi)", "2/3 (4)")),
        # Lean may read the exponent as 0.
        *((text, None) for text in ("2^(1/2)", "2^0.5", "4^\\frac12")),
        # Not units, though they stand where one may.
        *(
            (f"3{text}", None)
            for text in ("\\mathrm{i}", "\\mathrm{e}", "\\text{ dozen}", "\\text{ percent}", "\\text{th}")
        ),
        *((text, None) for text in ("5\\text{ or more}", "\\text{cm}", "(3,100)")),
        *((text, None) for text in ("x+1", "2n", "50%", "3!", "1e5", "(3,5)", "[0,2)", "\\{1,2\\}", "-2 + 7i", "2:3")),
        *(
            (text, None)
            for text in ("1/0", "--3", "3-", "2 3", "", "yes", "18 dollars", "-2,1", "3 -- 4", "5 := by", "9)")
        ),
    ],
)
def test_terms(candidate: str, lean: str | None) -> None:
    assert term(candidate) == lean


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1/2", "0.50", True),
        ("-\\frac{35}{9}", "-35/9", True),
        ("2^10", "1024", True),
        ("1,000", "1000", True),
        ("12\\pi", "12 \\pi", True),
        ("3", "-3", False),
        ("(3, 5)", "(3,  5)", True),
        ("12", "1 2", False),
        ("(1, 2)", "(1,2)", True),
        ("\\sin x", "\\sinx", False),
        ("5\\text{ cm}", "5", True),
        ("\\text{Yes}", "\\text{No}", False),
        ("10\\text{ million}", "10\\text{ thousand}", False),
        ("11_\\text{six}", "11_\\text{five}", False),
        ("(3,100)", "(3100)", False),
        ("[1,200]", "[1200]", False),
        ("2\\frac{1}{2}", "1", False),
        ("1" * 501 + "2", "1" * 501 + "3", False),
    ],
)
def test_values(one: str, other: str, same: bool) -> None:
    assert (value_of(one) == value_of(other)) is same


@pytest.mark.parametrize(
    ("candidates", "differ"),
    [
        (["5\\text{ cm}", "6\\text{ cm}", "7"], False),
        (["5\\text{ cm}", "5\\text{ m}"], True),
        (["1\\text{ inch}", "2\\text{ inches}"], False),
        (["1\\text{ hour}", "2 \\mathrm{hours.}"], False),
        (["5\\text{ m}", "5\\text{ m}^2"], True),
        (["90^\\circ", "45°", "1\\text{ degree}"], False),
        (["\\$5", "$6", "7\\text{ dollars}"], False),
        (["\\$5", "500\\text{ cents}"], True),
        (["5", "6"], False),
    ],
)
def test_units(candidates: list[str], differ: bool) -> None:
    assert units_differ(candidates) is differ


def test_where_units_differ_they_are_part_of_the_answer() -> None:
    candidates = ["5\\text{ cm}", "5\\text{ m}", "5.0\\text{ m}"]
    assert without_repeats(candidates) == candidates[:2]
    assert without_repeats(candidates[1:]) == candidates[1:2]
    assert values_of(["5", "5\\text{ m}"]) == ["5", "5"]


@given(st.text(max_size=40))
def test_any_text_is_a_candidate_or_none(text: str) -> None:
    pasted = term(text)
    assert pasted is None or not set(pasted) - set("0123456789.+-*/^() Realsqtpi")
    assert isinstance(value_of(text), str)
    ranked(text, 8)
