"""Runs side by side."""

import json
from pathlib import Path

import pytest
import sample_run

from eval.comparison import measures, read, table, write
from eval.score import Sample, summarise
from rltpf.cli import main
from rltpf.errors import InputError


def cells(table: str, name: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("| ").split(" | ")][1:]


def test_a_whole_run_beside_its_parts(tmp_path: Path) -> None:
    whole = sample_run.build(tmp_path / "run")
    shown = table([read(whole / part) for part in ("", "data", "dpo", "eval/sft")])
    assert cells(shown, "questions, kept") == ["30, 25", "30, 25", "-", "-"]
    assert cells(shown, "answers verified") == ["30", "30", "-", "-"]
    # 33 of 50 in the first iteration; 38 decided before the third and 8 that elaborate in it, of 50.
    assert cells(shown, "execution rate, first and last, %") == ["66.0, 92.0", "66.0, 92.0", "-", "-"]
    assert cells(shown, "DPO pairs") == ["9", "9", "-", "-"]
    assert cells(shown, "SFT: loss") == ["1.500 to 0.800", "-", "-", "-"]
    assert cells(shown, "training: loss") == ["-", "-", "0.693 to 0.550", "-"]
    # 4 of 8 right: the standard error is sqrt(8 / 4 / 7 / 8) = 18.9 %.
    assert cells(shown, "strict, %") == ["-", "-", "-", "50.0 ± 18.9 (21.5 to 78.5)"]
    assert cells(shown, "sft: strict, %") == ["50.0 ± 18.9 (21.5 to 78.5)", "-", "-", "-"]
    assert cells(shown, "dpo: benchmark, rows") == ["gsm8k v1, 8", "-", "-", "-"]


def test_rpe_has_a_line_where_it_was_asked_for(tmp_path: Path) -> None:
    samples = [Sample(f"r{n}", "q", "1", "p", "o", correct_rpe=right) for n, right in enumerate((True, None))]
    metrics = {
        "model": "m",
        "benchmark": {"name": "math500", "version": 1, "path": "x"},
        **summarise(samples, ("correct_lenient", "correct_rpe")),
    }
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    # One of two: sqrt(2 / 4 / 1 / 2) = 50 %.
    assert measures(read(tmp_path)) == {
        "model": "`m`",
        "benchmark, rows": "math500 v1, 2",
        "lenient, %": "0.0 ± 0.0 (0.0 to 65.8)",
        "RPE, %": "50.0 ± 50.0 (9.5 to 90.5)",
    }


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing to report: it has no metrics\.json"):
        measures(read(tmp_path))
    (tmp_path / "metrics.json").write_text('{"scores": {}}')
    with pytest.raises(InputError, match="not what its command writes: has no 'benchmark'"):
        measures(read(tmp_path))


def test_the_table_is_written_with_a_plot_for_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = sample_run.build(tmp_path / "run")
    assert main(["report", str(whole), str(whole / "eval" / "sft"), "--output", str(tmp_path / "all")]) == 0
    shown = capsys.readouterr().out
    assert cells(shown, "problems rewritten, retained") == ["16, 10", "-"]
    assert cells(shown, "lora on rewritings: strict, %") == ["37.5 ± 18.3 (13.7 to 69.4)", "-"]
    page = (tmp_path / "all" / "comparison.md").read_text()
    assert shown.partition("\n\ncomparison:")[0] in page
    assert page.endswith("\n\n![Verdicts](verdicts.png)\n\n![Training losses](losses.png)\n\n![Scores](scores.png)\n")
    for name in ("verdicts", "losses", "scores"):
        assert (tmp_path / "all" / f"{name}.png").stat().st_size > 10_000
    assert [path.name for path in write([read(whole / "dpo")], tmp_path / "dpo").parent.glob("*.png")] == ["losses.png"]


def test_the_run_of_one_command_is_a_table_of_one_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = sample_run.build(tmp_path / "run")
    for part in ("data", "sft", "eval/base", "rewrite"):
        capsys.readouterr()
        assert main(["report", str(whole / part)]) == 0
        assert capsys.readouterr().out == table([read(whole / part)]) + "\n"
    assert main(["report", str(whole / "data"), "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "comparison.md").read_text().startswith("# Runs side by side")
    assert main(["report", str(whole)]) == 0
    assert "\nreport: " in capsys.readouterr().out


def test_one_run_has_its_report_in_its_own_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sample_run.build(tmp_path / "run")), "--output", str(tmp_path / "out")]) == 2
    assert "--output is for several runs" in capsys.readouterr().err
