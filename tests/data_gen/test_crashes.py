"""`rltpf generate` killed, interrupted, without disk and without its server: nothing is lost, nothing is paid twice."""

import json
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.server import serve
from demo.teacher import Teacher
from tests.data_gen.proxy import FAULTS, Proxy, proxy, url_of
from tests.data_gen.run_files import DATA_SETS, equal_data_sets, identity, lines, recorded, wait_until

pytestmark = [pytest.mark.lean, pytest.mark.slow]

KILLS = 50


def command(url: str, output_dir: Path, *overrides: str) -> list[str]:
    arguments = ["generate", "--config", "configs/generate/demo.yaml", "--dataset.limit", "8", "--prover.workers", "1"]
    arguments += ["--llm.backend", "openai", "--llm.base_url", url, "--llm.max_concurrent", "4"]
    return [sys.executable, "-m", "rltpf", *arguments, "--output_dir", str(output_dir), *overrides]


@pytest.fixture(scope="module")
def teacher() -> Iterator[str]:
    with serve(Teacher(sorted(Path("demo/teacher").glob("*.yaml"))), "authored-teacher", len) as url:
        yield url


@pytest.fixture
def server(teacher: str) -> Iterator[Proxy]:
    with proxy(teacher, delay=0.02) as server:
        yield server


