"""A Lean process of our own: blocks of bytes in and out, within a deadline, whatever the process does."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from typing import NoReturn

from rltpf.prover import resources
from rltpf.prover.answer import WorkerError
from rltpf.prover.toolchains import Toolchain

REPLY_BYTES = 16 * 1024 * 1024
STDERR_BYTES = 2000
CHUNK = 65536
END = b"\n\n"
ENDED = "Lean ended without an answer"
# How long the death of a process can go unseen while a descendant of it holds its stdout open.
LOOK_SECONDS = 0.5


class LeanProcess:
    """A process that answers one block, which ends with a blank line, to each block that it is given.

    Every fault raises `WorkerError`, after which the process must be killed: what it still writes would be taken for
    the answer to the next request. One thread at a time may ask; any thread may kill.
    """

    def __init__(self, toolchain: Toolchain) -> None:
        try:
            self._process = subprocess.Popen(
                toolchain.command,
                cwd=toolchain.folder,
                env=dict(toolchain.environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # its group is what is killed
            )
        except OSError as error:
            raise WorkerError("crash", f"{toolchain.command[0]}: {error.strerror}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in self._pipes)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._said = b""  # the end of stderr
        self._asking = threading.Lock()
        self._killing = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def quiet(self) -> bool:
        """Whether it lives and has nothing to say, as between two requests."""
        with self._asking:
            return not self._killed and not _readable(self._stdout)

    def exchange(self, request: bytes, seconds: float) -> bytes:
        """The reply to a request, both without their blank lines."""
        with self._asking:
            if self._killed:
                raise WorkerError("crash", "Lean was ended")
            deadline = time.monotonic() + seconds
            looked: tuple[float, float] | None = None
            unsent = memoryview(request + END)
            reply = bytearray()
            poll = select.poll()
            poll.register(self._stdin, select.POLLOUT)
            for descriptor in (self._stdout, self._stderr):
                poll.register(descriptor, select.POLLIN)
            while END not in reply[-CHUNK - 1 :]:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Hang(seconds, looked is None or self._was_busy(*looked))
                events = poll.poll(min(left, LOOK_SECONDS) * 1000)
                if not events and looked is None:  # only where it takes long, since looking takes time
                    looked = (time.monotonic(), resources.cpu_seconds(self.pid))
                if not events and resources.ended(self.pid):
                    self._fail("crash", ENDED)
                for descriptor, _ in events:
                    if descriptor == self._stdin:
                        unsent = unsent[self._write(unsent[:CHUNK]) :]
                        if not unsent:
                            poll.unregister(self._stdin)
                    elif descriptor == self._stderr:
                        if not self._listen():
                            poll.unregister(self._stderr)
                    else:
                        reply += self._read()
                        if len(reply) > REPLY_BYTES:
                            self._fail("protocol", f"the reply is longer than {REPLY_BYTES >> 20} MiB")
            block, _, rest = bytes(reply).partition(END)
            if rest or unsent:
                self._fail("protocol", "there is more than one reply to a request")
            return block

    def kill(self) -> None:
        """End the process and its group."""
        with self._killing:
            if self._killed:
                return
            self._killed = True
            # Not reaped so far, so the number is still its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        # Whoever waits for an answer sees the death; only then may the descriptors' numbers be used again.
        with self._asking:
            for pipe in self._pipes:
                pipe.close()

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._fail("crash", "Lean ended before it had read the request")

    def _read(self) -> bytes:
        try:
            data = os.read(self._stdout, CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._fail("crash", ENDED)
        return data

    def _listen(self) -> bool:
        try:
            data = os.read(self._stderr, CHUNK)
        except BlockingIOError:
            return True
        self._said = (self._said + data)[-STDERR_BYTES:]
        return bool(data)

    def _was_busy(self, since: float, cpu: float) -> bool:
        return resources.cpu_seconds(self.pid) - cpu >= (time.monotonic() - since) / 2

    def _fail(self, reason: str, fact: str) -> NoReturn:
        while _readable(self._stderr) and self._listen():
            pass
        said = self._said.decode(errors="replace").strip()
        raise WorkerError(reason, f"{fact}; it said: {said}" if said else fact)


class Hang(WorkerError):
    """No answer in time. `busy` tells whether Lean had a processor for at least half of that time."""

    def __init__(self, seconds: float, busy: bool) -> None:
        super().__init__("timeout", f"Lean did not answer within {seconds:g} seconds")
        self.busy = busy


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
