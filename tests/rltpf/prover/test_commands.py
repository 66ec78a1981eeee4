"""`rltpf lean`: rows in, rows out, and every fault of the input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltpf import prover as prover_package
from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.prover.commands import read_rows
from rltpf.prover.report import LeanMessage, Report


class FakeProver:
    """Verifies submissions that contain `good`; its message tells the header."""

    closed = False

    async def check(self, statement: str, submission: str, header: str | None) -> Report:
        message = LeanMessage("info", 1, 0, f"header {header}")
        if "good" in submission:
            return Report("verified", "ok", messages=(message,), axioms=("propext",), seconds=0.5, toolchain="fake")
        return Report("rejected", "gate", "words", toolchain="fake")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeProver:
    fake = FakeProver()
    monkeypatch.setattr(prover_package, "build_prover", lambda config: fake)
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
