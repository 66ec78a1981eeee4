"""Mathematical equality by math-verify, in a process of its own that ends itself when it takes too long.

Answers are model text: `9^{9^{9^9}}` keeps sympy busy for ever and takes all memory. math-verify's own time-outs are
Python signal handlers, which work in the main thread only and wait for the end of one long multiplication.
"""

from __future__ import annotations

import json
import logging
import re
import signal
import subprocess
import sys
from types import TracebackType
from typing import Self

from eval.extraction import mathematical, same, same_name, spelled

_BASE = re.compile(r"\d\s*_\s*\{?\s*(\d+)\s*\}?$")
_RELATION = re.compile(r"[<>≤≥≠]|\\(?:[lg]eq?|[lg]t|neq?)(?![a-zA-Z])")
MEMORY = 4 * 2**30
"""Bytes that the comparing process may take."""


class MathVerifier:
    """Compares answers one at a time; a context manager, since it holds a process."""

    def __init__(self, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None

    def equal(self, gold: str, answer: str) -> bool | None:
        """Whether the answers are equal exactly, or else by math-verify; None where that gave no result in time."""
        if same(gold, answer):
            return True
        # Two equations are compared as such, `x = 5` and `y = 5`.
        reading = mathematical if same_name(gold, answer) else spelled
        given, known = reading(answer), reading(gold)
        # Of these math-verify reads the digits alone.
        base = _BASE.search(given)
        if base and base[1] != (own[1] if (own := _BASE.search(known)) else "10"):
            return False
        if bool(_RELATION.match(given)) != bool(_RELATION.match(known)):
            return False
        return self.same(known, given)

    def same(self, gold: str, answer: str) -> bool | None:
        """Whether math-verify finds the answers equal; None where it gave no result within `timeout` seconds."""
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([gold, answer]) + "\n")
        self._process.stdin.flush()
        if reply := self._process.stdout.readline():
            return bool(json.loads(reply))
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[str]:
        # Not multiprocessing: its spawned children run the main script again.
        code = f"from eval.equivalence import serve; serve({self._timeout!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the command, which ends this process
        )
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":  # the imports do not count as comparing
            raise RuntimeError("math-verify did not start; its message is above")
        return process


def serve(timeout: float) -> None:
    """The comparing process: pairs of answers come in as JSON lines, `true` or `false` goes out for each."""
    import resource

    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)  # it warns about every missing time-out
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    # With no handler of Python's the kernel ends the process, whatever it is doing, and even if its parent is gone.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    print("ready", flush=True)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, timeout)
        gold, answer = (parse(f"${text}$", parsing_timeout=None) for text in json.loads(line))
        same = verify(gold, answer, timeout_seconds=None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(same), flush=True)
