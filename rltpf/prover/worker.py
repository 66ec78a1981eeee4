"""One Lean process, asked by a judge's protocol, that is never trusted to answer.

The process is our own, and lean-interact serves where projects and versions are set up. What of its servers (0.11.6)
does not happen here:

- `async_run_batch` raises on Python 3.11, and `async_run` deadlocks with more tasks than threads: no pool of its kind.
- `LeanServerPool.run` keeps every request for ever: nothing of a request outlives its answer.
- `AutoLeanServer` restarts silently, and numbers of environments then mean others: a request holds all that it needs.
- It sleeps, then gives up, while the whole machine's memory is above 80 %: a process is renewed for its own memory.
- A reply that is no JSON leaves the process in use and every later reply off by one: here any anomaly ends it, and a
  reply repeats a number that what Lean elaborated cannot know.
- Requests have no time limit unless asked, and writing one to a process that does not read has none: all have one.
- Replies have no size limit, and stderr is piped but never read, so that 64 KiB of it stop the process: one is
  capped, the other drained.
- It ends the descendants that it sees at that moment: here the whole process group goes.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping

from rltpf.prover import resources
from rltpf.prover.answer import Answer, WorkerError, answer_to, parsed
from rltpf.prover.process import Hang, LeanProcess
from rltpf.prover.toolchains import Toolchain

START_SECONDS = 600.0
# Lean gives memory back, so the count is only for what would grow unseen: a start costs as much as a thousand checks.
REQUESTS_PER_PROCESS = 20_000
# Above what the process held when it was ready. WebAssembly ends at 4 GiB, of which the library takes half.
GROWTH_BYTES = 1024**3
REQUESTS_PER_LOOK = 25
# With Lean's own library at hand, text that slipped through the gate can change the parser or a linter for all that the
# process elaborates later, statements included: `3 * 3 = 10` would be read as `3 * 3 = 3 * 3`. Mathlib brings the
# library too, but takes too long to load for a process each.
_OPENS_LEAN = re.compile(r"^\s*(?:public\s+)?(?:meta\s+)?import\s+(?:all\s+)?Lean\b", re.MULTILINE)


class Worker:
    """A Lean process that is started when needed, and renewed after a fault, for its memory, and for its age.

    One thread at a time may use it. `timeout` is seconds of wall clock a request.
    """

    def __init__(self, toolchain: Toolchain, timeout: float) -> None:
        self._toolchain = toolchain
        self._timeout = timeout
        self._process: LeanProcess | None = None
        self._requests = 0
        self._ready_bytes = 0
        self._exposed = False
        self._closed = False
        self.starts = 0
        """Processes that were started so far."""

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        """The judge's answer; raises `WorkerError` where there is none.

        A fault may be the process's, from what it did before, or the machine's: the request is tried once more, on a
        fresh process. Not so where Lean was busy with it until the time was over: a second try would end the same.
        """
        try:
            return self._exchange(self._ready(), command, arguments, self._timeout)
        except WorkerError as error:
            if self._closed or (isinstance(error, Hang) and error.busy):
                raise
        return self._exchange(self._ready(), command, arguments, self._timeout)

    def close(self) -> None:
        """End the process, also from another thread while it answers."""
        self._closed = True
        self._stop()

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        process = self._process
        return None if process is None else process.pid

    def _exchange(self, process: LeanProcess, command: str, arguments: Mapping[str, object], timeout: float) -> Answer:
        # What Lean elaborates may write to stdout; it cannot know the number that the judge has to repeat.
        nonce = secrets.token_hex(16)
        self._requests += 1
        self._exposed |= _OPENS_LEAN.search(str(arguments["header"])) is not None
        try:
            request = json.dumps({"nonce": nonce, command: arguments}).encode()
            return answer_to(nonce, parsed(process.exchange(request, timeout)))
        except WorkerError:
            self._stop()
            raise

    def _ready(self) -> LeanProcess:
        process = self._process
        if process is not None and (self._exposed or self._worn(process) or not process.quiet()):
            self._stop()
            process = None
        return self._started() if process is None else process

    def _started(self) -> LeanProcess:
        if self._closed:
            raise WorkerError("crash", "the prover is closed")
        process = self._process = LeanProcess(self._toolchain)
        if self._closed:
            self._stop()  # `close` may have looked before there was a process
        self.starts += 1
        # Loading Lean and the header is not the first check's time.
        arguments = {"header": self._toolchain.header, "statement": "theorem ready : True"}
        try:
            self._exchange(process, "elaborate", arguments, START_SECONDS)
        except Hang:
            raise WorkerError("crash", f"Lean did not start within {START_SECONDS:g} seconds") from None
        self._requests = 0
        self._exposed = False
        self._ready_bytes = resources.own_bytes(process.pid)
        return process

    def _worn(self, process: LeanProcess) -> bool:
        """Whether it has served long enough. Finding its descendants takes a while, so not at every request."""
        if self._requests >= REQUESTS_PER_PROCESS:
            return True
        if self._requests % REQUESTS_PER_LOOK:
            return False
        return resources.own_bytes(process.pid) > self._ready_bytes + GROWTH_BYTES

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
