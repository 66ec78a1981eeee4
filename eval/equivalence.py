"""Mathematical equality by math-verify, in a process of its own that is killed when it takes too long.

Answers are model text: `9^{9^{9^9}}` keeps sympy busy for ever and takes all memory. math-verify's own time-outs rest
on signals, which work in the main thread only and do not stop one long multiplication.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

MEMORY = 4 * 2**30
"""Bytes that the comparing process may take."""


class MathVerifier:
    """Compares answers one at a time; a context manager, since it holds a process."""

    def __init__(self, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def same(self, gold: str, answer: str) -> bool | None:
        """Whether math-verify finds the answers equal; None where it gave no result within `timeout` seconds."""
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send((gold, answer))
            if self._pipe.poll(self._timeout):
                return bool(self._pipe.recv())
        except (EOFError, OSError):
            pass  # the process died of its memory limit
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        # Spawned and not forked: this process may hold a model and its threads.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()  # ready: the imports do not count as comparing


def _serve(pipe: Connection) -> None:
    import resource

    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)  # it warns about every missing time-out
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which ends this process
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    pipe.send("ready")
    while True:
        gold, answer = pipe.recv()
        parsed = [parse(f"${text}$", parsing_timeout=None) for text in (gold, answer)]
        pipe.send(verify(*parsed, timeout_seconds=None))
