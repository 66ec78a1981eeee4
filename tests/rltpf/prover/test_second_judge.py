"""The second judge, on real Lean: the first one accepts everything, as one that a submission took over would."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import rltpf.prover
from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.prover.answer import Answer
from rltpf.prover.prover import limited
from rltpf.prover.second_judge import SecondJudge
from rltpf.prover.selftest import SUITE
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import Toolchain, find_toolchain
from rltpf.prover.worker import Worker

pytestmark = pytest.mark.lean

ROWS = [json.loads(line) for path in sorted(SUITE.glob("*.jsonl")) for line in path.read_text().splitlines()]
# A text with an error may prove its statement all the same; the first judge refuses it for the error.
JUDGED = [row for row in ROWS if row.get("judge", "elaboration_error") not in ("elaboration_error", "statement_error")]
# `rltpf lean selftest --second_judge` tries all of them. What is unsafe proves nothing, and is not written down.
CASES = list({(row["category"], row["judge"]): row for row in JUDGED if "unsafe" not in row["submission"]}.values())
ACCEPTED = {"ok": True, "reason": "ok", "detail": "", "axioms": [], "messages": [], "milliseconds": 1}
Forge = Callable[[dict[str, Any]], object]


class TakenOver:
    """A worker whose word is worth nothing, and whose exports are forged."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.forge: Forge = lambda text: None

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        if command == "check":
            return Answer(ACCEPTED)
        answer = self._worker.ask(command, arguments)
        if answer.ok:
            text = json.loads(answer.facts["text"])
            self.forge(text)
            answer.facts = {"text": json.dumps(text)}
        return answer

    def close(self) -> None:
        self._worker.close()


@pytest.fixture(scope="module")
def toolchain(lean_installed: None) -> Toolchain:
    found = find_toolchain(ProverConfig(toolchain="embedded"))
    return dataclasses.replace(found, header=limited(found.header, 200_000))


@pytest.fixture(scope="module")
def taken(toolchain: Toolchain) -> TakenOver:
    return TakenOver(Worker(toolchain, 120))


@pytest.fixture
def first(taken: TakenOver) -> Iterator[TakenOver]:
    honest = taken.forge
    yield taken
    taken.forge = honest


@pytest.fixture(scope="module")
def judge(taken: TakenOver, toolchain: Toolchain) -> Iterator[SecondJudge]:
    judge = SecondJudge(taken, toolchain, 120)
    yield judge
    judge.close()


def ask(judge: SecondJudge, statement: str, submission: str, header: str = "") -> Answer:
    arguments = {"header": limited(header, 200_000), "statement": statement, "submission": submission}
    return judge.ask("check", arguments)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_attacks_and_proofs(judge: SecondJudge, case: dict[str, Any]) -> None:
    """Without a gate before it."""
    answer = ask(judge, case["statement"], case["submission"])
    if case["judge"] == "ok":
        assert (answer.ok, answer.reason, answer.detail) == (True, "ok", "")
    else:
        assert (answer.ok, answer.reason) == (False, "second_judge")
        assert answer.detail.startswith(f"{case['judge']}: ")


def test_a_long_proof_passes_from_one_process_to_another(judge: SecondJudge, first: TakenOver) -> None:
    """155 kB, more than a pipe takes at once."""
    sizes = []
    first.forge = lambda text: sizes.append(len(json.dumps(text)))
    (case,) = (row for row in ROWS if row["id"] == "ok-two-hundred-lines")
    assert ask(judge, case["statement"], case["submission"]).ok
    assert sizes[0] > 2 * 65536


STATEMENT = """inductive Colour where
  | red : Colour
  | mixed (n : Nat) (one : Colour) : Colour
def Colour.count : Colour → Nat
  | .red => 1
  | .mixed n one => n + one.count
theorem total.{u} {α : Type u} (x : α) (a b : Nat) (h : a + Colour.count (.mixed 2 .red) = b) : (x, b - 3) = (x, a)"""
PROOF = f"{STATEMENT} := by\n  simp [Colour.count] at h ⊢\n  omega"
EASY = "theorem total : 2 + 2 = 4"


