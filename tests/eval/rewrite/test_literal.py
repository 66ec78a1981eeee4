"""Literal extraction: an answer is a copy from the verified text, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.rewrite.literal import occurs, parts, refusal
from eval.rewrite.tokens import proving_text
from tests.eval.rewrite.paper import CASES, Case


def extractable(answer: str, lean: str) -> bool:
    return refusal(answer, lean, lean) == ""


@pytest.mark.parametrize(
    ("answer", "lean"),
    [
        ("17", "have h : x = 17 := by omega"),
        ("2, 5", "have h : a = 2 := by simp\nhave k : b = 5 := by simp"),
        ("(2,5)", "have h : p = (2,5) := rfl"),
        ("3", "have h : x = 3 := rfl"),
        ("1873/4", "refine ⟨1873/4, ?_⟩"),
        ("-3", "have h : x = -3 := by omega"),
        ("17", "#check h\ntheorem t : x = 17 := by omega"),
        ("17", "have h : #s = 17 := by simp"),
        ("17", "have h : x = #v[17][0] := rfl"),
    ],
)
def test_copies(answer: str, lean: str) -> None:
    assert extractable(answer, lean)


@pytest.mark.parametrize(
    ("answer", "lean"),
    [
        ("5", "have h : x = 2 + 3 := rfl"),  # computed
        ("(2,5)", "have h : a = 2 := by simp\nhave k : b = 5 := by simp"),  # put together
        ("1873/4", "refine ⟨1873 / 4, ?_⟩"),  # written in another way
        ("1,600", "have h : x = 1600 := rfl"),
        ("9*(3-y)", "have h : x = (3 - y) * 9 := rfl"),
        ("17", "have h : x = 170 := rfl"),
        ("17", "have h17 : x = 170 := rfl"),
        ("17", "have h : x = 17.5 := rfl"),
        ("17", "have h : x = 10e-17 := rfl"),
        ("17", "exact (h 3).17"),
        ("2", "exact h.2"),
        ("17", "have h : x = 1_17 := rfl"),
        ("17", "have h : x = 16 := rfl -- or 17"),
        ("17", "/- 17 -/ have h : x = 16 := rfl"),
        ("17", 'have h : s = "17" := rfl'),
        ("17", "theorem t : x = 16 := rfl\n#eval 17"),
        ("17", "theorem t : x = 16 := rfl\n#reduce\n17"),
        ("17", "theorem t : x = 16 := rfl\n#check\n  17\n#print axioms t"),
        ("17", "theorem t : x = 16 := rfl\n#guard 17 == 17"),
        ("17", "theorem t : x = 16 := rfl #synth OfNat Nat 17"),
        ("17", "theorem t : x = 16 := rfl\n  #my_own_printer 17"),
        ("17", "have «17» : x = 16 := rfl"),
        ("17", "have h : x = «it is 17» := rfl"),
        ("17", "have h : x = 0x17 := rfl"),
        ("17", "have h : x = ١٧ := rfl"),
        ("2, 5", "have h : a = 2 := by simp"),
        ("", "x = 1"),
        ("unknown", "have unknown : x = 1 := rfl"),
        ("2,", "x = 2"),
        (", 2", "x = 2"),
        ("17 := ", "have h : x = 17 := rfl /- open"),  # not plain what is a comment
        ("(17", "f (17) = 2"),
    ],
)
def test_what_is_no_copy(answer: str, lean: str) -> None:
    assert not extractable(answer, lean)


def test_evidence_has_to_be_in_the_text() -> None:
    lean = "have h : x = 17 := by omega"
    assert refusal("17", "x = 17", lean) == ""
    assert refusal("17", "x = 17 is the answer", lean) == "the evidence is not in the proof text"
    assert refusal("17", "", lean) == "the evidence is not in the proof text"


def test_commas_part_an_answer_outside_brackets_alone() -> None:
    assert parts("2, 5") == ["2", "5"]
    assert parts("(2, 5), {1,3}") == ["(2, 5)", "{1,3}"]
    assert parts("2,,5") == ["2", "", "5"]


@pytest.mark.parametrize("case", CASES)
def test_the_papers_cases(case: Case) -> None:
    assert extractable(case.answer, case.lean)


numbers = st.integers(0, 10**6)
WRAPPINGS = ["h{n}", "{n}0", "1{n}", "{n}.5", "0.{n}", "x.{n}", "x_{n}", "1e{n}"]
WRAPPINGS += ["-- {n}", "/- {n} -/", '"{n}"', "#eval {n}"]


@given(numbers, st.lists(numbers), st.sampled_from(WRAPPINGS))
def test_a_number_that_is_no_token_is_not_found(number: int, others: list[int], wrapping: str) -> None:
    text = " ".join(f"( {other} )" for other in others if other != number)
    text += f"\n{wrapping.format(n=number)}"
    code = proving_text(text)
    assert code is not None
    assert not occurs(str(number), code)


@given(st.lists(numbers, min_size=1), st.data())
def test_every_number_that_is_a_token_is_found(written: list[int], data: st.DataObject) -> None:
    text = " ∧ ".join(f"x{place} = {number}" for place, number in enumerate(written))
    chosen = data.draw(st.lists(st.sampled_from(written), min_size=1, max_size=4))
    assert extractable(", ".join(map(str, chosen)), text)
    assert not extractable(", ".join(map(str, [*chosen, max(written) + 1])), text)


@given(numbers, numbers, st.sampled_from("+-*/^"))
def test_what_an_expression_comes_to_is_not_found(a: int, b: int, sign: str) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b, "/": a // (b or 1), "^": a**2}[sign]
    text = f"x = {a} {sign} {b}"
    assert extractable(str(value), text) == (value in (a, b))
    assert not extractable(f"{a}{sign}{b}", text)
