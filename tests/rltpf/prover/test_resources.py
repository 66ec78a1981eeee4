"""What processes use, seen on real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from rltpf.prover import resources

MEBIBYTE = 1 << 20
# A parent that does nothing, with a child that does what it is told.
CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
time.sleep(600)
"""


@pytest.fixture
def start() -> Iterator[Callable[[str], int]]:
    processes = []

    def start(code: str) -> int:
        processes.append(subprocess.Popen([sys.executable, "-c", CHILD, code], start_new_session=True))
        return processes[-1].pid

    yield start
    for process in processes:
        os.killpg(process.pid, 9)
        process.wait()


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_memory_of_descendants_counts(start: Callable[[str], int]) -> None:
    small = start("import time; time.sleep(600)")
    large = start("import time; held = bytearray(b'x') * (100 << 20); time.sleep(600)")
    _wait(lambda: resources.own_bytes(large) > 100 * MEBIBYTE)
    assert 0 < resources.own_bytes(small) < 50 * MEBIBYTE
    assert resources.own_bytes(large) < 150 * MEBIBYTE


def test_time_of_descendants_counts(start: Callable[[str], int]) -> None:
    busy = start("while True: pass")
    _wait(lambda: resources.cpu_seconds(busy) > 0.5)
    assert resources.cpu_seconds(start("import time; time.sleep(600)")) < 0.5


def test_only_a_dead_process_has_ended() -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    assert not resources.ended(process.pid)
    process.kill()
    _wait(lambda: resources.ended(process.pid))
    process.wait()


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert (resources.own_bytes(process.pid), resources.cpu_seconds(process.pid)) == (0, 0.0)
