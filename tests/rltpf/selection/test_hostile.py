"""Candidates and formalisers that want a wrong answer proved, with real Lean: none is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rltpf.prover.prover import Prover
from rltpf.selection.candidates import term, value_of, without_repeats
from rltpf.selection.credit import is_clear
from tests.rltpf.selection.test_selector import EGGS, Scripted, formalising, outcomes, select

FILL = "def fill_answer(answer):\n    return f'left = {answer}'"
HOSTILE = [
    "left",
    "(left)",
    "12 ∨ True",
    "12 ∨ left = 13",
    "12 := by sorry\ntheorem u : 1 = 1",
    "13 := by sorry",
    "sorry",
    "by omega",
    "_",
    "?x",
    "13 -- 5",
    "13 /- 5 -/",
    "13 - 5",
    "12 + (if left = 13 then 1 else 0)",
    '"13"',
    "«left»",
    "lеft",  # with a Cyrillic е
    "(5 - 6) + 14",
    "27 / 2",
    "13 + 1 / 2",
    "2 ^ 3 ^ 9",
    "12 + 1 / (1 - 1)",
    "9" * 150,
    "13.5",
    "Nat.pred 14 + 0 * 5",
    "12 | True",
    "12 ↔ True",
    "$(left)",
    "{13, 12}",
    "12) ∨ (True",
    "\\text{left}",
    "ⅩⅢ",
    "13²",
]


@pytest.mark.lean
@pytest.mark.parametrize("first", ["12", ""], ids=["edited", "base"])
def test_no_wrong_answer_is_proved(prover: Prover, first: str) -> None:
    """The formaliser and the rewriter are honest and write every candidate as it stands."""
    proved = []
    for candidate in HOSTILE:
        model = Scripted(
            formaliser=formalising(EGGS),
            judge=lambda prompt: {"reasons": "", "places": []},
            rewriter=lambda prompt: {"original_local_block": "left = 12", "fill_answer_code": FILL},
        )
        selection = select(prover, model, [first, candidate] if first else [candidate])
        proved += [item.candidate for item in selection.judged if item.is_proved]
    assert proved == []


@pytest.mark.lean
def test_the_right_answer_is_proved_however_it_is_written(prover: Prover) -> None:
    for candidate in ("13", "$13$", "\\boxed{13}", "13.", "10 + 3", "(13)"):
        selection = select(prover, Scripted(formaliser=formalising(EGGS)), ["12", candidate])
        assert selection.judged[1].is_proved, candidate


@pytest.mark.lean
@pytest.mark.parametrize(
    ("statement", "candidates", "proofs"),
    [
        # 269 is 13 there.
        ("theorem t (x : UInt8) (h : x = 13) : 0 + x = {} := by sorry", ["269"], ["open"]),
        ("theorem t (x : Fin 7) (h : x + 1 = 3) : x = {} := by sorry", ["9", "2"], ["open", "open"]),
        # What is proved of every answer says nothing of one.
        ("theorem t (x : Nat) (h : x = 9) : {} ≤ x := by sorry", ["3", "4"], ["open", "open"]),
        # The answer is given: proved for that alone, and the others are refuted for that alone.
        ("theorem t (x : Nat) (h : x = 12) : x = 12 := by sorry", ["12", "13"], ["open", "open"]),
        ("theorem t (x : Nat) (h : x = 1) (k : x = 2) : x = {} := by sorry", ["12", "13"], ["open", "open"]),
        # The answer is not in it: neither is proved of it, nor refuted.
        ("theorem t : 1 + 1 = 2 := by sorry", ["12"], ["open"]),
        ("theorem t (x : Nat) (h : x = 13) : x = 12 := by sorry", ["13"], ["open"]),
        ("theorem t (x : Int) (h : x = 3) : x - 3 = 0 := by sorry", ["-3"], ["open"]),
        # One of two is proved of both.
        ("theorem t (x : Nat) (h : x = 7) : x = {} ∨ x = 7 := by sorry", ["3"], ["open"]),
        # It says what the answer is not.
        ("theorem t (x : Nat) (h : x = 5) : ¬ x = {} := by sorry", ["5", "4"], ["open", "open"]),
        ("theorem t (x : Nat) (h : x = 5) : x ≠ {} := by sorry", ["5", "4"], ["open", "open"]),
        # True by its words alone: no statement of any answer.
        ("theorem t : {} = {} := by sorry", ["12", "13"], ["", ""]),
        ("theorem t : (({} : Nat)) = {} := by sorry", ["12", "13"], ["", ""]),
        ("theorem t (x : Nat) : x = 5 → {} = {} := by sorry", ["12"], [""]),
        ("theorem t : ∃ x : Nat, x = {} := by sorry", ["12"], [""]),
        ("theorem t : let x : Nat := {}; x = {} := by sorry", ["12"], [""]),
        ("def total : Nat := {}\n\ntheorem t : total = {} := by sorry", ["12", "13"], ["", ""]),
        # A negative number that is cut off to zero there.
        ("theorem t (n : Nat) (h : n = 0) : n = Int.toNat {} := by sorry", ["3", "-3"], ["refuted", ""]),
    ],
)
def test_statements_that_prove_too_much(
    prover: Prover, statement: str, candidates: list[str], proofs: list[str]
) -> None:
    model = Scripted(
        formaliser=formalising(statement),
        judge=lambda prompt: {"reasons": "", "places": [1]},
        rewriter=lambda prompt: "none",
    )
    assert [item.proof for item in select(prover, model, candidates).judged] == proofs


MIXED = r"'{} * ({} / {})'.format(*re.findall(r'\d+', answer)) if 'c' in answer else answer.replace('/', ' / ')"


@pytest.mark.lean
@pytest.mark.parametrize(
    ("given", "goal", "block", "code", "candidates", "proofs"),
    [
        # A sign that the function drops: the statement of (5, 8) is proved.
        (
            "(x y : Int) (h : x = 5) (k : y = 8)",
            "x = 6 ∧ y = 31",
            "x = 6 ∧ y = 31",
            r"'x = {} ∧ y = {}'.format(*re.findall(r'\d+', answer))",
            ["(6, 31)", "(-5, 8)", "(5, 8)", "(5, 7)"],
            # (-5, 8) and (5, 8) have the same text, and are formalised by themselves; the last is refuted.
            ["refuted", "open", "open", "refuted"],
        ),
        (
            "(x y : Int) (h : x = 5) (k : y = 8)",
            "x = 6 ∧ y = 31",
            "x = 6 ∧ y = 31",
            r"'x = {} ∧ y = {}'.format(*re.findall(r'\d+', answer))",
            ["(6, 31)", "(-5, 8)", "(-5, 7)"],
            ["refuted", "open", "open"],
        ),
        # A part that it does not read.
        (
            "(x y : Int) (h : x = 5) (k : y = 31)",
            "x = 6 ∧ y = 31",
            "x = 6",
            r"'x = ' + re.findall(r'-?\d+', answer)[0]",
            ["(6, 31)", "(5, 5)", "(7, 31)"],
            ["refuted", "open", "refuted"],
        ),
        # What has no one meaning is neither proved nor refuted: half of 5 is 2½, and of 2 no 2 * ½.
        (
            "(x : Rat) (h : 2 * x = 5)",
            "x = 1 / 3",
            "1 / 3",
            MIXED,
            ["1/3", "2\\frac{1}{2}"],
            ["refuted", "open"],
        ),
        (
            "(x : Rat) (h : 2 * x = 2)",
            "x = 1 / 3",
            "1 / 3",
            MIXED,
            ["1/3", "2\\frac{1}{2}"],
            ["refuted", "open"],
        ),
        (
            "(x : Rat) (h : 2 * x = 1)",
            "x = 3",
            "3",
            r"re.findall(r'\d+', answer)[0]",
            ["3", "50\\%", "10\\text{ million}"],
            ["refuted", "open", "open"],
        ),
        # 500 cm are 5 m, and neither is said by a number alone.
        (
            "(x : Nat) (h : x = 2 + 3)",
            "x = 6",
            "6",
            "answer",
            ["6\\text{ m}", "500\\text{ cm}", "5\\text{ m}"],
            ["open", "open", "open"],
        ),
        # At most 100 is true of 10, and no answer to what it is at most.
        (
            "(x : Nat) (h : x + 3 ≤ 13)",
            "x ≤ 9",
            "9",
            "answer",
            ["9", "100"],
            ["refuted", "open"],
        ),
        (
            "(x : Nat) (h : x = 10)",
            "x ≤ 9 ∧ 9 ≤ x",
            "x ≤ 9 ∧ 9 ≤ x",
            "f'x ≤ {answer} ∧ {answer} ≤ x'",
            ["9", "10"],
            ["refuted", "proved"],
        ),
    ],
)
def test_functions_that_read_a_part_of_an_answer(
    prover: Prover, given: str, goal: str, block: str, code: str, candidates: list[str], proofs: list[str]
) -> None:
    """Such as a model writes that looks at the first answer alone; the formaliser states that one."""
    model = Scripted(
        formaliser=lambda prompt: f"```lean\ntheorem t {given} : {goal} := by sorry\n```",
        judge=lambda prompt: {"reasons": "", "places": [1, 2] if "⟦2⟧" in prompt else [1]},
        rewriter=lambda prompt: {
            "original_local_block": block,
            "fill_answer_code": f"import re\ndef fill_answer(answer):\n    return {code}",
        },
    )
    assert [item.proof for item in select(prover, model, candidates).judged] == proofs


@pytest.mark.parametrize(
    ("candidate", "clear"),
    [
        ("(1, -1/2)", True),
        ("(-\\frac{1}{2}, 3\\sqrt{2})", True),
        ("[0, \\infty)", True),
        ("(-∞, 3] ∪ [5, 7)", True),
        ("\\{3, 5, 7\\}", True),
        ("2^{10}", True),
        ("2n + 1", True),
        ("\\ln 2", True),
        ("-2 + 7i", True),
        ("yes", True),
        ("2^{0.5}", False),
        ("(1, 2\\frac{1}{2})", False),
        ("1/2\\pi", False),
        ("\\pm 3", False),
        ("2:3", False),
        ("50%", False),
        ("5 or more", False),
        ("18 dollars", False),
    ],
)
def test_what_has_one_meaning(candidate: str, clear: bool) -> None:
    assert is_clear(candidate) is clear


@pytest.mark.lean
def test_without_a_rewriting_a_candidate_is_formalised_by_itself(prover: Prover) -> None:
    tuples = {"(6, 31)": "x = 6 ∧ y = 31", "(1, 2)": "x = 1 ∧ y = 2"}

    def formaliser(prompt: str) -> str:
        goal = tuples[prompt.split("Answer: ")[1].split("\n")[0]]
        return f"```lean\ntheorem t (x y : Int) (h : x = 1) (k : y = 1 + x) : {goal} := by sorry\n```"

    model = Scripted(formaliser=formaliser, rewriter=lambda prompt: "I cannot.")
    selection = select(prover, model, list(tuples), independent=True)
    assert outcomes(selection) == [
        ("(6, 31)", "base", "elaborates", "refuted"),
        ("(1, 2)", "formalised", "elaborates", "proved"),
    ]
    # The control asks for nothing twice.
    assert (selection.calls, selection.independent_calls) == ({"formaliser": 2, "rewriter": 3}, 2)
    assert len(selection.attempts) == 1


@pytest.mark.parametrize(
    "text", ["((9^999)^999)^999", "9^9^9^9", "2^" * 60 + "2", "1/(1-1)", "1/0.0", "٣", "１３", "3²"]
)
def test_what_is_no_number_costs_nothing(text: str) -> None:
    began: Any = time.perf_counter()
    assert term(text) is None
    assert value_of(text) == text
    assert time.perf_counter() - began < 0.5


def test_a_look_alike_does_not_take_the_place_of_a_number() -> None:
    assert without_repeats(["１３", "13", "1٣", "13.0"]) == ["１３", "13", "1٣"]
