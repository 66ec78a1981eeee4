"""`rltpf lean`: rows in, rows out, and every fault of the input."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from rltpf import prover as prover_package
from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.prover import rows as rows_module
from rltpf.prover.report import LeanMessage, Report
from rltpf.prover.rows import read_rows, summary
from rltpf.prover.settings import ProverConfig


class FakeProver:
    """Verifies submissions that contain `good`; its message tells the header. A submission `wait N` takes N turns.

    A statement names its own traps, each after a `!`.
    """

    closed = False
    config: ProverConfig

    def __init__(self) -> None:
        self.trapped: list[tuple[str, str | None]] = []

    most = now = 0

    async def check(self, statement: str, submission: str, header: str | None) -> Report:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(int(submission.removeprefix("wait ")) if submission.startswith("wait ") else 0):
            await asyncio.sleep(0)
        self.now -= 1
        message = LeanMessage("info", 1, 0, f"header {header}")
        if "good" in submission:
            return Report("verified", "ok", messages=(message,), axioms=("propext",), seconds=0.5, toolchain="fake")
        return Report("rejected", "gate", "words", toolchain="fake")

    async def traps(self, statement: str, header: str | None) -> tuple[str, ...]:
        self.trapped.append((statement, header))
        return tuple(statement.split("!")[1:])

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeProver:
    fake = FakeProver()

    def build(config: ProverConfig, second_judge: bool) -> FakeProver:
        fake.config = config
        return fake

    monkeypatch.setattr(prover_package, "build_prover", build)
    return fake


def _write(path: Path, *rows: object) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_keep_their_fields_and_gain_the_report(fake: FakeProver, tmp_path: Path) -> None:
    first = {"id": "a", "statement": "s", "submission": "good", "header": "open Nat", "more": [1]}
    second = {"id": 2, "statement": "s", "submission": "\ud800"}
    output = tmp_path / "out.jsonl"
    assert main(["lean", "check", str(_write(tmp_path / "in.jsonl", first, second)), "--output", str(output)]) == 0
    message = {"severity": "info", "line": 1, "column": 0, "text": "header open Nat"}
    found = {
        "status": "verified",
        "reason": "ok",
        "detail": "",
        "flags": [],
        "messages": [message],
        "axioms": ["propext"],
    }
    lost = {"status": "rejected", "reason": "gate", "detail": "words", "flags": [], "messages": [], "axioms": []}
    assert [json.loads(line) for line in output.read_text().splitlines()] == [
        first | found | {"seconds": 0.5, "toolchain": "fake"},
        second | lost | {"seconds": 0.0, "toolchain": "fake"},
    ]
    assert fake.closed


def test_stdout_holds_the_rows_and_nothing_else(
    fake: FakeProver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _write(tmp_path / "in.jsonl", {"id": "a", "statement": "s", "submission": "good"})
    assert main(["lean", "check", str(source)]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line)["status"] for line in printed.out.splitlines()] == ["verified"]
    assert "1/1 done" in printed.err
    assert printed.err.splitlines()[-1] == "lean check: 1 rows: 1 verified"


def test_the_summary_has_each_status_and_the_reasons_of_what_is_not_verified() -> None:
    verdicts = {
        ("rejected", "gate"): 1,
        ("verified", "ok"): 2,
        ("rejected", "elaboration"): 3,
        ("timeout", "timeout"): 1,
    }
    assert summary(verdicts) == (
        "lean check: 7 rows: 2 verified, 4 rejected (3 elaboration, 1 gate), 1 timeout (1 timeout)"
    )


def test_every_fault_of_the_input_is_named_before_lean_starts(
    fake: FakeProver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"id": "a", "statement": "s", "submission": "good"}
    rows = _write(
        tmp_path / "in.jsonl",
        good,
        "{torn\n",
        {"statement": 3, "submission": "good"},
        good | {"id": None, "header": ["x"]},
        {"id": "b"},
    )
    output = tmp_path / "out.jsonl"
    assert main(["lean", "check", str(rows), "--output", str(output)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{rows}:2: ")
    assert lines[1:] == [
        f"{rows}:3: has no `id`",
        f"{rows}:3: `statement` must be a string, not 3",
        f"{rows}:4: `id` must be a string or an integer, not null",
        f'{rows}:4: `header` must be a string, not ["x"]',
        f"{rows}:5: has no `statement`",
        f"{rows}:5: has no `submission`",
    ]
    assert not output.exists()


def test_only_the_first_faults_are_listed(tmp_path: Path) -> None:
    rows = _write(tmp_path / "in.jsonl", *["[]\n"] * 30)
    with pytest.raises(InputError) as error:
        read_rows(rows)
    assert len(error.value.faults) == 21
    assert error.value.faults[-1] == f"{rows}: 10 more faults"


def test_a_missing_file_is_one_line(fake: FakeProver, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lean", "check", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.splitlines() == [f"{tmp_path}/none.jsonl: No such file or directory"]


def test_unknown_arguments_are_refused(fake: FakeProver, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lean", "check", "-", "--retries", "3"]) == 2
    assert "unknown arguments: --retries 3" in capsys.readouterr().err


def test_rows_are_checked_together_and_written_in_their_order(
    fake: FakeProver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_module, "IN_FLIGHT", 4)
    rows = [{"id": number, "statement": "s", "submission": f"wait {50 - number}"} for number in range(20)]
    output = tmp_path / "out.jsonl"
    assert main(["lean", "check", str(_write(tmp_path / "in.jsonl", *rows)), "--output", str(output)]) == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == list(range(20))
    assert fake.most == 4


def test_workers_and_cache_are_as_asked(fake: FakeProver, tmp_path: Path) -> None:
    source = str(_write(tmp_path / "in.jsonl", {"id": "a", "statement": "s", "submission": "good"}))
    main(["lean", "check", source])
    assert (fake.config.workers, fake.config.cache) == (1, True)
    main(["lean", "check", source, "--workers", "3", "--no_cache", "--toolchain", "embedded"])
    assert (fake.config.workers, fake.config.cache, fake.config.toolchain) == (3, False, "embedded")


@pytest.mark.parametrize("workers", ["0", "-1", "two"])
def test_a_number_of_workers_that_is_none_is_one_line(
    fake: FakeProver, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["lean", "check", "-", f"--workers={workers}"])
    assert exit.value.code == 2
    assert "argument --workers: must be a positive number" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_rows_is_wrong_input(
    fake: FakeProver, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    source = _write(tmp_path / "in.jsonl", content)
    assert main(["lean", "check", str(source)]) == 2
    assert capsys.readouterr().err.splitlines() == [f"{source}: holds no rows"]


# `rltpf` with a judge that takes 20 ms for each request, and writes down what it was asked.
SLOW_JUDGE = """
    import json, pathlib, sys, time
    for line in sys.stdin:
        if line.strip():
            request = json.loads(line)
            if "check" in request:
                with (pathlib.Path(__file__).parent / "asked").open("a") as asked:
                    print(request["check"]["submission"], file=asked)
                time.sleep(0.02)
            reply = dict(ok=True, reason="ok", detail="", messages=[], axioms=[], milliseconds=20)
            print(json.dumps(reply | dict(nonce=request["nonce"])), end="\\n\\n", flush=True)
