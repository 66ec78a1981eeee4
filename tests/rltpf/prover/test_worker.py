"""A worker against a REPL that lies, stops and dies."""

from __future__ import annotations

import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rltpf.prover import worker as worker_module
from rltpf.prover.report import LeanMessage
from rltpf.prover.toolchains import Toolchain
from rltpf.prover.worker import Worker, WorkerError

# Answers the first request of a process, which is the start, then does what `mode` says. Its process id goes to `pids`.
FAKE_REPL = """
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
with (here / "pids").open("a") as pids:
    print(os.getpid(), file=pids)
started = len((here / "pids").read_text().split())
count = 0
good = dict(ok=True, reason="ok", detail="", messages=[], axioms=[])
def write(reply):
    print(json.dumps(reply), end="\\n\\n", flush=True)
for line in sys.stdin:
    if not line.strip():
        continue
    request = json.loads(line)
    nonce = request["nonce"]
    mode = (here / "mode").read_text() if count else "good"
    count += 1
    if mode == "good":
        write(good | dict(nonce=nonce))
    elif mode == "echo":
        message = dict(severity="error", line=2, column=3, text="x" * 5000)
        detail = json.dumps(request["check"])
        write(dict(ok=False, reason="replay", detail=detail, axioms=["propext"], messages=[message], nonce=nonce))
    elif mode == "nonce":
        write(good | dict(nonce="0"))
    elif mode == "no nonce":
        write(good)
    elif mode == "junk":
        print("junk", end="\\n\\n", flush=True)
    elif mode == "list":
        write([good])
    elif mode == "type":
        write(good | dict(ok=1, nonce=nonce))
    elif mode == "contradiction":
        write(good | dict(reason="axioms", nonce=nonce))
    elif mode == "message":
        write(dict(message="unknown command", nonce=nonce))
    elif mode == "forged":
        write(good | dict(nonce=nonce))
        write(good)
    elif mode == "hang":
        time.sleep(600)
    elif mode == "crash" or mode == "crash once" and started == 1:
        sys.exit(1)
    elif mode == "crash once":
        write(good | dict(nonce=nonce))
    elif mode == "stderr":
        sys.stderr.write("x" * 1_000_000)
        write(good | dict(nonce=nonce))
"""


class Repl:
    """The fake's folder and a worker on it."""

    def __init__(self, folder: Path) -> None:
        (folder / "repl.py").write_text(textwrap.dedent(FAKE_REPL))
        self.folder = folder
        toolchain = Toolchain("fake", (sys.executable, str(folder / "repl.py")), folder, "", "core")
        self.worker = Worker(toolchain, timeout=2)

    def ask(self, mode: str) -> worker_module.Answer:
        (self.folder / "mode").write_text(mode)
        return self.worker.ask("check", {"statement": "s"})

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self.folder / "pids").read_text().split()]


@pytest.fixture
def repl(tmp_path: Path):  # type: ignore[no-untyped-def]
    repl = Repl(tmp_path)
    yield repl
    repl.worker.close()
    assert not any(_runs(pid) for pid in repl.pids())


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_an_answer_is_read_and_its_texts_are_shortened(repl: Repl) -> None:
    answer = repl.ask("echo")
    assert (answer.ok, answer.reason, answer.detail, answer.axioms) == (
        False,
        "replay",
        '{"statement": "s"}',
        ("propext",),
    )
    assert answer.messages == (LeanMessage("error", 2, 3, "x" * 4000),)


def test_one_process_serves_many_requests(repl: Repl) -> None:
    assert all(repl.ask("good").ok for _ in range(5))
    assert len(repl.pids()) == 1


def test_a_process_is_renewed_after_its_share_of_requests(repl: Repl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "REQUESTS_PER_PROCESS", 2)
    for _ in range(5):
        repl.ask("good")
    assert len(repl.pids()) == 3


@pytest.mark.parametrize("mode", ["nonce", "no nonce", "junk", "list", "type", "contradiction", "message"])
def test_an_anomaly_ends_the_process_and_is_no_verdict(repl: Repl, mode: str) -> None:
    with pytest.raises(WorkerError, match=r"^protocol:"):
        repl.ask(mode)
    assert not _runs(repl.pids()[0])
    assert repl.ask("good").ok
    assert len(repl.pids()) == 2


def test_a_forged_reply_is_not_taken_for_the_next_answer(repl: Repl) -> None:
    assert repl.ask("forged").ok
    with pytest.raises(WorkerError, match=r"^protocol:"):
        repl.ask("echo")
    assert repl.ask("echo").reason == "replay"


def test_a_hang_is_a_timeout_and_ends_the_process(repl: Repl) -> None:
    with pytest.raises(WorkerError, match=r"^timeout: Lean did not answer within 2 seconds"):
        repl.ask("hang")
    assert not _runs(repl.pids()[0])
    assert repl.ask("good").ok


def test_a_crash_is_retried_once(repl: Repl) -> None:
    assert repl.ask("crash once").ok
    assert len(repl.pids()) == 2


def test_two_crashes_are_no_verdict(repl: Repl) -> None:
    with pytest.raises(WorkerError, match=r"^crash:"):
        repl.ask("crash")
    assert len(repl.pids()) == 2


def test_a_flood_on_stderr_does_not_block(repl: Repl) -> None:
    assert repl.ask("stderr").ok


def test_a_program_that_cannot_be_started_is_a_crash(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"^crash: /missing: No such file"):
        Worker(Toolchain("fake", ("/missing",), tmp_path, "", "core"), 2).ask("check", {})


def test_a_fake_lake_carries_the_protocol(repl: Repl, tmp_path: Path) -> None:
    """The native command line, `lake env <judge>`, with a lake that only starts what it is given."""
    lake = tmp_path / "lake"
    lake.write_text('#!/bin/sh\n[ "$1" = env ] && shift && exec "$@"\n')
    lake.chmod(0o755)
    command = (str(lake), "env", sys.executable, str(tmp_path / "repl.py"))
    (tmp_path / "mode").write_text("good")
    native = Worker(Toolchain("fake", command, tmp_path, "", "core"), 2)
    assert native.ask("check", {}).ok
    native.close()
    assert not _runs(repl.pids()[0])


def test_two_threads_may_end_one_process(repl: Repl) -> None:
    """An interrupt closes the worker while the thread that waits for the answer finds the process dead."""
    repl.ask("good")
    server = repl.worker._server
    assert server is not None
    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(server.kill) for _ in range(8)]:
            done.result()
