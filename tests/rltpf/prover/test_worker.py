"""A worker against a REPL that lies, stops and dies."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rltpf.prover import process as process_module
from rltpf.prover import worker as worker_module
from rltpf.prover.answer import Answer, WorkerError
from rltpf.prover.report import LeanMessage
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.worker import Worker

# Answers the first request of a process, which is the start, then does what `mode` says; ` once` is for the first
# process alone. Its process id goes to `pids`.
FAKE_REPL = """
import json, os, pathlib, subprocess, sys, time
here = pathlib.Path(__file__).parent
with (here / "pids").open("a") as pids:
    print(os.getpid(), file=pids)
started = len((here / "pids").read_text().split())
count = 0
good = dict(ok=True, reason="ok", detail="", messages=[], axioms=[], milliseconds=250)
held = []
def write(reply):
    print(json.dumps(reply), end="\\n\\n", flush=True)
def stay():
    (here / "stays").touch()
    time.sleep(600)
for line in sys.stdin:
    if not line.strip():
        continue
    request = json.loads(line)
    nonce = request["nonce"]
    mode = (here / "mode").read_text() if count else "good"
    if mode.endswith(" once"):
        mode = mode.removesuffix(" once") if started == 1 else "good"
    count += 1
    if mode == "good":
        write(good | dict(nonce=nonce, detail=os.environ.get("GIVEN", "")))
    elif mode == "echo":
        message = dict(severity="error", line=2, column=3, text="x" * 5000)
        detail = json.dumps(request["check"])
        found = dict(ok=False, reason="replay", detail=detail, axioms=["propext"], messages=[message])
        write(good | found | dict(nonce=nonce))
    elif mode == "nonce":
        write(good | dict(nonce="0"))
    elif mode == "no nonce":
        write(good)
    elif mode == "junk":
        print("junk", end="\\n\\n", flush=True)
    elif mode == "deep":
        print("[" * 100_000, end="\\n\\n", flush=True)
    elif mode == "list":
        write([good])
    elif mode == "type":
        write(good | dict(ok=1, nonce=nonce))
    elif mode == "time":
        write(good | dict(milliseconds=-1, nonce=nonce))
    elif mode == "contradiction":
        write(good | dict(reason="axioms", nonce=nonce))
    elif mode == "message":
        write(dict(message="unknown command", nonce=nonce))
    elif mode == "two":
        print(json.dumps(good | dict(nonce=nonce)) + "\\n\\n" + json.dumps(good), end="\\n\\n", flush=True)
    elif mode == "late":
        write(good | dict(nonce=nonce))
        time.sleep(0.3)
        write(good)
    elif mode == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    elif mode == "sleep":
        stay()
    elif mode == "spin":
        while True:
            pass
    elif mode == "crash":
        sys.stderr.write("out of memory")
        sys.exit(1)
    elif mode == "orphan":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        os._exit(1)
    elif mode == "stderr":
        sys.stderr.write("x" * 1_000_000)
        write(good | dict(nonce=nonce))
    elif mode == "deaf":
        write(good | dict(nonce=nonce))
        stay()
    elif mode == "grow":
        held.append(bytearray(b"x") * (32 << 20))
        write(good | dict(nonce=nonce))
"""


class Repl:
    """The fake's folder and a worker on it."""

    def __init__(self, folder: Path) -> None:
        (folder / "repl.py").write_text(textwrap.dedent(FAKE_REPL))
        self.folder = folder
        command = (sys.executable, str(folder / "repl.py"))
        self.worker = Worker(Toolchain("fake", command, folder, "", "core", {"GIVEN": "alone"}), timeout=1)

    def ask(self, mode: str, **more: object) -> Answer:
        (self.folder / "mode").write_text(mode)
        return self.worker.ask("check", {"header": "", "statement": "s", **more})

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self.folder / "pids").read_text().split()]

    def wait_until_it_stays(self) -> None:
        _wait((self.folder / "stays").exists)