def declare(text: dict[str, Any], kind: str, value: int | None = None, hints: Any = None) -> None:
    """Makes the theorem, alone in its text, something else of its type."""
    ((_, name, levels, type_, own, _),) = text["declarations"]
    text["declarations"] = [[kind, name, levels, type_, own if value is None else value, hints]]


def append(text: dict[str, Any], *row: Any) -> int:
    """The place of a new expression."""
    text["rows"].append(list(row))
    return len(text["rows"]) - 1


def forge_type(text: dict[str, Any]) -> None:
    text["rows"] = [["nat", "5"] if row == ["nat", "4"] else row for row in text["rows"]]


def forge_premise(text: dict[str, Any]) -> None:
    """`theorem total : 2 + 2 = 4 := premise`, an axiom of just that."""
    declare(text, "theorem", append(text, "const", ["premise"], []))
    text["declarations"].insert(0, ["axiom", ["premise"], [], text["declarations"][0][3], None, None])


def forge_look_alike(text: dict[str, Any]) -> None:
    """An axiom whose name only reads like that of an allowed one: a single component."""
    declare(text, "theorem", append(text, "const", ["Classical.choice"], []))
    text["declarations"].insert(0, ["axiom", ["Classical.choice"], [], text["declarations"][0][3], None, None])


def forge_constructor(text: dict[str, Any]) -> None:
    """`inductive Any : Prop | total`, with the theorem's full name."""
    one, sort = append(text, "const", ["Any"], []), append(text, "sort", ["zero"])
    text["declarations"] = [["inductive", [], 0, [[["Any"], sort, [[["total"], one]]]]]]


def forge_value(text: dict[str, Any]) -> None:
    """`theorem total : 2 + 2 = 4 := 2 + 2 = 4`."""
    declare(text, "theorem", text["declarations"][0][3])


def forge_name(text: dict[str, Any]) -> None:
    text["declarations"][0][1] = ["other"]


def forge_library(text: dict[str, Any]) -> None:
    """`def Nat.add := fun _ _ => 9`."""
    nat, nine = append(text, "const", ["Nat"], []), append(text, "nat", "9")
    function = append(text, "lam", nat, append(text, "lam", nat, nine))
    type_ = append(text, "forall", nat, append(text, "forall", nat, nat))
    text["declarations"].insert(0, ["def", ["Nat", "add"], [], type_, function, "abbrev"])


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (forge_type, "type_mismatch: "),
        (lambda text: declare(text, "axiom"), "not_a_theorem: `total` is axiom"),
        (lambda text: declare(text, "def", hints="abbrev"), "not_a_theorem: `total` is def"),
        (forge_premise, "axioms: `total` rests on `premise`"),
        (forge_look_alike, "axioms: `total` rests on `Classical.choice`"),
        (forge_constructor, "not_a_theorem: `total` is constructor"),
        (forge_value, "replay: total: "),
        (forge_name, "missing_theorem: "),
    ],
)
def test_a_forged_text_proves_nothing(judge: SecondJudge, first: TakenOver, forge: Forge, fault: str) -> None:
    first.forge = forge
    answer = ask(judge, EASY, f"{EASY} := by decide")
    assert (answer.ok, answer.reason) == (False, "second_judge")
    assert answer.detail.startswith(fault)


