"""What the prover makes of Lean's answers, without Lean."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rltpf.prover import prover as prover_module
from rltpf.prover.answer import Answer, WorkerError
from rltpf.prover.cascade import CORE
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.verdicts import Verdicts

STATEMENT = "theorem step (x : Rat) (h : x = 2) : x = 2"
TACTICS = [tactic.text for tactic in CORE]
Reply = Callable[[str, dict[str, Any]], Answer]


def _answer(reason: str, text: str = "") -> Answer:
    messages = [{"severity": "error", "line": 1, "column": 2, "text": text}] if text else []
    return Answer(
        {
            "ok": reason == "ok",
            "reason": reason,
            "detail": "",
            "axioms": [],
            "messages": messages,
            "milliseconds": 1000,
        }
    )


class FakeWorker:
    """Asks the test instead of Lean, and notes what was asked."""

    def __init__(self) -> None:
        self.reply: Reply = lambda *_: _answer("ok")
        self.asked: list[dict[str, Any]] = []
        self.facts: dict[str, Any] = {"binders": [], "flags": [], "probes": []}
        self.closed = False

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        if command == "inspect":
            return Answer(_answer("ok").to_json() | {"facts": self.facts})
        self.asked.append({"command": command, **arguments})
        return self.reply(command, dict(arguments))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def lean() -> FakeWorker:
    return FakeWorker()


def _prover(*workers: FakeWorker, verdicts: Verdicts | None = None) -> Prover:
    return Prover(Toolchain("fake-lean", ("lean",), Path(), "open Nat", "core"), workers, 70_000, verdicts)


def _only(proves: set[tuple[str, str]]) -> Reply:
    return lambda _, asked: _answer("ok" if (asked["goal"], asked["tactic"]) in proves else "unproved", asked["tactic"])


def _asked(lean: FakeWorker) -> list[tuple[str, str]]:
    return [(asked["goal"], asked["tactic"]) for asked in lean.asked]


def test_the_cascade_ends_at_the_first_tactic_that_proves(lean: FakeWorker) -> None:
    lean.reply = _only({("claim", TACTICS[1])})
    report = asyncio.run(_prover(lean).prove(STATEMENT))
    assert (report.status, report.reason, report.closed_by) == ("verified", "ok", TACTICS[1])
    assert (report.seconds, report.toolchain) == (2.0, "fake-lean")
    assert _asked(lean) == [("claim", TACTICS[0]), ("claim", TACTICS[1])]
    assert {asked["header"] for asked in lean.asked} == {"open Nat\nset_option maxHeartbeats 70000"}
    assert [asked["heartbeats"] for asked in lean.asked] == [min(t.heartbeats, 70_000) for t in CORE[:2]]


def test_the_models_proof_is_tried_first(lean: FakeWorker) -> None:
    lean.reply = _only({("claim", "exact h")})
    report = asyncio.run(_prover(lean).prove(STATEMENT, proof="exact h"))
    assert (report.closed_by, _asked(lean)) == ("model", [("claim", "exact h")])
    assert lean.asked[0]["heartbeats"] == 70_000


@pytest.mark.parametrize("before", ["", "\n", "   \n\n"])
def test_unproved_keeps_the_messages_of_the_models_proof(lean: FakeWorker, before: str) -> None:
    lean.reply = _only(set())
    report = asyncio.run(_prover(lean).prove(STATEMENT, proof=f"{before}  rfl\n  done"))
    assert (report.status, report.reason, report.closed_by) == ("rejected", "unproved", "")
    # The block was dedented for Lean; its columns are those of the proof as given.
    assert [(m.text, m.line, m.column) for m in report.messages] == [(before.replace(" ", "") + "rfl\ndone", 1, 4)]
    assert len(lean.asked) == 1 + len(TACTICS)


def test_unproved_without_a_proof_keeps_the_messages_of_the_last_tactic(lean: FakeWorker) -> None:
    lean.reply = _only(set())
    report = asyncio.run(_prover(lean).prove(STATEMENT))
    assert [m.text for m in report.messages] == [TACTICS[-1]]
    assert report.seconds == len(TACTICS)


def test_a_gated_proof_never_reaches_lean_but_the_cascade_does(lean: FakeWorker) -> None:
    lean.reply = _only(set())
    report = asyncio.run(_prover(lean).prove(STATEMENT, proof="native_decide"))
    assert (report.status, report.reason) == ("rejected", "gate")
    assert "native_decide" in report.detail
    assert [tactic for _, tactic in _asked(lean)] == TACTICS


def test_a_statement_error_ends_the_cascade(lean: FakeWorker) -> None:
    lean.reply = lambda *_: _answer("statement_error")
    report = asyncio.run(_prover(lean).prove(STATEMENT))
    assert (report.status, report.reason, len(lean.asked)) == ("rejected", "statement_error", 1)


@pytest.mark.parametrize(("fault", "status"), [("timeout", "timeout"), ("crash", "infra"), ("protocol", "infra")])
def test_without_an_answer_there_is_no_verdict(lean: FakeWorker, fault: str, status: str) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["tactic"] == TACTICS[0]:
            raise WorkerError(fault, "words")
        return _answer("unproved")

    lean.reply = reply
    report = asyncio.run(_prover(lean).prove(STATEMENT, proof="rfl"))
    assert (report.status, report.reason, report.decided) == (status, fault, False)


def test_a_proof_after_a_fault_counts(lean: FakeWorker) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["tactic"] == TACTICS[0]:
            raise WorkerError("crash", "words")
        return _answer("ok")

    lean.reply = reply
    assert asyncio.run(_prover(lean).prove(STATEMENT)).closed_by == TACTICS[1]


HYPOTHESIS = {"name": "h", "kind": "hypothesis", "type": "x = 2"}
# The judge asks for it wherever something is assumed; its goal is its number.
CONTRADICTION = {"flag": "vacuous", "detail": "", "raised_by_proof": True}


def test_a_claim_with_hypotheses_is_proved_only_where_they_do_not_contradict_each_other(lean: FakeWorker) -> None:
    lean.facts |= {"binders": [HYPOTHESIS], "probes": [CONTRADICTION]}
    lean.reply = _only({("claim", TACTICS[0])})
    assert asyncio.run(_prover(lean).prove(STATEMENT)).status == "verified"
    lean.reply = _only({("claim", TACTICS[0]), ("0", TACTICS[1])})
    report = asyncio.run(_prover(lean).prove(STATEMENT))
    assert (report.status, report.reason, report.closed_by, report.seconds) == ("rejected", "vacuous", "", 3.0)


def test_without_hypotheses_nothing_is_asked_about_them(lean: FakeWorker) -> None:
    lean.reply = _only({("claim", TACTICS[0])})
    assert asyncio.run(_prover(lean).prove("theorem t : 1 = 1")).status == "verified"
    assert _asked(lean) == [("claim", TACTICS[0])]


def test_a_proof_is_no_verdict_where_absurdity_has_no_answer(lean: FakeWorker) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["goal"] == "0":
            raise WorkerError("timeout", "words")
        return _answer("ok")

    lean.facts |= {"binders": [HYPOTHESIS], "probes": [CONTRADICTION]}
    lean.reply = reply
    assert asyncio.run(_prover(lean).prove(STATEMENT)).status == "timeout"


def test_refuted_by_the_negation_of_the_whole_statement(lean: FakeWorker) -> None:
    lean.facts["binders"] = [HYPOTHESIS]
    lean.reply = _only({("negation", "grind")})
    report = asyncio.run(_prover(lean).refute(STATEMENT))
    assert (report.status, report.reason, report.closed_by) == ("verified", "ok", "grind")
    assert _asked(lean) == [("negation", "decide +kernel"), ("negation", "grind")]


def test_contradictory_hypotheses_refute_nothing(lean: FakeWorker) -> None:
    lean.facts |= {"binders": [HYPOTHESIS], "probes": [CONTRADICTION]}
    lean.reply = _only({("0", TACTICS[1])})
    report = asyncio.run(_prover(lean).refute(STATEMENT))
    assert (report.status, report.reason, report.closed_by) == ("rejected", "vacuous", "")


def test_what_holds_has_no_counterexample_to_look_for(lean: FakeWorker) -> None:
    lean.facts["binders"] = [{"name": "x", "kind": "value", "type": "Nat"}]
    lean.reply = _only({("claim", "grind")})
    report = asyncio.run(_prover(lean).refute("theorem t (x : Nat) : x = x"))
    assert (report.status, report.reason) == ("rejected", "unproved")
    assert _asked(lean)[-1] == ("claim", "grind")


def test_facts_that_are_none_are_no_verdict(lean: FakeWorker) -> None:
    lean.facts = {"binders": [{}]}
    report = asyncio.run(_prover(lean).refute(STATEMENT))
    assert (report.status, report.reason) == ("infra", "protocol")


def test_nothing_that_the_gate_stops_reaches_lean(lean: FakeWorker) -> None:
    async def reports() -> list[str]:
        prover, bad = _prover(lean), "theorem t : True := by trivial\nrun_cmd pure ()"
        found = [
            await prover.elaborates(bad),
            await prover.check(bad, STATEMENT),
            await prover.check(STATEMENT, bad),
            await prover.prove(bad),
            await prover.refute(bad),
            await prover.close_goal(bad, "absurdity"),
        ]
        assert all(report.status == "rejected" and "run_cmd" in report.detail for report in found)
        return [report.reason for report in found]

    assert asyncio.run(reports()) == ["gate"] * 6
    assert lean.asked == []


def test_workers_answer_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)

    def reply(command: str, asked: dict[str, Any]) -> Answer:
        together.wait()
        return _answer("ok")

    async def reports() -> list[str]:
        workers = FakeWorker(), FakeWorker()
        for worker in workers:
            worker.reply = reply
        prover = _prover(*workers)
        return [
            r.status for r in await asyncio.gather(*(prover.check(STATEMENT, STATEMENT + " := h") for _ in range(4)))
        ]

    assert asyncio.run(reports()) == ["verified"] * 4


def test_a_second_worker_starts_only_when_the_first_has_no_time() -> None:
    async def ask() -> list[int]:
        workers = FakeWorker(), FakeWorker()
        prover = _prover(*workers)
        for _ in range(3):
            await prover.check(STATEMENT, STATEMENT + " := h")
        await prover.close()
        assert all(worker.closed for worker in workers)
        return sorted(len(worker.asked) for worker in workers)

    assert asyncio.run(ask()) == [0, 3]


def _twice(lean: FakeWorker, folder: Path, *toolchains: str) -> list[Report]:
    """One check by a prover after the other, all with the same folder of verdicts."""

    async def check(toolchain: str) -> Report:
        prover = _prover(lean, verdicts=Verdicts(folder, toolchain))
        report = await prover.check(STATEMENT, STATEMENT + " := h")
        await prover.close()
        return report

    return [asyncio.run(check(toolchain)) for toolchain in toolchains]


@pytest.mark.parametrize("reason", ["ok", "elaboration_error"])
def test_a_verdict_is_had_once(lean: FakeWorker, tmp_path: Path, reason: str) -> None:
    lean.reply = lambda *_: _answer(reason, "words")
    first, second = _twice(lean, tmp_path, "a", "a")
    assert (first.reason, len(lean.asked)) == (reason, 1)
    assert first == second


def test_another_toolchain_judges_anew(lean: FakeWorker, tmp_path: Path) -> None:
    _twice(lean, tmp_path, "a", "b")
    assert len(lean.asked) == 2


@pytest.mark.parametrize("fault", ["timeout", "crash", "protocol"])
def test_what_is_no_verdict_is_asked_again(lean: FakeWorker, tmp_path: Path, fault: str) -> None:
    def reply(*_: object) -> Answer:
        if len(lean.asked) == 1:
            raise WorkerError(fault, "words")
        return _answer("ok")

    lean.reply = reply
    assert [report.verified for report in _twice(lean, tmp_path, "a", "a")] == [False, True]


def test_the_gate_looks_before_the_cache(lean: FakeWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an older and laxer gate let through and Lean verified is not verified for that."""
    _twice(lean, tmp_path, "a")
    monkeypatch.setattr(prover_module, "gate", lambda text, mode: ["hit"])
    assert [report.reason for report in _twice(lean, tmp_path, "a")] == ["gate"]
