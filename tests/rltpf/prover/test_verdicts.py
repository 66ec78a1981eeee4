"""Verdicts on disk: many writers, killed writers, damage, and forgery by others."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.prover import verdicts as verdicts_module
from rltpf.prover.answer import Answer
from rltpf.prover.verdicts import LONGEST_LINE, Verdicts

REQUEST = {"header": "", "statement": "theorem t : 1 = 1", "submission": "theorem t : 1 = 1 := rfl"}


def _answer(**changes: Any) -> Answer:
    message = {"severity": "info", "line": 1, "column": 0, "text": "½ \ud800"}
    reply = {"ok": True, "reason": "ok", "detail": "", "messages": [message], "axioms": ["propext"], "milliseconds": 7}
    return Answer(reply | changes)


def _same(one: Answer | None, other: Answer) -> bool:
    return one is not None and vars(one) == vars(other)


def _file(folder: Path) -> Path:
    [path] = folder.rglob("*.verdicts")
    return path


def test_an_answer_is_found_at_once_and_by_the_next_process(tmp_path: Path) -> None:
    verdicts, answer = Verdicts(tmp_path, "lean"), _answer()
    assert verdicts.get("check", REQUEST) is None
    verdicts.put("check", REQUEST, answer)
    assert _same(verdicts.get("check", REQUEST), answer)
    assert _same(Verdicts(tmp_path, "lean").get("check", REQUEST), answer)


@pytest.mark.parametrize(
    ("toolchain", "command", "changes"),
    [
        ("lean-2", "check", {}),
        ("lean", "prove", {}),
        ("lean", "check", {"header": "set_option maxHeartbeats 5"}),
        ("lean", "check", {"submission": "theorem t : 1 = 1 := by rfl"}),
        ("lean", "check", {"heartbeats": 5}),
    ],
)
def test_another_request_is_another_verdict(
    tmp_path: Path, toolchain: str, command: str, changes: dict[str, object]
) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer())
    assert Verdicts(tmp_path, toolchain).get(command, REQUEST | changes) is None


def test_verdicts_of_another_toolchain_do_not_count_where_its_folder_was_renamed(tmp_path: Path) -> None:
    Verdicts(tmp_path, "old").put("check", REQUEST, _answer())
    (tmp_path / "old").rename(tmp_path / "new")
    assert Verdicts(tmp_path, "new").get("check", REQUEST) is None


@given(st.dictionaries(st.text(max_size=5), st.text(), max_size=3), st.text(), st.text())
def test_any_text_is_kept(
    tmp_path_factory: pytest.TempPathFactory, request: dict[str, str], one: str, two: str
) -> None:
    folder = tmp_path_factory.mktemp("verdicts")
    answer = _answer(detail=one, axioms=[two])
    Verdicts(folder, "lean").put("check", request, answer)
    assert _same(Verdicts(folder, "lean").get("check", request), answer)


def test_a_header_that_failed_is_tried_again(tmp_path: Path) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer(ok=False, reason="header_error"))
    assert Verdicts(tmp_path, "lean").get("check", REQUEST) is None


def test_what_is_too_long_is_not_kept(tmp_path: Path) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer(detail="x" * LONGEST_LINE))
    assert not list(tmp_path.rglob("*.verdicts"))


def test_no_byte_of_the_file_can_change_a_verdict(tmp_path: Path) -> None:
    """Each byte replaced in turn: the answer is the one that was kept, or none."""
    refusal = _answer(ok=False, reason="axioms")
    Verdicts(tmp_path, "lean").put("check", REQUEST, refusal)
    path = _file(tmp_path)
    line = path.read_bytes()
    for place in range(len(line)):
        path.write_bytes(line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :])
        found = Verdicts(tmp_path, "lean").get("check", REQUEST)
        assert found is None or _same(found, refusal)
    path.write_bytes(line.replace(b'"ok": false, "reason": "axioms"', b'"ok": true, "reason": "ok"'))
    assert Verdicts(tmp_path, "lean").get("check", REQUEST) is None


def test_a_line_that_changes_while_it_is_in_use_is_not_used(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path, "lean")
    verdicts.put("check", REQUEST, _answer())
    path = _file(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"propext", b"sorryAx"))
    assert verdicts.get("check", REQUEST) is None
    path.unlink()
    assert verdicts.get("check", REQUEST) is None


def test_damage_is_said_once_and_the_rest_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer())
    path = _file(tmp_path)
    generator = random.Random(1)
    path.write_bytes(b"junk\n" + generator.randbytes(200_000).replace(b"\n", b"") + b"\n" + path.read_bytes())
    assert _same(Verdicts(tmp_path, "lean").get("check", REQUEST), _answer())
    # The junk, and three pieces and a rest of the long line.
    folder = path.parent
    assert capsys.readouterr().err.splitlines() == [
        f"verdict cache {folder}: 5 damaged lines are not used; remove the folder to be rid of them"
    ]


def test_a_torn_end_spoils_neither_what_was_there_nor_what_comes(tmp_path: Path) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer())
    path = _file(tmp_path)
    path.write_bytes(path.read_bytes() + path.read_bytes()[1:100])
    Verdicts(tmp_path, "lean").put("prove", REQUEST, _answer())
    verdicts = Verdicts(tmp_path, "lean")
    assert all(_same(verdicts.get(command, REQUEST), _answer()) for command in ("check", "prove"))


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    Verdicts(tmp_path, "lean").put("check", REQUEST, _answer())
    path = _file(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(mode)
    assert Verdicts(tmp_path, "lean").get("check", REQUEST) is None
    assert "is not used: others may write it" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lean").write_text("a file where the folder should be")
    verdicts = Verdicts(tmp_path, "lean")
    for _ in range(3):
        verdicts.put("check", REQUEST, _answer())
    assert len(capsys.readouterr().err.splitlines()) == 1


WRITER = """
    import sys
    from pathlib import Path
    from rltpf.prover.answer import Answer
    from rltpf.prover.verdicts import Verdicts
    verdicts = Verdicts(Path(sys.argv[1]), "lean")
    for number in range(int(sys.argv[3])):
        name = f"{sys.argv[2]}-{number}"
        reply = dict(ok=True, reason="ok", detail=name * 500, messages=[], axioms=[], milliseconds=number)
        verdicts.put("check", {"statement": name}, Answer(reply))
        if not number:
            print(flush=True)