@pytest.fixture(scope="module")
def undisturbed(lean_installed: None, teacher: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing disturbs. Its verdicts are kept, so the others need Lean only where they are new."""
    output_dir = tmp_path_factory.mktemp("undisturbed") / "run"
    subprocess.run(command(teacher, output_dir), check=True)
    assert all(lines(output_dir / name) > 0 for name in DATA_SETS)
    return output_dir


def same(one: Path, other: Path) -> bool:
    """Equal data sets, and in the journals the same rows, each once."""
    for name in ("questions.jsonl", "answers.jsonl"):
        rows, expected = (
            [json.loads(line)["id"] for line in (f / name).read_text().splitlines()] for f in (one, other)
        )
        if sorted(rows) != sorted(expected):
            return False
    return equal_data_sets(one, other)


def asked(server: Proxy, before: int = 0) -> set[str]:
    """The requests that arrived at a server after so many."""
    bodies = [json.loads(body) for _, body in server.arrived[before:]]
    return {identity(body["messages"], body.get("seed")) for body in bodies}


def test_fifty_kills_lose_nothing_and_pay_for_nothing_twice(undisturbed: Path, teacher: str, tmp_path: Path) -> None:
    """A run that comes to its end between two kills is compared, and another begun."""
    dice = random.Random(7)
    kills = finished = 0
    killed = tmp_path / "0"
    with proxy(teacher, delay=0.2) as server:
        while kills < KILLS or finished == 0:
            paid, before = recorded(killed), len(server.arrived)
            process = subprocess.Popen(
                command(url_of(server), killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                code = process.wait(dice.uniform(0.3, 2.5) if kills < KILLS else 300)
            except subprocess.TimeoutExpired:
                kills += 1
                process.kill()
                process.wait()
                code = None
            assert not paid & asked(server, before)
            if code is not None:
                assert code == 0
                assert same(killed, undisturbed)
                assert recorded(killed) == recorded(undisturbed)
                finished += 1
                killed = tmp_path / str(finished)
    print(f"{kills} kills, {finished} runs came to their end")


def test_ctrl_c_says_how_to_go_on(undisturbed: Path, teacher: str, tmp_path: Path) -> None:
    with proxy(teacher, delay=0.2) as server:
        process = subprocess.Popen(command(url_of(server), tmp_path), stderr=subprocess.PIPE, text=True)
        wait_until(lambda: lines(tmp_path / "transcript.jsonl") >= 5, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert said.splitlines()[-1] == ("interrupted; what is finished is kept: start the same command again to go on")
        assert "Traceback" not in said
        paid, before = recorded(tmp_path), len(server.arrived)
        assert len(paid) >= 5
        subprocess.run(command(url_of(server), tmp_path), check=True)
    assert not paid & asked(server, before)
    assert same(tmp_path, undisturbed)


def test_a_full_disk_is_one_line_and_tears_nothing(undisturbed: Path, server: Proxy, tmp_path: Path) -> None:
    """No file of the process may grow beyond so many bytes: like a full disk, it fails in the middle of a write."""

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    full = subprocess.run(
        command(url_of(server), tmp_path), check=False, capture_output=True, text=True, preexec_fn=small_disk
    )
    assert full.returncode == 1
    assert "Traceback" not in full.stderr
    assert full.stderr.splitlines()[-1] == (
        f"{tmp_path / 'transcript.jsonl'}: File too large: make room and start the same command again"
    )
    kept = (tmp_path / "transcript.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    assert [json.loads(line)["key"] for line in kept.splitlines()]
    paid, before = recorded(tmp_path), len(server.arrived)
    subprocess.run(command(url_of(server), tmp_path), check=True)
    assert not paid & asked(server, before)
    assert same(tmp_path, undisturbed)


def test_a_second_writer_is_refused_and_told_of_the_first(lean_installed: None, teacher: str, tmp_path: Path) -> None:
    with proxy(teacher, delay=30) as server:
        first = subprocess.Popen(command(url_of(server), tmp_path), stderr=subprocess.DEVNULL)
        wait_until(lambda: bool(server.arrived), first)
        second = subprocess.run(command(url_of(server), tmp_path), check=False, capture_output=True, text=True)
        first.kill()
        first.wait()
    owner = f"process {first.pid} on {socket.gethostname()}"
    assert (second.returncode, second.stderr) == (
        2,
        f"{tmp_path}: is being written by {owner}: wait for it, or choose another output_dir\n",
    )


def test_a_dead_server_ends_the_run_with_one_line_and_everything_kept(
    undisturbed: Path, teacher: str, tmp_path: Path
) -> None:
    with proxy(teacher, delay=0.1) as server:
        process = subprocess.Popen(
            command(url_of(server), tmp_path, "--llm.retries", "2"), stderr=subprocess.PIPE, text=True
        )
        wait_until(lambda: lines(tmp_path / "transcript.jsonl") >= 5, process)
    began = time.monotonic()
    _, said = process.communicate(timeout=120)
    assert time.monotonic() - began < 60
    assert process.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].endswith("start the same command again when the server answers")
    paid = recorded(tmp_path)
    with proxy(teacher) as server:
        subprocess.run(command(url_of(server), tmp_path), check=True)
    assert not paid & asked(server)
    assert same(tmp_path, undisturbed)


def test_with_faults_in_a_third_of_the_calls_the_data_sets_are_the_same(
    undisturbed: Path, teacher: str, tmp_path: Path
) -> None:
    with proxy(teacher, share=0.3) as server:
        patience = ["--llm.timeout", "2", "--llm.retries", "8"]
        done = subprocess.run(command(url_of(server), tmp_path, *patience), check=True, capture_output=True, text=True)
    assert set(server.faults) == set(FAULTS)
    assert "Traceback" not in done.stderr
    assert same(tmp_path, undisturbed)


FAULTY_LEAN = """
import os, random, signal, sys
from rltpf.cli import main
from rltpf.prover.process import LeanProcess

dice, exchange, doomed = random.Random(5), LeanProcess.exchange, []

def faulty(self, request, seconds):
    # The first request of a process only finds out whether Lean is there.
    requests = self.requests = getattr(self, "requests", -1) + 1
    if requests and len(doomed) < 6 and dice.random() < 0.2:
        doomed.append(signal.SIGSTOP if len(doomed) % 2 else signal.SIGKILL)
        os.kill(self.pid, doomed[-1])
    return exchange(self, request, seconds)

LeanProcess.exchange = faulty
code = main(sys.argv[1:])
print("doomed", len(doomed))
sys.exit(code)
"""


def test_lean_processes_that_die_or_hang_change_nothing(undisturbed: Path, teacher: str, tmp_path: Path) -> None:
    """A fifth of the requests meet a process that was killed or stopped, until six of them were."""
    arguments = command(teacher, tmp_path, "--prover.cache", "false", "--prover.timeout", "10")[3:]
    done = subprocess.run(
        [sys.executable, "-c", FAULTY_LEAN, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "doomed 6"
    assert same(tmp_path, undisturbed)
