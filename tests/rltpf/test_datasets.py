from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltpf.datasets import DatasetConfig, load_problems
from rltpf.errors import InputError
from rltpf.records import Problem, content_id


def write(path: Path, *rows: Any) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def load(path: Path, **options: Any) -> list[Problem]:
    return load_problems(DatasetConfig(path=str(path), **options))


def test_rows_become_problems_with_content_ids_and_their_other_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "d.jsonl", {"question": "1+1?", "answer": "#### 2", "level": 3}, "", {"question": "∀", "answer": 7}
    )
    assert load(path) == [
        Problem(content_id("1+1?", "#### 2"), "1+1?", "#### 2", {"level": 3}),
        Problem(content_id("∀", "7"), "∀", "7", {}),
    ]


def test_columns_are_mapped_and_rows_limited(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", *({"Body": f"q{n}", "Answer": 2.5, "id": n} for n in range(5)), "not reached")
    problems = load(path, question_column="Body", answer_column="Answer", limit=2)
    assert [(p.question, p.answer, p.extra) for p in problems] == [("q0", "2.5", {"id": 0}), ("q1", "2.5", {"id": 1})]


def test_repeated_problems_are_kept_with_ids_of_their_own(tmp_path: Path) -> None:
    row = {"question": "q", "answer": "1"}
    ids = [problem.id for problem in load(write(tmp_path / "d.jsonl", row, row, row))]
    assert ids == [content_id("q", "1"), content_id("q", "1", 1), content_id("q", "1", 2)]


def test_all_wrong_rows_are_named_with_file_and_line(tmp_path: Path) -> None:
    path = write(
        tmp_path / "d.jsonl",
        {"question": "q", "answer": "1"},
        "{",
        "[1]",
        {"question": "q"},
        {"question": 3, "answer": "1"},
        {"question": " ", "answer": "1"},
        {"question": "q", "answer": True},
        {"question": "q", "answer": None},
    )
    with pytest.raises(InputError) as caught:
        load(path)
    assert [fault.replace(f"{tmp_path}/", "") for fault in caught.value.faults] == [
        "d.jsonl:2: is not JSON: Expecting property name enclosed in double quotes: line 2 column 1 (char 2)",
        "d.jsonl:3: is a JSON list, and has to be an object",
        "d.jsonl:4: has no column 'answer': set answer_column to one of question",
        "d.jsonl:5: question has to be a text, and is 3",
        "d.jsonl:6: question has to be a text, and is ' '",
        "d.jsonl:7: answer has to be a text or a number, and is True",
        "d.jsonl:8: answer has to be a text or a number, and is None",
    ]


def test_faults_stop_at_twenty(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(write(tmp_path / "d.jsonl", *["x"] * 30))
    assert len(caught.value.faults) == 21
    assert caught.value.faults[-1].endswith("d.jsonl: the first 20 faults are shown")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, r"none\.jsonl: No such file or directory"),
        ("none.parquet", None, r"none\.parquet: No such file or directory"),
        ("empty.jsonl", b"", r"empty\.jsonl: holds no rows"),
        ("binary.jsonl", b"\xff\xfe\x00", r"binary\.jsonl: is not UTF-8 text"),
        ("deep.jsonl", b"[" * 100_000, r"deep\.jsonl:1: is not usable JSON: it nests too deep"),
        ("half.jsonl", rb'{"question": "\ud83d", "answer": "1"}', r"half\.jsonl:1: holds a lone surrogate"),
    ],
)
def test_unusable_files_are_clear_faults(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path / name)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_bytes(b'\xef\xbb\xbf{"question": "q", "answer": "1"}\r\n\r\n')
    assert load(tmp_path / "d.jsonl") == [Problem(content_id("q", "1"), "q", "1", {})]


def test_parquet_and_saved_folders_load_like_jsonl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    rows = [{"question": "q", "answer": "1", "level": 3}, {"question": "r", "answer": "2", "level": 4}]
    expected = load(write(tmp_path / "d.jsonl", *rows))
    table = datasets.Dataset.from_list(rows)
    table.to_parquet(tmp_path / "d.parquet")
    table.save_to_disk(tmp_path / "saved")
    datasets.DatasetDict({"train": table, "test": table.select([0])}).save_to_disk(tmp_path / "splits")
    assert load(tmp_path / "d.parquet") == expected
    assert load(tmp_path / "saved") == expected
    assert load(tmp_path / "splits") == expected
    assert load(tmp_path / "splits", split="test") == expected[:1]