"""
COMMAND = """
    import pathlib, sys
    from rltpf import cli
    from rltpf.prover import toolchains
    folder = pathlib.Path(sys.argv[1])
    toolchain = toolchains.Toolchain("fake", (sys.executable, str(folder / "judge.py")), folder, "", "core")
    toolchains.find_toolchain = lambda config: toolchain
    sys.exit(cli.main(sys.argv[2:]))
"""


class SlowCommand:
    """`rltpf lean check` of 60 rows, in a process of its own and with a cache of its own."""

    ROWS = 60

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "judge.py").write_text(textwrap.dedent(SLOW_JUDGE))
        statement = "theorem t : 1 = 1"
        rows = [
            {"id": number, "statement": statement, "submission": f"{statement} := rfl -- {number}"}
            for number in range(self.ROWS)
        ]
        self.source = _write(folder / "in.jsonl", *rows)
        self.output = folder / "out.jsonl"

    def start(self, *options: str, **streams: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", textwrap.dedent(COMMAND), str(self._folder), "lean", "check", str(self.source)]
        environment = os.environ | {"RLTPF_CACHE": str(self._folder / "cache")}
        return subprocess.Popen([*command, *options], env=environment, **streams)

    def wait_for_rows(self, count: int) -> None:
        until = time.monotonic() + 60
        while not self.output.exists() or self.output.read_bytes().count(b"\n") < count:
            assert time.monotonic() < until
            time.sleep(0.01)

    def asked(self) -> int:
        return len((self._folder / "asked").read_text().splitlines())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_was_stopped_asks_for_nothing_twice(tmp_path: Path, number: signal.Signals) -> None:
    slow = SlowCommand(tmp_path)
    options = ("--output", str(slow.output), "--workers", "2")
    process = slow.start(*options, stderr=subprocess.PIPE)
    slow.wait_for_rows(10)
    process.send_signal(number)
    _, said = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert said.decode().splitlines()[-1].startswith("interrupted; what is finished is kept")
    written = slow.output.read_text().splitlines()
    assert 10 <= len(written) < slow.ROWS
    assert slow.start(*options, stderr=subprocess.PIPE).wait() == 0
    rows = [json.loads(line) for line in slow.output.read_text().splitlines()]
    assert [row["id"] for row in rows] == list(range(slow.ROWS))
    assert {row["status"] for row in rows} == {"verified"}
    # What the two workers were at when they were stopped is asked again.
    assert slow.asked() <= slow.ROWS + 2


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    slow = SlowCommand(tmp_path)
    process = slow.start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["id"] == 0
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr is not None
    assert [line.split(b":")[0] for line in process.stderr.read().splitlines()] == [b"lean check"]
    assert slow.asked() < slow.ROWS


def test_a_proof_of_a_statement_that_claims_nothing_is_rejected(fake: FakeProver, tmp_path: Path) -> None:
    statements = ["a!vacuous", "b!useless_hypothesis", "c!float!goal_in_hypotheses"]
    rows = [{"id": n, "statement": s, "submission": "good"} for n, s in enumerate(statements)]
    rows.append({"id": 3, "statement": "a!vacuous", "submission": "bad"})
    output = tmp_path / "out.jsonl"
    assert main(["lean", "check", str(_write(tmp_path / "in.jsonl", *rows)), "--output", str(output)]) == 0
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["status"], row["reason"], row["flags"]) for row in found] == [
        ("rejected", "vacuous", ["vacuous"]),
        ("verified", "ok", ["useless_hypothesis"]),
        ("rejected", "goal_in_hypotheses", ["float", "goal_in_hypotheses"]),
        ("rejected", "gate", ["vacuous"]),
    ]
    # Many submissions of one statement: its traps are looked for once.
    assert sorted(fake.trapped) == [(statement, None) for statement in statements]