"""


def _write(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    code = textwrap.dedent(WRITER)
    return subprocess.Popen([sys.executable, "-c", code, folder, name, str(count)], stdout=subprocess.PIPE)


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    writers = [_write(tmp_path, name, 300) for name in "abcd"]
    assert [writer.wait() for writer in writers] == [0] * 4
    verdicts = Verdicts(tmp_path, "lean")
    for name in "abcd":
        for number in range(300):
            found = verdicts.get("check", {"statement": f"{name}-{number}"})
            assert found is not None
            assert (found.detail, found.seconds) == (f"{name}-{number}" * 500, number / 1000)


def test_a_killed_writer_leaves_whole_verdicts(tmp_path: Path) -> None:
    for attempt in range(3):
        writers = [_write(tmp_path, f"{attempt}{name}", 1_000_000) for name in "ab"]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(0.1 * attempt)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
    verdicts = Verdicts(tmp_path, "lean")
    for attempt in range(3):
        for name in "ab":
            found = verdicts.get("check", {"statement": f"{attempt}{name}-0"})
            assert found is not None
            assert found.detail == f"{attempt}{name}-0" * 500


def test_each_machine_writes_a_file_of_its_own_and_reads_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for machine in ("node1", "node/2"):
        monkeypatch.setattr(verdicts_module.socket, "gethostname", lambda machine=machine: machine)
        Verdicts(tmp_path, "lean").put(machine, REQUEST, _answer())
    assert sorted(path.name for path in tmp_path.rglob("*.verdicts")) == ["node1.verdicts", "node_2.verdicts"]
    verdicts = Verdicts(tmp_path, "lean")
    assert all(_same(verdicts.get(machine, REQUEST), _answer()) for machine in ("node1", "node/2"))
