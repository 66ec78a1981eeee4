"""The human audit: sheets that give nothing away, what is read back, and table 3 by hand."""

import csv
import io
import json
from pathlib import Path

import pytest

from eval.quality.judging import Judgement
from eval.quality.sheets import COLUMNS, agreement, draw, read_filled, read_key, to_csv
from eval.rewrite.records import Candidate, Rewrite
from rltpf.errors import InputError
from tests.eval.quality.test_metrics import RUNS, candidate


def test_a_sheet_has_so_many_of_each_run_and_level_and_tells_no_run() -> None:
    sheet, keys = draw(RUNS, 1, seed=42)
    # Levels 1 and 2 of each run; the second level of varbench has two and gives one.
    assert sorted(row["run"] for row in keys) == ["repro", "repro", "varbench", "varbench"]
    assert [row["id"] for row in sheet] == [row["id"] for row in keys] == sorted(row["id"] for row in keys)
    assert all(set(row) == set(COLUMNS) for row in sheet)
    assert not any("repro" in value or "proof" in value for row in sheet for value in row.values())
    assert draw(RUNS, 1, seed=42) == (sheet, keys)
    assert len(draw(RUNS, 100, seed=42)[0]) == 5


def test_a_text_is_no_formula_for_a_spreadsheet() -> None:
    hostile = '=HYPERLINK("http://x","y")'
    made = Rewrite(hostile, answer="-5")
    sheet, _ = draw({"itd": [Candidate("p", "+1, a\nb", "1", "s", "", (made,))]}, 1, 0)
    (row,) = csv.DictReader(io.StringIO(to_csv(sheet)))
    assert row["original_question"] == "'+1, a\nb"
    assert row["rewritten_question"] == f"'{hostile}"
    assert row["reference_answer"] == "'-5"


KEYS = {
    "1": {"id": "1", "run": "itd", "source": "gsm8k", "judgement": "a"},
    "2": {"id": "2", "run": "itd", "source": "gsm8k", "judgement": "b"},
    "3": {"id": "3", "run": "auto", "source": "math", "judgement": "a"},
    "4": {"id": "4", "run": "auto", "source": "math", "judgement": "not judged"},
}
JUDGED = {"a": Judgement("a", True, True, True), "b": Judgement("b", True, True, False)}


def said(*criteria: bool) -> dict[str, bool]:
    return dict(zip(("well_defined", "feasible", "correct"), criteria, strict=True))


def test_agreement_is_counted_by_run_source_and_criterion() -> None:
    filled = {"1": said(True, True, True), "2": said(True, False, True), "3": said(True, True, False)}
    filled["4"] = said(False, False, False)
    assert agreement(KEYS, filled, JUDGED) == [
        ["auto", "math", 1, 100.0, 100.0, 0.0],
        ["itd", "gsm8k", 2, 100.0, 50.0, 50.0],
        ["all", "all", 3, 100.0, pytest.approx(200 / 3), pytest.approx(100 / 3)],
    ]
    assert agreement(KEYS, {"4": said(True, True, True)}, JUDGED) == []


def filled(path: Path, *rows: str) -> dict[str, dict[str, bool]]:
    path.write_text("\n".join(["id,well_defined,feasible,correct,note", *rows, ""]))
    return read_filled(path, KEYS)


def test_what_people_filled_in_is_read_and_empty_rows_are_left_out(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert filled(sheet, "1,yes,YES , no,", "2,,,,not yet") == {"1": said(True, True, False)}


def test_every_fault_of_a_sheet_has_a_line(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    with pytest.raises(InputError) as caught:
        filled(sheet, "1,yes,,no,", "2,yes,maybe,no,", "9,yes,yes,yes,", "3,yes,yes,yes,", "3,no,no,no,", "4,yes")
    assert str(caught.value).splitlines() == [
        f"{sheet}:2: feasible has to be yes or no, and is ''",
        f"{sheet}:3: feasible has to be yes or no, and is 'maybe'",
        f"{sheet}:4: the key has no id '9'",
        f"{sheet}:6: a second row with the id '3'",
        f"{sheet}:7: has to have the header's 5 fields, and has 2",
    ]
    with pytest.raises(InputError, match="no row is filled in"):
        filled(sheet, "1,,,,")


def test_a_key_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.jsonl"
    path.write_text(json.dumps(KEYS["1"]) + "\n")
    assert read_key(path) == {"1": KEYS["1"]}
    path.write_text('{"id": "1", "run": 3}\n[]\n')
    with pytest.raises(InputError) as caught:
        read_key(path)
    assert len(str(caught.value).splitlines()) == 2


def test_a_shared_problem_is_judged_once_and_counts_for_both() -> None:
    one, other = candidate(1, "", "same"), candidate(2, "", "same")
    _, keys = draw({"a": [one], "b": [other]}, 1, 0)
    assert len({row["judgement"] for row in keys}) == 1
    assert len({row["id"] for row in keys}) == 2
