"""Runs side by side."""

import json
from pathlib import Path

import pytest
import sample_run

from eval.comparison import compare, measures
from eval.score import Sample, summarise
from rltpf.errors import InputError


def cells(table: str, name: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("| ").split(" | ")][1:]


def test_a_whole_run_beside_its_parts(tmp_path: Path) -> None:
    whole = sample_run.build(tmp_path / "run")
    table = compare([whole, whole / "data", whole / "dpo", whole / "eval" / "sft"])
    assert cells(table, "questions, kept") == ["30, 25", "30, 25", "-", "-"]
    assert cells(table, "answers verified") == ["30", "30", "-", "-"]
    # 33 of 50 in the first iteration; 38 decided before the third and 8 that elaborate in it, of 50.
    assert cells(table, "execution rate, first and last, %") == ["66.0, 92.0", "66.0, 92.0", "-", "-"]
    assert cells(table, "DPO pairs") == ["9", "9", "-", "-"]
    assert cells(table, "SFT: loss") == ["1.500 to 0.800", "-", "-", "-"]
    assert cells(table, "training: loss") == ["-", "-", "0.693 to 0.550", "-"]
    # 4 of 8 right: the standard error is sqrt(8 / 4 / 7 / 8) = 18.9 %.
    assert cells(table, "strict, %") == ["-", "-", "-", "50.0 ± 18.9"]
    assert cells(table, "sft: strict, %") == ["50.0 ± 18.9", "-", "-", "-"]
    assert cells(table, "dpo: benchmark, rows") == ["gsm8k v1, 8", "-", "-", "-"]


def test_rpe_has_a_line_where_it_was_asked_for(tmp_path: Path) -> None:
    samples = [Sample(f"r{n}", "q", "1", "p", "o", correct_rpe=right) for n, right in enumerate((True, None))]
    metrics = {
        "model": "m",
        "benchmark": {"name": "math500", "version": 1, "path": "x"},
        **summarise(samples, ("correct_lenient", "correct_rpe")),
    }
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    # One of two: sqrt(2 / 4 / 1 / 2) = 50 %.
    assert measures(tmp_path) == {
        "model": "`m`",
        "benchmark, rows": "math500 v1, 2",
        "lenient, %": "0.0 ± 0.0",
        "RPE, %": "50.0 ± 50.0",
    }


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing to report: it has no metrics\.json"):
        measures(tmp_path)
    (tmp_path / "metrics.json").write_text('{"scores": {}}')
    with pytest.raises(InputError, match="not what its command writes: has no 'benchmark'"):
        measures(tmp_path)
