"""One Lean process, asked through lean-interact, that is never trusted to answer.

What of lean-interact 0.11.6 is avoided, and why: its pool (`async_run_batch` raises on Python 3.11, `async_run`
deadlocks, `run` keeps every request for ever); `AutoLeanServer` (it restarts silently, after which numbers of
environments mean others; it sleeps while the whole machine's memory is above 80 %); a broken reply, which leaves the
process in use and every later reply off by one; stderr, which is piped and never read, so that 64 KiB of it stop the
process; requests without a time limit.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rltpf.prover.report import LeanMessage
from rltpf.prover.toolchains import Toolchain

if TYPE_CHECKING:
    from lean_interact import LeanServer

START_SECONDS = 600.0
REQUESTS_PER_PROCESS = 1000
MESSAGE_CHARACTERS = 4000


class WorkerError(Exception):
    """Lean gave no verdict: `reason` is `timeout`, `crash` or `protocol`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Answer:
    """A reply of the judge, whose fields are checked: anything unexpected is a `protocol` error."""

    def __init__(self, reply: dict[str, Any], seconds: float) -> None:
        try:
            self.ok: bool = reply["ok"]
            self.reason: str = reply["reason"]
            self.detail: str = reply["detail"]
            self.axioms: tuple[str, ...] = tuple(reply["axioms"])
            self.messages = tuple(
                LeanMessage(m["severity"], m["line"], m["column"], m["text"][:MESSAGE_CHARACTERS])
                for m in reply["messages"]
            )
            strings = (self.reason, self.detail, *self.axioms)
            well_typed = type(self.ok) is bool and all(type(value) is str for value in strings)
        except (KeyError, TypeError):
            well_typed = False
        if not well_typed or self.ok != (self.reason == "ok"):
            raise WorkerError("protocol", f"unexpected reply {json.dumps(reply)[:200]}")
        self.seconds = seconds


class Worker:
    """A Lean process that is started when needed, restarted after a fault, and renewed after a thousand requests.

    One thread at a time may use it. `timeout` is seconds of wall clock a request.
    """

    def __init__(self, toolchain: Toolchain, timeout: float) -> None:
        self._toolchain = toolchain
        self._timeout = timeout
        self._server: LeanServer | None = None
        self._requests = 0
        self._closed = False

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        """The judge's answer; raises `WorkerError` where there is none. A crash is retried once, on a new process."""
        try:
            return self._ask(command, arguments)
        except WorkerError as error:
            if error.reason != "crash" or self._closed:
                raise
            return self._ask(command, arguments)

    def close(self) -> None:
        """End the process, also from another thread while it answers."""
        self._closed = True
        self._stop()

    def _ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        server = self._ready()
        self._requests += 1
        return self._exchange(server, command, arguments, self._timeout)

    def _exchange(self, server: LeanServer, command: str, arguments: Mapping[str, object], timeout: float) -> Answer:
        # What Lean elaborates may write to stdout; it cannot know the number that the judge has to repeat.
        nonce = secrets.token_hex(16)
        began = time.perf_counter()
        try:
            reply = server.run_dict({"nonce": nonce, command: arguments}, timeout=timeout)
        except TimeoutError:
            self._stop()
            raise WorkerError("timeout", f"Lean did not answer within {timeout:g} seconds") from None
        except json.JSONDecodeError:
            self._stop()
            raise WorkerError("protocol", "the reply is no JSON") from None
        except (OSError, ChildProcessError, ValueError, AssertionError, AttributeError):
            self._stop()  # closed pipes show as any of these, depending on the moment
            raise WorkerError("crash", "Lean ended without an answer") from None
        seconds = time.perf_counter() - began
        try:
            if type(reply) is not dict or reply.get("nonce") != nonce:
                raise WorkerError("protocol", f"the reply does not repeat its number: {json.dumps(reply)[:200]}")
            if "message" in reply:
                raise WorkerError("protocol", f"the judge refused the request: {str(reply['message'])[:200]}")
            return Answer(reply, seconds)
        except WorkerError:
            self._stop()
            raise

    def _ready(self) -> LeanServer:
        if self._closed:
            raise WorkerError("crash", "the prover is closed")
        if self._server is not None and self._requests >= REQUESTS_PER_PROCESS:
            self._stop()  # a process never gives memory back
        if self._server is None:
            self._server = _start(self._toolchain)
            self._requests = 0
            # Loading Lean and the header is not the first check's time.
            arguments = {"header": self._toolchain.header, "statement": "theorem ready : True"}
            self._exchange(self._server, "elaborate", arguments, START_SECONDS)
        return self._server

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.kill()


def _start(toolchain: Toolchain) -> LeanServer:
    """A `LeanServer` whose process is ours: no stderr, and the toolchain's own command."""
    from lean_interact import LeanREPLConfig, LeanServer

    killing = threading.RLock()

    class Server(LeanServer):
        def kill(self) -> None:
            # `close` kills, and so does the thread that waits for the answer: the second would find half a process.
            with killing:
                super().kill()

        def start(self) -> None:
            self._proc = subprocess.Popen(
                toolchain.command,
                cwd=toolchain.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,
            )

    config = LeanREPLConfig(
        local_repl_path=str(toolchain.folder),
        build_repl=False,
        lake_path=toolchain.command[0],
        enable_parallel_elaboration=False,
        enable_incremental_optimization=False,
    )
    try:
        return Server(config)
    except OSError as error:
        raise WorkerError("crash", f"{toolchain.command[0]}: {error.strerror}") from None