def forge_inductive(text: dict[str, Any]) -> None:
    """`inductive Nat : Type` without constructors."""
    sort = append(text, "sort", ["succ", ["zero"]])
    text["declarations"].insert(0, ["inductive", [], 0, [[["Nat"], sort, []]]])


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (lambda text: text["rows"].insert(0, ["app", 0, 0]), "uses an expression before it is there"),
        (lambda text: text["rows"].insert(0, ["app", 10**6, 0]), "uses an expression before it is there"),
        (lambda text: text["rows"].insert(0, ["fvar", 0]), "has an unknown expression"),
        (lambda text: text["rows"].insert(0, ["nat", "-1"]), "has an unknown number"),
        (lambda text: text["rows"].insert(0, "bvar"), "lacks an array"),
        (lambda text: text["rows"].insert(0, ["bvar"]), "lacks an element"),
        (lambda text: text["rows"].insert(0, ["bvar", "0"]), "lacks a number"),
        (lambda text: text["declarations"].insert(0, ["quotient", ["q"], [], 0, 0, None]), "an unknown declaration"),
        (lambda text: text["declarations"].append(text["declarations"][0]), "declares `total` again"),
        (forge_library, "declares `Nat.add` again"),
        (forge_inductive, "Nat"),
        (lambda text: text.pop("declarations"), "declarations"),
        (lambda text: text.update(rows={}), "lacks an array"),
    ],
)
def test_a_text_that_is_none_proves_nothing(judge: SecondJudge, first: TakenOver, forge: Forge, fault: str) -> None:
    first.forge = forge
    answer = ask(judge, EASY, f"{EASY} := by decide")
    assert (answer.ok, answer.reason) == (False, "second_judge")
    assert answer.detail.startswith("export: ")
    assert fault in answer.detail


def test_what_a_statement_defines_is_compared(judge: SecondJudge) -> None:
    assert ask(judge, STATEMENT, PROOF).ok
    changed = PROOF.replace("n + one.count", "n + 0 + one.count")
    answer = ask(judge, STATEMENT, changed)
    assert answer.detail == "statement_changed: `Colour.count` is not what the statement defines"


def test_a_header_of_ones_own(judge: SecondJudge) -> None:
    header = "def seven : Nat := 7"
    assert ask(judge, "theorem t : seven = 7", "theorem t : seven = 7 := rfl", header).ok


def test_from_the_command_line(
    toolchain: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": "right", "statement": EASY, "submission": f"{EASY} := by decide"},
        {"id": "wrong", "statement": "theorem t : 2 + 2 = 5", "submission": "theorem t : 2 + 2 = 5 := by decide"},
    ]
    (tmp_path / "proofs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    asked = []
    ask = Worker.ask

    def noted(worker: Worker, command: str, arguments: Mapping[str, object]) -> Answer:
        asked.append(command)
        return ask(worker, command, arguments)

    monkeypatch.setattr(Worker, "ask", noted)
    words = ["lean", "check", str(tmp_path / "proofs.jsonl"), "--toolchain", "embedded", "--second_judge"]
    assert main(words) == 0
    right, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert (right["status"], right["reason"], wrong["status"]) == ("verified", "ok", "rejected")
    assert [command for command in asked if command in ("check", "export", "replay")] == (
        ["check", "export", "export", "replay", "check"]
    )


@pytest.mark.parametrize("command", ["lean check FILE", "lean selftest", "audit FILE"])
@pytest.mark.parametrize("option", ["", " --second_judge"])
def test_who_can_ask_for_it(command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def built(config: ProverConfig, second_judge: bool = False) -> None:
        asked.append(second_judge)
        raise InputError("enough")

    monkeypatch.setattr(rltpf.prover, "build_prover", built)
    file = tmp_path / "rows.jsonl"
    row = {"id": "1", "statement": EASY, "submission": EASY, "completion": [], "steps": [], "verdict": "verified"}
    file.write_text(json.dumps(row | {"lean": EASY}) + "\n")
    assert main(f"{command.replace('FILE', str(file))}{option}".split()) == 2
    assert asked == [bool(option)]


def test_a_server_has_no_second_judge(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lean", "selftest", "--toolchain", "kimina", "--url", "http://127.0.0.1:9", "--second_judge"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        "--second_judge needs processes of its own: pass --toolchain native or embedded\n"
    )