@pytest.fixture
def repl(tmp_path: Path) -> Iterator[Repl]:
    repl = Repl(tmp_path)
    yield repl
    repl.worker.close()
    assert not any(_runs(pid) for pid in repl.pids())


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_an_answer_is_read_and_its_texts_are_shortened(repl: Repl) -> None:
    answer = repl.ask("echo")
    assert (answer.ok, answer.reason, answer.detail, answer.axioms) == (
        False,
        "replay",
        '{"header": "", "statement": "s"}',
        ("propext",),
    )
    assert answer.messages == (LeanMessage("error", 2, 3, "x" * 4000),)
    assert answer.seconds == 0.25


def test_the_reply_of_an_answer_gives_the_answer_again(repl: Repl) -> None:
    answer = repl.ask("echo")
    assert vars(Answer(answer.to_json())) == vars(answer)


def test_a_process_gets_the_environment_of_its_toolchain_and_nothing_else(
    repl: Repl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN", "ours")
    assert repl.ask("good").detail == "alone"
    environment = Path(f"/proc/{repl.worker.pid}/environ").read_bytes()
    assert environment == b"GIVEN=alone\0"


def test_one_process_serves_many_requests(repl: Repl) -> None:
    assert all(repl.ask("good").ok for _ in range(5))
    assert len(repl.pids()) == 1


def test_a_process_is_renewed_after_its_share_of_requests(repl: Repl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "REQUESTS_PER_PROCESS", 2)
    for _ in range(5):
        repl.ask("good")
    assert len(repl.pids()) == 3


def test_a_process_is_renewed_when_its_own_memory_has_grown(repl: Repl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "REQUESTS_PER_LOOK", 1)
    monkeypatch.setattr(worker_module, "GROWTH_BYTES", 80 << 20)
    for _ in range(5):
        repl.ask("grow")
    # 32 MiB a request: the third takes it above 80, and the fourth meets a new process.
    assert len(repl.pids()) == 2


def test_a_process_is_not_used_again_where_text_could_reach_leans_own_library(repl: Repl) -> None:
    for header in (
        "import Mathlib",
        "import Lean.Data.Rat",
        "-- import Lean",
        "import Init\n import all Lean.Elab",
        "",
    ):
        repl.ask("good", header=header)
    assert len(repl.pids()) == 3


ANOMALIES = ["nonce", "no nonce", "junk", "deep", "list", "type", "time", "contradiction", "message", "two"]


@pytest.mark.parametrize("mode", ANOMALIES)
def test_an_anomaly_ends_the_process_and_is_no_verdict(repl: Repl, mode: str) -> None:
    with pytest.raises(WorkerError, match=r"^protocol:"):
        repl.ask(mode)
    assert not any(_runs(pid) for pid in repl.pids())
    assert repl.ask("good").ok
    assert len(repl.pids()) == 3


@pytest.mark.parametrize("mode", [*ANOMALIES, "flood", "sleep", "crash", "orphan"])
def test_a_fault_costs_one_try_on_a_new_process(repl: Repl, mode: str) -> None:
    assert repl.ask(f"{mode} once").ok
    assert len(repl.pids()) == 2
    assert not _runs(repl.pids()[0])


def test_what_comes_after_an_answer_is_not_the_next_answer(repl: Repl) -> None:
    assert repl.ask("late").ok
    process = repl.worker._process
    assert process is not None
    _wait(lambda: not process.quiet())
    assert repl.ask("echo").reason == "replay"
    assert len(repl.pids()) == 2


def test_a_flood_ends_the_process_and_not_us(repl: Repl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "REPLY_BYTES", 1 << 20)
    with pytest.raises(WorkerError, match=r"^protocol: the reply is longer than 1 MiB"):
        repl.ask("flood")


def test_a_process_that_sleeps_through_two_tries_has_timed_out(repl: Repl) -> None:
    with pytest.raises(WorkerError, match=r"^timeout: Lean did not answer within 1 seconds"):
        repl.ask("sleep")
    assert len(repl.pids()) == 2
    assert not any(_runs(pid) for pid in repl.pids())


@pytest.mark.parametrize(("share", "tries"), [(0.9, 1), (0.1, 2)])
def test_a_process_that_was_busy_until_its_time_was_over_is_not_tried_again(
    repl: Repl, monkeypatch: pytest.MonkeyPatch, share: float, tries: int
) -> None:
    """Busy is who had a processor for half of the time."""
    monkeypatch.setattr(process_module.resources, "cpu_seconds", lambda pid: share * time.monotonic())
    with pytest.raises(WorkerError, match=r"^timeout:"):
        repl.ask("spin")
    assert len(repl.pids()) == tries
    assert repl.ask("good").ok


def test_a_request_to_a_process_that_does_not_read_has_a_time_limit(repl: Repl) -> None:
    repl.ask("deaf")
    assert repl.ask("good", submission="x" * 1_000_000).ok
    assert len(repl.pids()) == 2


def test_two_crashes_are_no_verdict_and_say_what_lean_said(repl: Repl) -> None:
    with pytest.raises(WorkerError, match=r"^crash: Lean ended without an answer; it said: out of memory$"):
        repl.ask("crash")
    assert len(repl.pids()) == 2


def test_a_death_is_seen_though_a_descendant_holds_the_pipe(repl: Repl) -> None:
    repl.worker._timeout = 60
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"^crash:"):
        repl.ask("orphan")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_killed_or_stopped_from_outside_costs_one_try(repl: Repl, number: signal.Signals) -> None:
    repl.ask("good")
    os.kill(repl.pids()[0], number)
    assert repl.ask("echo").reason == "replay"
    assert len(repl.pids()) == 2


