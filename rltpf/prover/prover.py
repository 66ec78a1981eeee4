"""The prover that every stage asks: does it elaborate, does it prove, can it be proved, can it be refuted?"""

from __future__ import annotations

import asyncio
import dataclasses
import queue
import textwrap
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from rltpf.prover.cascade import tactics
from rltpf.prover.gate import Mode, gate
from rltpf.prover.report import Report
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.worker import Answer, Worker, WorkerError

Goal = Literal["claim", "denial", "absurdity"]
"""What is made of a statement's type by changing its conclusion C: C itself, `¬ C`, or `False`."""


class Prover:
    """Lean processes behind coroutines. A statement is definitions and a theorem header without proof.

    Only `verified` and `rejected` are verdicts (see `Report`). Every text passes the gate before Lean sees it. Time in
    the queue does not count as time of a check.
    """

    def __init__(self, toolchain: Toolchain, workers: int, timeout: float, max_heartbeats: int) -> None:
        self.toolchain_id = toolchain.id
        self._library = toolchain.library
        self._heartbeats = max_heartbeats
        self._default_header = toolchain.header
        ready = dataclasses.replace(toolchain, header=self._header(None))
        self._workers = [Worker(ready, timeout) for _ in range(workers)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # As many threads as workers: a job that runs always finds an idle worker.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="lean")

    async def elaborates(self, statement: str, header: str | None = None) -> Report:
        """Whether Lean understands the statement; verified means that it elaborates, not that it holds."""
        if report := self._gated((statement, "statement")):
            return report
        arguments = {"header": self._header(header), "statement": statement}
        return await self._run(lambda worker: self._ask(worker, "elaborate", arguments))

    async def check(self, statement: str, submission: str, header: str | None = None) -> Report:
        """Whether the submission, a whole Lean text, proves exactly the statement."""
        if report := self._gated((statement, "statement"), (submission, "file")):
            return report
        arguments = {"header": self._header(header), "statement": statement, "submission": submission}
        return await self._run(lambda worker: self._ask(worker, "check", arguments))

    async def prove(self, statement: str, goal: Goal = "claim", proof: str | None = None) -> Report:
        """Whether `proof`, a tactic block, or a tactic of the cascade proves the goal; `closed_by` says which.

        Where nothing proves it, the messages are those of `proof`, or of the last tactic; the goal may still hold.
        """
        if report := self._gated((statement, "statement")):
            return report
        return await self._run(lambda worker: self._prove(worker, statement, goal, proof))

    async def refute(self, statement: str) -> Report:
        """Whether the conclusion is false under hypotheses that do not contradict each other (then it is `vacuous`).

        From contradictory hypotheses everything follows, the denial too: such a statement is neither true nor false.
        """
        if report := self._gated((statement, "statement")):
            return report

        def job(worker: Worker) -> Report:
            denial = self._prove(worker, statement, "denial", None)
            if not denial.verified:
                return denial
            absurdity = self._prove(worker, statement, "absurdity", None)
            seconds = denial.seconds + absurdity.seconds
            if absurdity.verified:
                return dataclasses.replace(
                    absurdity,
                    status="rejected",
                    reason="vacuous",
                    detail="the hypotheses are contradictory",
                    seconds=seconds,
                )
            if not absurdity.decided:
                return dataclasses.replace(absurdity, seconds=seconds)
            return dataclasses.replace(denial, seconds=seconds)

        return await self._run(job)

    async def close(self) -> None:
        """End the processes; what is being checked ends as `infra`."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._workers))

    def _header(self, header: str | None) -> str:
        return f"{self._default_header if header is None else header}\nset_option maxHeartbeats {self._heartbeats}"

    def _gated(self, *texts: tuple[str, Mode]) -> Report | None:
        hits = [hit for text, mode in texts for hit in gate(text, mode)]
        return Report("rejected", "gate", "; ".join(hits), toolchain=self.toolchain_id) if hits else None

    async def _run(self, job: Callable[[Worker], Report]) -> Report:
        def work() -> Report:
            worker = self._idle.get()
            try:
                return job(worker)
            finally:
                self._idle.put(worker)

        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _ask(self, worker: Worker, command: str, arguments: Mapping[str, object]) -> Report:
        try:
            return self._report(worker.ask(command, arguments))
        except WorkerError as error:
            status: Literal["timeout", "infra"] = "timeout" if error.reason == "timeout" else "infra"
            return Report(status, error.reason, error.detail, toolchain=self.toolchain_id)

    def _report(self, answer: Answer) -> Report:
        return Report(
            status="verified" if answer.ok else "rejected",
            reason=answer.reason,
            detail=answer.detail,
            messages=answer.messages,
            axioms=answer.axioms,
            seconds=answer.seconds,
            toolchain=self.toolchain_id,
        )

    def _prove(self, worker: Worker, statement: str, goal: Goal, proof: str | None) -> Report:
        attempts = [(t.text, t.text, min(t.heartbeats, self._heartbeats)) for t in tactics(self._library)]
        failures: list[Report] = []
        seconds = 0.0
        if proof is not None:
            if hits := gate(proof, "proof"):
                failures.append(Report("rejected", "gate", "; ".join(hits), toolchain=self.toolchain_id))
            else:
                attempts.insert(0, ("model", proof, self._heartbeats))
        for name, text, heartbeats in attempts:
            report = self._attempt(worker, statement, goal, text, heartbeats)
            seconds += report.seconds
            if report.verified or report.reason in ("statement_error", "header_error"):
                return dataclasses.replace(report, closed_by=name if report.verified else "", seconds=seconds)
            failures.append(report)
        # Where Lean gave no verdict on one attempt, there is none on the goal.
        undecided = [report for report in failures if not report.decided]
        outcome = (undecided or failures)[0] if undecided or proof is not None else failures[-1]
        if outcome.reason in ("axioms", "replay", "type_mismatch"):
            outcome = dataclasses.replace(outcome, reason="unproved")
        return dataclasses.replace(outcome, seconds=seconds)

    def _attempt(self, worker: Worker, statement: str, goal: Goal, tactic: str, heartbeats: int) -> Report:
        # The judge puts the block at the left margin; the columns of its messages are put back.
        block = textwrap.dedent(tactic)
        margin = len(tactic.split("\n")[0]) - len(block.split("\n")[0])
        arguments = {
            "header": self._header(None),
            "statement": statement,
            "goal": goal,
            "tactic": block,
            "heartbeats": heartbeats,
        }
        report = self._ask(worker, "prove", arguments)
        if not margin:
            return report
        messages = tuple(dataclasses.replace(m, column=m.column + margin) for m in report.messages)
        return dataclasses.replace(report, messages=messages)
