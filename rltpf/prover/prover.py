"""The prover that every stage asks: does it elaborate, does it prove, can it be proved, can it be refuted?"""

from __future__ import annotations

import asyncio
import dataclasses
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar

from rltpf.prover.answer import Answer, Judging, WorkerError
from rltpf.prover.gate import Mode, gate
from rltpf.prover.goals import Goal, Goals
from rltpf.prover.report import Report
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.verdicts import Verdicts

Result = TypeVar("Result")


class Prover:
    """Workers behind coroutines. A statement is definitions and a theorem header without proof.

    Only `verified` and `rejected` are verdicts (see `Report`). Every text passes the gate before Lean sees it, or the
    answer that `verdicts` keeps of it. Time in the queue does not count as time of a check.
    """

    def __init__(
        self, toolchain: Toolchain, workers: Sequence[Judging], max_heartbeats: int, verdicts: Verdicts | None = None
    ) -> None:
        self.toolchain_id = toolchain.id
        self.library = toolchain.library
        self._heartbeats = max_heartbeats
        self.default_header = toolchain.header
        self._verdicts = verdicts
        self._workers = workers
        # The one that was used last comes first: the others start only when there is work for them.
        self._idle: queue.LifoQueue[Judging] = queue.LifoQueue()
        for worker in workers:
            self._idle.put(worker)
        # As many threads as workers: a job that runs always finds an idle worker.
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix="lean")

    async def elaborates(self, statement: str, header: str | None = None) -> Report:
        """Whether Lean understands the statement; verified means that it elaborates, not that it holds."""
        if report := self._gated((statement, "statement")):
            return report
        arguments = {"header": self._header(header), "statement": statement}
        return await self._run(lambda worker: self._ask(worker, "elaborate", arguments)[0])

    async def check(self, statement: str, submission: str, header: str | None = None) -> Report:
        """Whether the submission, a whole Lean text, proves exactly the statement."""
        if report := self._gated((statement, "statement"), (submission, "file")):
            return report
        arguments = {"header": self._header(header), "statement": statement, "submission": submission}
        return await self._run(lambda worker: self._ask(worker, "check", arguments)[0])

    async def prove(self, statement: str, proof: str | None = None) -> Report:
        """Whether `proof`, a tactic block, or a tactic of the cascade proves the claim; `closed_by` says which.

        `vacuous` where the hypotheses contradict each other. Where nothing proves it, the messages are those of
        `proof`, or of the last tactic; the claim may still hold.
        """
        return await self._of(statement, lambda goals: goals.prove_claim(proof))

    async def close_goal(self, statement: str, goal: Goal) -> Report:
        """Whether a tactic of the cascade proves the goal, be it for contradictory hypotheses."""
        return await self._of(statement, lambda goals: goals.prove(goal))

    async def refute(self, statement: str) -> Report:
        """Whether the negation of the whole statement, quantifiers and hypotheses inside it, is proved.

        `flags` and `detail` name truncated differences and quotients, for which alone the statement may be false.
        """
        return await self._of(statement, Goals.refute)

    async def traps(self, statement: str, header: str | None = None) -> tuple[str, ...]:
        """What the statement says that its author may not mean, by name (see `traps`).

        None where it does not elaborate. Many proofs are tried: this is for data that is kept, not for every check.
        """
        if self._gated((statement, "statement")):
            return ()
        return await self._run(lambda worker: self._goals(worker, statement, header).traps())

    async def close(self) -> None:
        """End the processes; what is being checked ends as `infra`."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._workers))
        if self._verdicts is not None:
            self._verdicts.close()

    def _header(self, header: str | None) -> str:
        return limited(self.default_header if header is None else header, self._heartbeats)

    def _gated(self, *texts: tuple[str, Mode]) -> Report | None:
        hits = [hit for text, mode in texts for hit in gate(text, mode)]
        return Report("rejected", "gate", "; ".join(hits), toolchain=self.toolchain_id) if hits else None

    async def _run(self, job: Callable[[Judging], Result]) -> Result:
        def work() -> Result:
            worker = self._idle.get()
            try:
                return job(worker)
            finally:
                self._idle.put(worker)

        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _ask(self, worker: Judging, command: str, arguments: Mapping[str, object]) -> tuple[Report, Answer | None]:
        try:
            answer = self._verdicts.get(command, arguments) if self._verdicts is not None else None
            if answer is None:
                answer = worker.ask(command, arguments)
                if self._verdicts is not None:
                    self._verdicts.put(command, arguments, answer)
            return self._report(answer), answer
        except WorkerError as error:
            status: Literal["timeout", "infra"] = "timeout" if error.reason == "timeout" else "infra"
            return Report(status, error.reason, error.detail, toolchain=self.toolchain_id), None

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

    async def _of(self, statement: str, job: Callable[[Goals], Report]) -> Report:
        if report := self._gated((statement, "statement")):
            return report

        def work(worker: Judging) -> Report:
            goals = self._goals(worker, statement, None)
            report = job(goals)
            return dataclasses.replace(report, seconds=goals.seconds, toolchain=self.toolchain_id)

        return await self._run(work)

    def _goals(self, worker: Judging, statement: str, header: str | None) -> Goals:
        return Goals(
            statement,
            self._header(header),
            self.library,
            self._heartbeats,
            lambda command, arguments: self._ask(worker, command, arguments),
        )


def limited(header: str, max_heartbeats: int) -> str:
    """A header with Lean's own limit for every declaration after it."""
    return f"{header}\nset_option maxHeartbeats {max_heartbeats}"