def test_a_flood_on_stderr_does_not_block(repl: Repl) -> None:
    assert repl.ask("stderr").ok
    assert len(repl.pids()) == 1


def test_a_program_that_cannot_be_started_is_a_crash(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"^crash: /missing: No such file"):
        Worker(Toolchain("fake", ("/missing",), tmp_path, "", "core"), 2).ask("check", {"header": ""})


def test_a_start_that_takes_too_long_is_no_time_out_of_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "START_SECONDS", 0.2)
    with pytest.raises(WorkerError, match=r"^crash: Lean did not start within 0.2 seconds"):
        Worker(Toolchain("fake", ("/bin/sleep", "600"), tmp_path, "", "core"), 2).ask("check", {"header": ""})


def test_a_fake_lake_carries_the_protocol(repl: Repl, tmp_path: Path) -> None:
    """The native command line, `lake env <judge>`, with a lake that only starts what it is given."""
    lake = tmp_path / "lake"
    lake.write_text('#!/bin/sh\n[ "$1" = env ] && shift && exec "$@"\n')
    lake.chmod(0o755)
    command = (str(lake), "env", sys.executable, str(tmp_path / "repl.py"))
    (tmp_path / "mode").write_text("good")
    native = Worker(Toolchain("fake", command, tmp_path, "", "core"), 2)
    assert native.ask("check", {"header": ""}).ok
    native.close()
    assert not _runs(repl.pids()[0])


def test_closing_ends_a_request_and_starts_nothing_new(repl: Repl) -> None:
    repl.worker._timeout = 60
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(repl.ask, "sleep")
        repl.wait_until_it_stays()
        repl.worker.close()
        assert isinstance(asked.exception(timeout=10), WorkerError)
    with pytest.raises(WorkerError, match="the prover is closed"):
        repl.ask("good")
    assert len(repl.pids()) == 1


def test_many_threads_may_end_one_process(repl: Repl) -> None:
    """An interrupt closes the worker while the thread that waits for the answer finds the process dead."""
    repl.ask("good")
    process = repl.worker._process
    assert process is not None
    together = threading.Barrier(8)

    def kill() -> None:
        together.wait()
        process.kill()

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(kill) for _ in range(8)]:
            done.result()
    assert not _runs(repl.pids()[0])


def test_nothing_of_a_request_is_kept(repl: Repl) -> None:
    """Neither threads, nor descriptors, nor memory."""
    repl.ask("good", submission="x" * 100_000)
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    held = _resident()
    for _ in range(2000):
        repl.ask("good", submission="x" * 100_000)
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == (descriptors, threads)
    assert _resident() - held < 20 << 20  # the requests were 200 MB


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
