"""Which submissions are the answer: exact verdicts of real Lean, attacks first."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from eval.rpe import CORE, CORE_SETS, MATHLIB, Equivalence, Question, answer_values, equivalence, lean_header
from eval.rpe_rows import judge_rows, question
from rltpf.cli import main
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report


def row(
    submission: str, known: str = "answer = 9", answer_type: str = "ℕ", *intros: str, **more: Any
) -> dict[str, Any]:
    """A row; an intro is `name : type`."""
    bound = [dict(zip(("name", "t"), intro.split(" : ", 1), strict=True)) for intro in intros]
    fields = {"id": 1, "answer_type": answer_type, "intros": bound, "header": None}
    return fields | {"submission": submission, "formal_answer": known} | more


def ask(prover: Prover, asked: dict[str, Any]) -> Equivalence:
    found = question(asked)
    assert isinstance(found, Question), found
    return asyncio.run(equivalence(prover, found))


@pytest.mark.parametrize(
    ("submission", "values"),
    [
        ("9 * x", ("9 * x",)),
        ("answer = 3 * 3", ("3 * 3",)),
        ("9 = answer", ("9",)),
        ("answer = 3 ∨ answer = (if x = 2 then 4 else 5)", ("3", "(if x = 2 then 4 else 5)")),
        ("2 * answer = 18", None),
        ("answer = answer", None),
        ("answer = 9 ∨ 2 * answer = 18", None),
        ("¬ answer = 9", None),
        ("answer ≤ 9", None),
        ("answer == 9", None),
        ("if 2 * answer = 18 then answer else 0", None),
        ("fun answer => answer", None),
        ("answer = x = 9", None),
        ("answer", None),
    ],
)
def test_a_proposition_about_the_answer_has_to_say_what_it_equals(
    submission: str, values: tuple[str, ...] | None
) -> None:
    assert answer_values(submission) == values


EQUAL = {
    "literal": (row("9"), "rfl"),
    "arithmetic": (row("21 + 21", "answer = 42"), "rfl"),
    "fully explicit": (row("3 * 3", "@Eq Nat answer (@OfNat.ofNat Nat (nat_lit 9) (instOfNatNat (nat_lit 9)))"), "rfl"),
    "fraction": (row("9 / 2", "answer = 4.5", "ℚ"), "grind"),
    "large power": (row("1999 ^ 2000 % 5", "answer = 1"), "omega"),
    "least common multiple": (row("Nat.lcm 100001 9999", "answer = 90900909"), "rfl"),
    "variable": (row("x + x", "answer = 2 * x", "ℤ", "x : Int"), "omega"),
    "unused variable": (row("12 * 12 / 18", "answer = 8", "ℕ", "meals : Nat"), "rfl"),
    "function": (row("fun n => n + n", "answer = fun n => 2 * n", "ℕ → ℕ"), "grind"),
    "pair": (row("(1 + 1, 3)", "answer = (2, 3)", "ℕ × ℕ"), "rfl"),
    "two answers": (row("answer = 1 + 1 ∨ answer = 3", "answer = 2 ∨ answer = 3"), "rfl"),
    "proposition": (row("answer = 3 * 3"), "rfl"),
    "truth": (row("False", "@Eq Prop answer False", "Prop"), "rfl"),
    "truth beside a number": (row("(3, True)", "answer = (3, True)", "ℕ × Prop"), "rfl"),
    "finite type": (row("9", "answer = 2", "Fin 7"), "rfl"),
    "unknown namespace": (row("3 + 6", header="open Polynomial Nat"), "rfl"),
}

REFUSED = {
    "another number": (row("8"), "refuted"),
    "restated condition": (row("2 * answer = 18"), "no_answer"),
    "condition in a term": (row("if 2 * answer = 18 then answer else answer + 1"), "no_answer"),
    "answer by its type": (row("if 2 * ‹ℕ› = 18 then ‹ℕ› else ‹ℕ› + 1", "answer = 9", "ℕ", "x : ℕ"), "gate"),
    "answer bound again": (row("(fun answer => 9) 1"), "no_answer"),
    "restated question": (row("2 + 2 = 4", "answer = True", "Prop"), "no_answer"),
    "question of nothing": (row("x = x", "answer = True", "Prop", "x : Nat"), "no_answer"),
    "question within if": (row("if 2 + 2 = 4 then True else False", "answer = True", "Prop"), "no_answer"),
    "question as a boolean": (row("2 + 2 == 4", "answer = true", "Bool"), "no_answer"),
    "questions in a pair": (row("(2 + 2 = 4, False)", "answer = (True, False)", "Prop × Prop"), "no_answer"),
    "question beside a number": (row("(3, 2 = 2)", "answer = (3, True)", "ℕ × Prop"), "no_answer"),
    "restated set": (row("fun n => 2 * n = 14", "answer = fun n => n = 7", "ℕ → Prop"), "not_proved"),
    "choice": (row("Classical.epsilon (fun x : Nat => 2 * x = 18)"), "not_proved"),
    "hypothesis restated": (
        row("a * x + b * y", "answer = 3", "ℚ", *(f"{v} : Rat" for v in "abxy"), "h : a * x + b * y = 3"),
        "not_proved",
    ),
    "hypothesis named": (row("(fun _ : x = 9 => x) h", "answer = 9", "ℕ", "x : Nat", "h : x = 9"), "type_error"),
    "contradictory hypotheses": (row("8", "answer = 9", "ℕ", "x : Nat", "h : x < x"), "not_proved"),
    "variable without values": (row("8", "answer = 9", "ℕ", "x : Fin 0"), "not_proved"),
    "unequal at 0": (row("9 * x / x", "answer = 9", "ℕ", "x : Nat"), "refuted"),
    "truncated before the cast": (row("((7 / 2 : Nat) : Rat)", "answer = 3.5", "ℚ"), "refuted"),
    "negative natural": (row("3 - 5", "answer = 2"), "refuted"),
    "hole": (row("_"), "type_error"),
    "named hole": (row("?x"), "type_error"),
    "unknown variable": (row("y + 9"), "type_error"),
    "another type": (row("fun x => x"), "type_error"),
    "no term": (row("9 +"), "parse_error"),
    "left slot": (row("9 : ℕ)) ↔ (answer = 9) ∨ ((answer = (9"), "gate"),
    "tactic": (row("(by exact 9)"), "gate"),
    "command": (row("9\nopen Nat in\ntheorem x : 1 = 1"), "gate"),
    "sorry": (row("sorry"), "gate"),
    "open": (row("open Nat in 9"), "gate"),
    "nothing": (row("  "), "no_submission"),
    "known answer of no type": (row("9", "answer = x"), "row_error"),
    "unknown type": (row("9", "answer = 9", "ℝ"), "row_error"),
    "variable of the answer's name": (row("9", "answer = 9", "ℕ", "answer : Nat"), "row_error"),
    "two texts for the known answer": (row("8", "True) ∨ (answer = 9"), "row_error"),
    "two texts for the type": (row("9", "answer = 9", "ℕ) (h : False"), "row_error"),
    "two texts for a variable": (row("8", "answer = 9", "ℕ", "x : ℕ) (h : False"), "row_error"),
    "header of no Lean": (row("9", header="opens Nat"), "row_error"),
}


@pytest.mark.lean
@pytest.mark.parametrize("name", EQUAL)
def test_equal_answers(prover: Prover, name: str) -> None:
    asked, closed_by = EQUAL[name]
    found = ask(prover, asked)
    assert (found.equivalent, found.closed_by, found.reason, found.toolchain) == (
        True,
        closed_by,
        "equal",
        prover.toolchain_id,
    )


@pytest.mark.lean
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_the_answer(prover: Prover, name: str) -> None:
    asked, reason = REFUSED[name]
    found = ask(prover, asked)
    assert (found.equivalent, found.closed_by, found.reason) == (False, "", reason), found


class FakeProver:
    """Takes every statement but those about hypotheses, proves and refutes nothing, and notes the cascade."""

    toolchain_id = "fake"
    header = "import Mathlib"

    def __init__(self, library: str, proof: Report) -> None:
        self.library = library
        self.proof = proof
        self.cascade: Any = None

    async def elaborates(self, statement: str, header: str) -> Report:
        return Report("rejected" if "hypothesis" in statement else "verified", "ok", seconds=1)

    async def prove(self, statement: str, header: str, cascade: Any) -> Report:
        self.statement, self.cascade = statement, cascade
        return self.proof

    async def refute(self, statement: str, header: str) -> Report:
        return Report("rejected", "unproved")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("library", "answer_type", "cascade"),
    [
        ("core", "ℕ", CORE),
        ("core", "ℕ → Prop", CORE_SETS),
        ("core", "Set ℕ", CORE_SETS),
        ("mathlib", "ℝ", MATHLIB),
        ("mathlib", "Set ℝ", MATHLIB),
    ],
)
def test_the_tactics_for_a_type(library: str, answer_type: str, cascade: object) -> None:
    prover: Any = FakeProver(library, Report("rejected", "unproved"))
    assert ask(prover, row("9", "answer = 9", answer_type)).reason == "not_proved"
    assert prover.cascade is cascade


def test_a_row_without_header_has_the_usual_one() -> None:
    asked = row("9")
    assert question({name: value for name, value in asked.items() if name != "header"}) == question(asked)


def test_mathlib_has_the_published_tactics_each_alone_first() -> None:
    assert [tactic.text for tactic in MATHLIB[:5]] == ["rfl", "norm_num", "ring_nf", "rw_search", "aesop"]
    assert MATHLIB[5].text == "(try rfl); (try norm_num); (try ring_nf); (try rw_search); (try aesop)"


def test_the_statement_and_the_header() -> None:
    prover: Any = FakeProver("mathlib", Report("verified", "ok", closed_by="norm_num", seconds=2))
    found = ask(prover, row("x", "answer = 9", "ℝ", "x : ℝ"))
    assert found == Equivalence(True, "norm_num", "equal", seconds=5, toolchain="fake")
    assert prover.statement == "theorem rpe (x : ℝ) (answer : ℝ) :\n    ((answer = (x : ℝ))) ↔ (answer = 9)"
    assert lean_header(prover, None) == "import Mathlib\nopen BigOperators Real Nat Topology"
    prover.library = "core"
    assert lean_header(prover, "open Set").splitlines()[-3:] == ["namespace Set", "end Set", "open Set"]


@pytest.mark.parametrize(("status", "reason"), [("timeout", "timeout"), ("infra", "crash")])
def test_without_a_verdict_of_lean_there_is_none(status: Any, reason: str) -> None:
    prover: Any = FakeProver("core", Report(status, reason))
    found = ask(prover, row("9"))
    assert (found.equivalent, found.reason, found.decided) == (False, reason, False)


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"id": None}, "id: has to be a string or an integer"),
        ({"submission": 9}, "submission: input should be a valid string"),
        ({"submission": "\ud800"}, "holds a lone surrogate, which is half a character"),
        ({"intros": [{"t": "Nat"}]}, "intros.0.name: field required"),
        ({"intros": "x"}, "intros: input should be a valid array"),
        ({"answer_type": None}, "answer_type: input should be a valid string"),
    ],
)
def test_a_row_at_fault_is_recorded_and_the_others_are_judged(changes: dict[str, Any], detail: str) -> None:
    prover: Any = FakeProver("core", Report("verified", "ok", closed_by="rfl"))
    output = io.StringIO()
    rows = [row("9") | changes, row("9", bench="formal_math500", idx=4, extra=[1])]
    summary = asyncio.run(judge_rows(prover, rows, output))
    bad, good = map(json.loads, output.getvalue().splitlines())
    assert (bad["equivalent"], bad["closed_by"], bad["reason"], bad["detail"]) == (False, "", "row_error", detail)
    assert (good["equivalent"], good["closed_by"], good["reason"], good["extra"]) == (True, "rfl", "equal", [1])
    assert summary.splitlines() == [
        "rpe: 2 rows: 1 equal, 1 row_error",
        "formal_math500: Solved 0.26 % (1), NE-submitted 0.00 % (0), Submitted 0.26 % (1), Proven 0.00 % (0) of 387",
    ]


@pytest.mark.lean
def test_the_command(lean_installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(row(text)) + "\n" for text in ("3 * 3", "8")) + "{}\n")
    command = ["rpe", str(source), "--output", str(output), "--toolchain", "embedded", "--no_cache"]
    assert main(command) == 0
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(f["equivalent"], f["closed_by"], f["reason"]) for f in found] == [
        (True, "rfl", "equal"),
        (False, "", "refuted"),
        (False, "", "row_error"),
    ]
    assert "rpe: 3 rows: 1 equal, 1 refuted, 1 row_error" in capsys.readouterr().err
