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
        "d.jsonl:4: has no column 'answer': set dataset.answer_column to one of question",
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
        ("binary.jsonl", b"{}\n\xff\xfe\x00", r"binary\.jsonl:2: is not UTF-8 text"),
        ("nul.jsonl", b"\x00\x01", r"nul\.jsonl:1: holds a NUL byte, so this is no text file"),
        ("long.jsonl", b"\n" + b"[" * 16_000_001, r"long\.jsonl:2: is longer than 16 MB: write one row a line"),
        ("none.csv", None, r"none\.csv: No such file or directory"),
        ("empty.csv", b"", r"empty\.csv: holds no rows"),
        ("header.csv", b"question,answer\n", r"header\.csv: holds no rows"),
        ("twice.csv", b"\nquestion,answer,answer\n", r"twice\.csv:2: the header has the column 'answer' twice"),
        ("packed.csv", b"\x1f\x8b\x08", r"packed\.csv:1: is not UTF-8 text"),
        ("utf16.csv", "question,answer\nq,1".encode("utf-16-be"), r"utf16\.csv:1: holds a NUL byte"),
        ("open.csv", b'question,answer\nq,1\n"r,2\ns,3\n', r"open\.csv:3: is not CSV: unexpected end of data: check"),
        ("quote.csv", b'question,answer\n"q"r,1\n', r"quote\.csv:2: is not CSV: ',' expected after '\"': check"),
        ("rows.txt", b"question", r"rows\.txt: is no \.jsonl, \.csv or \.parquet file"),
        ("rows.parquet", b"PAR1", r"rows\.parquet: cannot be loaded: "),
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


def test_csv_is_read_with_its_quotes_marks_and_line_ends_and_every_value_as_text(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf question ,answer,level\r\n"two\r\nlines, ""quoted""",2.50,\r\n\r\n' + "∀,x,3".encode()
    (tmp_path / "d.csv").write_bytes(content)
    assert load(tmp_path / "d.csv", question_column=" question ") == [
        Problem(content_id('two\r\nlines, "quoted"', "2.50"), 'two\r\nlines, "quoted"', "2.50", {"level": ""}),
        Problem(content_id("∀", "x"), "∀", "x", {"level": "3"}),
    ]


def test_a_long_field_of_a_csv_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(f"question,answer\nq,{'9' * 200_000}\n")
    assert len(load(tmp_path / "d.csv")[0].answer) == 200_000


def test_wrong_rows_of_a_csv_are_named_by_the_line_that_they_begin_on(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('question,answer\n"q\nq",1,2\nq\n,1\nq,\nq,1\n')
    with pytest.raises(InputError) as caught:
        load(tmp_path / "d.csv")
    assert [fault.replace(f"{tmp_path}/", "") for fault in caught.value.faults] == [
        "d.csv:2: has to have the header's 2 fields, and has 3",
        "d.csv:4: has to have the header's 2 fields, and has 1",
        "d.csv:5: question has to be a text, and is ''",
        "d.csv:6: answer has to be a text or a number, and is ''",
    ]


@pytest.mark.parametrize(
    ("header", "options", "fault"),
    [
        ("Body,Question,Answer", {}, "'question': set dataset.question_column to one of Body, Question, Answer"
         " (did you mean dataset.preset: svamp?)"),
        ("problem,answer", {}, "'question': set dataset.question_column to one of problem, answer"
         " (did you mean dataset.preset: math500 or aime or amc?)"),
        ("Body,Question,Answer", {"preset": "gsm8k"},
         "'question': set dataset.question_column to one of Body, Question, Answer"
         " (did you mean dataset.preset: svamp?)"),
        ("question,correct", {"preset": "aqua"}, "'options': the columns are question, correct"),
        ("question,solution", {}, "'answer': set dataset.answer_column to one of question, solution"),
        ("question,answer", {"answer_column": "Answer"},
         "'Answer': set dataset.answer_column to one of question, answer"),
    ],
)  # fmt: skip
def test_a_missing_column_of_a_table_is_one_fault_that_names_the_preset_that_fits(
    tmp_path: Path, header: str, options: dict[str, str], fault: str
) -> None:
    (tmp_path / "d.csv").write_text(f"{header}\n" + f"{header}\n" * 3)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "d.csv", **options)
    assert str(caught.value) == f"{tmp_path}/d.csv: has no column {fault}"


def test_a_folder_without_data_and_a_split_that_is_not_there_are_clear_faults(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.md").write_text("no data")
    with pytest.raises(InputError, match=r"folder: cannot be loaded: .*: name a .* that save_to_disk wrote") as caught:
        load(tmp_path / "folder")
    assert len(str(caught.value).splitlines()) == 1
    table = datasets.Dataset.from_list([{"question": "q", "answer": "1"}])
    datasets.DatasetDict({"train": table, "test": table}).save_to_disk(tmp_path / "splits")
    with pytest.raises(InputError, match=r"splits: cannot be loaded: it has no split 'dev', but train, test"):
        load(tmp_path / "splits", split="dev")


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
