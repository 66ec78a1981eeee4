"""What the prover makes of Lean's answers, without Lean."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltpf.prover import prover as prover_module
from rltpf.prover.cascade import CORE
from rltpf.prover.prover import Prover
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.worker import Answer, WorkerError

STATEMENT = "theorem step (x : Rat) (h : x = 2) : x = 2"
TACTICS = [tactic.text for tactic in CORE]
Reply = Callable[[str, dict[str, Any]], Answer]


def _answer(reason: str, text: str = "") -> Answer:
    messages = [{"severity": "error", "line": 1, "column": 2, "text": text}] if text else []
    reply = {"ok": reason == "ok", "reason": reason, "detail": "", "axioms": [], "messages": messages}
    return Answer(reply, seconds=1.0)


class FakeWorker:
    """Asks the test instead of Lean, and notes what was asked."""

    reply: Reply
    asked: list[dict[str, Any]]

    def __init__(self, toolchain: Toolchain, timeout: float) -> None:
        self.toolchain = toolchain

    def ask(self, command: str, arguments: dict[str, Any]) -> Answer:
        self.asked.append({"command": command, **arguments})
        return type(self).reply(command, arguments)

    def close(self) -> None:
        pass


@pytest.fixture
def lean(monkeypatch: pytest.MonkeyPatch) -> type[FakeWorker]:
    class Worker(FakeWorker):
        asked = []  # noqa: RUF012

    monkeypatch.setattr(prover_module, "Worker", Worker)
    return Worker


def _prover(workers: int = 1) -> Prover:
    return Prover(Toolchain("fake-lean", ("lean",), Path(), "open Nat", "core"), workers, 10, 70_000)


def _only(proves: set[tuple[str, str]]) -> Reply:
    return lambda _, asked: _answer("ok" if (asked["goal"], asked["tactic"]) in proves else "unproved", asked["tactic"])


def _asked(lean: type[FakeWorker]) -> list[tuple[str, str]]:
    return [(asked["goal"], asked["tactic"]) for asked in lean.asked]


def test_the_cascade_ends_at_the_first_tactic_that_proves(lean: type[FakeWorker]) -> None:
    lean.reply = _only({("claim", TACTICS[1])})  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT))
    assert (report.status, report.reason, report.closed_by) == ("verified", "ok", TACTICS[1])
    assert (report.seconds, report.toolchain) == (2.0, "fake-lean")
    assert _asked(lean) == [("claim", TACTICS[0]), ("claim", TACTICS[1])]
    assert {asked["header"] for asked in lean.asked} == {"open Nat\nset_option maxHeartbeats 70000"}
    assert [asked["heartbeats"] for asked in lean.asked] == [min(t.heartbeats, 70_000) for t in CORE[:2]]


def test_the_models_proof_is_tried_first(lean: type[FakeWorker]) -> None:
    lean.reply = _only({("claim", "exact h")})  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT, proof="exact h"))
    assert (report.closed_by, _asked(lean)) == ("model", [("claim", "exact h")])
    assert lean.asked[0]["heartbeats"] == 70_000


def test_unproved_keeps_the_messages_of_the_models_proof(lean: type[FakeWorker]) -> None:
    lean.reply = _only(set())  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT, proof="  rfl\n  done"))
    assert (report.status, report.reason, report.closed_by) == ("rejected", "unproved", "")
    # The block was dedented for Lean; its columns are those of the proof as given.
    assert [(m.text, m.line, m.column) for m in report.messages] == [("rfl\ndone", 1, 4)]
    assert len(lean.asked) == 1 + len(TACTICS)


def test_unproved_without_a_proof_keeps_the_messages_of_the_last_tactic(lean: type[FakeWorker]) -> None:
    lean.reply = _only(set())  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT))
    assert [m.text for m in report.messages] == [TACTICS[-1]]
    assert report.seconds == len(TACTICS)


def test_a_gated_proof_never_reaches_lean_but_the_cascade_does(lean: type[FakeWorker]) -> None:
    lean.reply = _only(set())  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT, proof="native_decide"))
    assert (report.status, report.reason) == ("rejected", "gate")
    assert "native_decide" in report.detail
    assert [tactic for _, tactic in _asked(lean)] == TACTICS


def test_a_statement_error_ends_the_cascade(lean: type[FakeWorker]) -> None:
    lean.reply = lambda *_: _answer("statement_error")  # type: ignore[method-assign, assignment, misc]
    report = asyncio.run(_prover().prove(STATEMENT))
    assert (report.status, report.reason, len(lean.asked)) == ("rejected", "statement_error", 1)


@pytest.mark.parametrize(("fault", "status"), [("timeout", "timeout"), ("crash", "infra"), ("protocol", "infra")])
def test_without_an_answer_there_is_no_verdict(lean: type[FakeWorker], fault: str, status: str) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["tactic"] == TACTICS[0]:
            raise WorkerError(fault, "words")
        return _answer("unproved")

    lean.reply = reply  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().prove(STATEMENT, proof="rfl"))
    assert (report.status, report.reason, report.decided) == (status, fault, False)


def test_a_proof_after_a_fault_counts(lean: type[FakeWorker]) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["tactic"] == TACTICS[0]:
            raise WorkerError("crash", "words")
        return _answer("ok")

    lean.reply = reply  # type: ignore[method-assign, assignment]
    assert asyncio.run(_prover().prove(STATEMENT)).closed_by == TACTICS[1]


def test_refuted_where_the_denial_is_proved_and_absurdity_is_not(lean: type[FakeWorker]) -> None:
    lean.reply = _only({("denial", TACTICS[0])})  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().refute(STATEMENT))
    assert (report.status, report.reason, report.closed_by) == ("verified", "ok", TACTICS[0])
    assert report.seconds == 1 + len(TACTICS)


def test_contradictory_hypotheses_refute_nothing(lean: type[FakeWorker]) -> None:
    lean.reply = _only({("denial", TACTICS[0]), ("absurdity", TACTICS[1])})  # type: ignore[method-assign, assignment]
    report = asyncio.run(_prover().refute(STATEMENT))
    assert (report.status, report.reason, report.seconds) == ("rejected", "vacuous", 3.0)


def test_not_refuted_where_absurdity_has_no_answer(lean: type[FakeWorker]) -> None:
    def reply(_: str, asked: dict[str, Any]) -> Answer:
        if asked["goal"] == "absurdity":
            raise WorkerError("timeout", "words")
        return _answer("ok")

    lean.reply = reply  # type: ignore[method-assign, assignment]
    assert asyncio.run(_prover().refute(STATEMENT)).status == "timeout"


def test_nothing_that_the_gate_stops_reaches_lean(lean: type[FakeWorker]) -> None:
    async def reports() -> list[str]:
        prover, bad = _prover(), "theorem t : True := by trivial\nrun_cmd pure ()"
        found = [
            await prover.elaborates(bad),
            await prover.check(bad, STATEMENT),
            await prover.check(STATEMENT, bad),
            await prover.prove(bad),
            await prover.refute(bad),
        ]
        assert all(report.status == "rejected" and "run_cmd" in report.detail for report in found)
        return [report.reason for report in found]

    assert asyncio.run(reports()) == ["gate"] * 5
    assert lean.asked == []


def test_workers_answer_at_the_same_time(lean: type[FakeWorker]) -> None:
    together = threading.Barrier(2, timeout=10)

    def reply(command: str, asked: dict[str, Any]) -> Answer:
        together.wait()
        return _answer("ok")

    async def reports() -> list[str]:
        prover = _prover(workers=2)
        return [
            r.status for r in await asyncio.gather(*(prover.check(STATEMENT, STATEMENT + " := h") for _ in range(4)))
        ]

    lean.reply = reply  # type: ignore[method-assign, assignment]
    assert asyncio.run(reports()) == ["verified"] * 4
