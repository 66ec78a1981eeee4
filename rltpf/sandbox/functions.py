"""Calls of functions that a model wrote, each in a process of its own that can do nothing but calculate."""

from __future__ import annotations

import json
import math
import os
import secrets
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

from rltpf.errors import RunError
from rltpf.sandbox import values
from rltpf.sandbox.child import FAULT, NUMBER_BYTES, READY, RESULT_BYTES
from rltpf.sandbox.command import ROOT
from rltpf.sandbox.values import Value

Failure = Literal["syntax", "gate", "timeout", "memory", "exception", "protocol", "result"]

START_SECONDS = 60.0
MEMORY = 512 * 1024**2
_MAIN = f"import sys; sys.path.append({str(ROOT)!r}); from rltpf.sandbox.child import main; main()"
# The same hashes in every process: the order of a set of strings is part of what a function computes.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


@dataclass(frozen=True)
class Outcome:
    """What a call gave: `value`, or the code of a `failure` and its `detail`. The seconds are of the call alone."""

    value: Value = None
    failure: Failure | None = None
    detail: str = ""
    seconds: float = 0.0


def run_function(
    source: str, name: str, arguments: Sequence[Value], seconds: float = 5.0, memory: int = MEMORY
) -> Outcome:
    """Call the function `name` that `source` defines, within `seconds` of wall clock and `memory` bytes.

    The result says what the function returned, and nothing about whether it is right: compare it here, never there. The
    same source and arguments give the same result, as far as the function depends on nothing but them: `random` is
    seeded. Raises `RunError` where this machine cannot confine it, and `ValueError` for an argument that is no value.
    """
    encoded = [values.encode(argument) for argument in arguments]
    number = secrets.token_hex(NUMBER_BYTES // 2).encode()
    receiver, sender = os.pipe()
    request = {
        "parent": os.getpid(),
        "out": sender,
        "memory": memory,
        # A function that sleeps takes none, so the wall clock is what ends calls; this holds where nobody looks.
        "cpu_seconds": math.ceil(seconds) + 1,
        "source": source,
        "name": name,
        "arguments": encoded,
    }
    data = json.dumps(request).encode()
    with open(receiver, "rb", buffering=0) as replies, tempfile.TemporaryFile() as questions:
        questions.write(len(data).to_bytes(8, "big") + data + number)
        questions.seek(0)
        try:
            # No -I: it would forget the environment, which is ours.
            process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-S", "-c", _MAIN],
                stdin=questions,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[sender],
                env=_ENVIRONMENT,
                cwd="/",
            )
        finally:
            os.close(sender)
        try:
            outcome = _outcome(process, replies, number, seconds)
        finally:
            process.kill()
            process.wait()
    return outcome


def _outcome(process: subprocess.Popen[bytes], replies: IO[bytes], number: bytes, seconds: float) -> Outcome:
    first = _receive(replies, START_SECONDS, 1)
    if first != READY:
        reason = (_receive(replies, 1, 1000) or b"").decode(errors="replace") if first == FAULT else "it did not start"
        raise RunError(f"Python functions cannot be confined on this machine ({sys.platform}): {reason}")
    began = time.perf_counter()
    reply = _receive(replies, seconds, len(number) + RESULT_BYTES + 1)
    spent = time.perf_counter() - began
    if reply is None:
        return Outcome(failure="timeout", detail=f"no result within {seconds:g} seconds", seconds=spent)
    if not reply:
        code = process.wait()
        return Outcome(failure="protocol", detail=f"its process ended with {code} and no result", seconds=spent)
    if reply[: len(number)] != number:
        return Outcome(failure="protocol", detail="something was written in the result's place", seconds=spent)
    try:
        found = json.loads(reply[len(number) :], parse_constant=_refuse)
        if type(found) is dict and found.keys() == {"value"}:
            return Outcome(value=values.decode(found["value"]), seconds=spent)
    except (ValueError, RecursionError) as error:
        return Outcome(failure="protocol", detail=f"the result cannot be read: {error}"[:300], seconds=spent)
    return _failure(found, spent)


def _failure(found: Any, spent: float) -> Outcome:
    reported = ("syntax", "gate", "memory", "exception", "result")
    if type(found) is dict and found.keys() == {"failure", "detail"} and found["failure"] in reported:
        return Outcome(failure=found["failure"], detail=str(found["detail"]), seconds=spent)
    return Outcome(failure="protocol", detail="the reply is neither a value nor a failure", seconds=spent)


def _receive(replies: IO[bytes], seconds: float, most: int) -> bytes | None:
    """Up to `most` bytes, fewer where they end; None when the time is over before."""
    deadline = time.monotonic() + seconds
    data = b""
    poll = select.poll()
    poll.register(replies, select.POLLIN)
    while len(data) < most:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        piece = replies.read(most - len(data))
        if not piece:
            break
        data += piece
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")
