from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.errors import InputError
from rltpf.journal import Journal, scan, write_atomically

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "∀ x"},
    {"id": "b", "text": "line\nbreak \u2028"},
    {"id": "c", "n": [1.5, None, True]},
]


def filled(path: Path, rows: list[dict[str, Any]] = ROWS) -> bytes:
    journal = Journal(path)
    for row in rows:
        journal.append(row)
    journal.close()
    return path.read_bytes()


def test_rows_come_back_by_key_and_in_order(tmp_path: Path) -> None:
    filled(tmp_path / "j.jsonl")
    journal = Journal(tmp_path / "j.jsonl")
    assert [journal.get(name) for name in "abc"] == ROWS
    assert list(journal.rows()) == ROWS
    assert ("b" in journal, "z" in journal, len(journal), journal.get("z")) == (True, False, 3, None)
    journal.close()


def test_one_row_is_one_line_of_utf8(tmp_path: Path) -> None:
    data = filled(tmp_path / "j.jsonl")
    assert data.count(b"\n") == 3
    assert data.split(b"\n")[0] == '{"id": "a", "text": "∀ x"}'.encode()


@given(st.data())
def test_a_file_cut_anywhere_loses_at_most_its_last_row(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    path.unlink(missing_ok=True)
    texts = data.draw(st.lists(st.text(st.characters(codec="utf-8")), max_size=6))
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    whole = filled(path, rows)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")

    journal = Journal(path)
    assert list(journal.rows()) == rows[:kept]
    # What is written next is a line of its own, and the file ends as if nothing had happened.
    for row in rows[kept:]:
        journal.append(row)
    journal.close()
    assert path.read_bytes() == whole


@given(st.binary(min_size=1, max_size=30))
def test_garbage_at_the_end_loses_no_row(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    """A machine that crashes may leave zeros or anything else in the last block."""
    path = tmp_path_factory.getbasetemp() / "garbage.jsonl"
    path.unlink(missing_ok=True)
    whole = filled(path)
    path.write_bytes(whole + garbage.replace(b"\n", b"\0"))
    journal = Journal(path)
    journal.close()
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a"}\nnot json\n{"id": "b"}\n', r"j\.jsonl:2: is not a JSON object"),
        ('{"id": "a"}\n[1]\n{"id": "b"}\n', r"j\.jsonl:2: is not a JSON object"),
        ('{"id": "a"}\n' + "[" * 100_000 + '\n{"id": "b"}\n', r"j\.jsonl:2: is not a JSON object"),
        ('{"id": "a"}\n{"id": "b"}\n{"id": "a"}\n', r"j\.jsonl:3: repeats the id a"),
        ('{"id": "a"}\n{"name": "b"}\n', r"j\.jsonl:2: has no id"),
        ('{"id": 1}\n', r"j\.jsonl:1: has no id"),
    ],
)
def test_a_journal_with_a_hole_is_refused_and_left_alone(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Journal(path)
    assert path.read_text() == text


def test_a_key_is_written_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append({"id": "a"})
    with pytest.raises(ValueError, match="a second row with the id a"):
        journal.append({"id": "a", "other": 1})
    journal.close()
    assert (tmp_path / "j.jsonl").read_text() == '{"id": "a"}\n'


def test_a_full_disk_leaves_no_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append({"id": "a"})
    really = os.pwrite
    calls = []

    def full(fd: int, data: bytes, offset: int) -> int:
        calls.append(offset)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return really(fd, data[:3], offset)  # half a row fits

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        journal.append({"id": "b"})
    assert (tmp_path / "j.jsonl").read_text() == '{"id": "a"}\n'
    monkeypatch.undo()
    journal.append({"id": "b"})
    assert list(journal.rows()) == [{"id": "a"}, {"id": "b"}]
    journal.close()


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: really(fd, data[:2], offset))
    assert filled(tmp_path / "j.jsonl") == "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def test_threads_do_not_mix_their_rows(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")

    def write(name: int) -> None:
        for number in range(50):
            journal.append({"id": f"{name}-{number}", "text": "x" * 500})

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {row["id"] for row in journal.rows()} == {f"{name}-{number}" for name in range(8) for number in range(50)}
    assert all(journal.get(row["id"]) == row for row in list(journal.rows())[::37])
    journal.close()


def test_scan_gives_the_places_of_rows_and_skips_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"id": "a"}\n\n{"id": "b"}\r\n')
    assert [(line.number, line.offset, line.length) for line in scan(path)] == [(1, 0, 12), (3, 13, 13)]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.txt"
    write_atomically(path, "old\n")
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, "new\n")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old\n"
    monkeypatch.undo()
    write_atomically(path, "neu ∀\r\n")
    assert path.read_bytes() == "neu ∀\r\n".encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["f.txt"]
