import json
import shutil
from pathlib import Path

import pytest
import sample_run
from sample_run import DPO_LOG, METRICS, SFT_LOG

from eval.plots import FunnelBar, by_iteration, curve, funnel
from eval.report import write_report
from eval.sections import confounds
from rltpf.errors import InputError


def cells(report: str, first: str) -> list[str]:
    """The cells of the one table row that begins with `first`."""
    (line,) = [line for line in report.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("| ").split(" | ")]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A whole run that a test may change."""
    return sample_run.build(tmp_path / "duck_run")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with its report, for tests that only read."""
    folder = sample_run.build(tmp_path_factory.mktemp("whole") / "duck_run")
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def report(whole: Path) -> str:
    return (whole / "report.md").read_text(encoding="utf-8")


def test_funnel_and_rates_stand_together(report: str) -> None:
    assert cells(report, "s2: Lean statement") == [
        "s2: Lean statement",
        "30",
        "27",
        "2 not_elaborated, 1 contradictory",
    ]
    assert cells(report, "s4: aligned with s0")[1:] == ["27", "25", "2 not_aligned"]
    # 30 of 30; 27 passed s2 and 1 elaborated but was contradictory; 25 of 30
    assert "Of 30 questions: formalised 100.0 %, elaborated 93.3 %, aligned 83.3 %." in report


def test_verdict_table(report: str) -> None:
    assert cells(report, "verified") == ["verified", "30", "60.0 %"]
    assert cells(report, "false") == ["false", "14", "28.0 %"]
    assert cells(report, "error") == ["error", "6", "12.0 %"]
    assert "Errors by reason: 4 timeout, 2 unproved." in report


def test_iteration_table(report: str) -> None:
    # Execution rate: 33/50; (30 decided + 10)/50; (38 decided + 8)/50. Decided: 30, 38, 44 of 50.
    assert cells(report, "1")[1:] == ["50", "66.0 %", "80.0 %", "20", "10", "20", "66.0 %", "60.0 %", "720"]
    assert cells(report, "2")[1:] == ["20", "50.0 %", "75.0 %", "6", "2", "12", "80.0 %", "76.0 %", "850"]
    assert cells(report, "3")[1:] == ["12", "66.7 %", "75.0 %", "4", "2", "6", "92.0 %", "88.0 %", "1000"]
    assert "repairs took the execution rate from 66.0 % to 92.0 %" in report
    assert "Of 50 answers, 50 were formalised" in report
    assert "of 44 decided answers, 30 needed no repair, 8 needed 1, 6 needed 2." in report


def test_allocation_and_cost(report: str) -> None:
    assert cells(report, "DPO pairs (verified over false)")[1] == "9"
    assert [cells(report, f"mean words, {side}")[1] for side in ("chosen", "rejected")] == ["67.9", "56.1"]
    assert cells(report, "formaliser")[1:] == ["10", "90", "2", "5000", "700"]
    assert "| all | 11 | 139 | 2 | 5080 | 760 |" in report
    assert "Lean (4.99.0, embedded) made 812 checks in 93.1 s. The last start of the generation took 200 s." in report


def test_a_price_brings_its_column(run_dir: Path) -> None:
    path = run_dir / "data" / "metrics.json"
    metrics = json.loads(path.read_text())
    metrics["llm"]["solver"]["cost"] = 0.0125
    path.write_text(json.dumps(metrics))
    report = write_report(run_dir).read_text(encoding="utf-8")
    assert cells(report, "formaliser")[1:] == ["10", "90", "2", "5000", "700", "-"]
    assert cells(report, "solver")[1:] == ["1", "49", "0", "80", "60", "0.0125"]
    assert "| all | 11 | 139 | 2 | 5080 | 760 | 0.0125 |" in report


def test_a_start_that_asked_no_model_cost_nothing(run_dir: Path) -> None:
    path = run_dir / "data" / "metrics.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "llm": {}}))
    assert "| all | 0 | 0 | 0 | 0 | 0 |\n" in write_report(run_dir).read_text(encoding="utf-8")


def test_training_table(report: str) -> None:
    assert cells(report, "SFT")[1:] == ["3", "1.500", "0.800", "-", "-", "26"]
    assert cells(report, "DPO")[1:] == ["2", "0.693", "0.550", "0.310", "0.75", "61"]


def test_score_table_and_paired_differences(report: str) -> None:
    # 1 of 8: sqrt(1/8 * 7/8 / 7) = 0.125; Wilson, with z²/n = 3.8415/8: (0.125 + 0.2401 ± 1.96 * 0.16935) / 1.4802
    assert cells(report, "base") == [
        *("base", "gsm8k v1", "8", "12.5 ± 12.5 (2.2 to 47.1)", *["100.0 ± 0.0 (67.6 to 100.0)"] * 2, "0 / 0", "0")
    ]
    assert cells(report, "sft")[3] == "50.0 ± 18.9 (21.5 to 78.5)"  # sqrt(1/4 / 7)
    # base to sft: three rows of 8 gained, none lost: 3/8, sqrt((3 * (5/8)^2 + 5 * (3/8)^2) / 7 / 8) = 0.183
    assert cells(report, "base to sft")[1:] == ["+37.5 ± 18.3", "+0.0 ± 0.0"]
    # base to dpo: six gained: 6/8, sqrt((6 * (2/8)^2 + 2 * (6/8)^2) / 7 / 8) = 0.164
    assert cells(report, "base to dpo")[1:] == ["+75.0 ± 16.4", "+0.0 ± 0.0"]
    # sft to dpo: three gained, as base to sft
    assert cells(report, "sft to dpo")[1:] == ["+37.5 ± 18.3", "+0.0 ± 0.0"]
    # 37.5 > 2 * 18.3 holds by a little
    assert (
        "Beyond twice its standard error: base to sft (strict), base to dpo (strict), sft to dpo (strict). "
        "Every other difference is within noise." in report
    )


def test_rewriting_and_what_became_of_the_scores(report: str) -> None:
    assert "- 16 problems were rewritten and 10 of them retained." in report
    assert cells(report, "retained")[1:] == ["10", "62.5 %"]
    assert cells(report, "screen:applied_no")[1:] == ["4", "25.0 %"]
    # 3 of 8: sqrt(3/8 * 5/8 / 7)
    assert (
        "- Scores on rewritten problems, greedy pass@1, strict, in percent: lora 37.5 ± 18.3 (13.7 to 69.4)." in report
    )
    assert "- Change in percentage points from originals to rewritings: lora -12.5 (-37.5 to +0.0)." in report
    assert "![Accuracies and their changes](sensitivity/sensitivity.png)" in report


def test_differences_within_noise_are_called_so(run_dir: Path) -> None:
    shutil.rmtree(run_dir / "eval" / "sft")
    rows = (run_dir / "eval" / "base" / "samples.jsonl").read_text().splitlines()
    better = json.loads(rows[0])
    better["correct_strict"] = True
    (run_dir / "eval" / "dpo" / "samples.jsonl").write_text("\n".join([json.dumps(better), *rows[1:]]) + "\n")
    report = write_report(run_dir).read_text(encoding="utf-8")
    # One row of eight gained: 1/8 with a standard error of 1/8.
    assert cells(report, "base to dpo")[1] == "+12.5 ± 12.5"
    assert "No difference exceeds twice its standard error: 8 rows do not tell these models apart." in report


def test_models_on_different_rows_are_not_compared(run_dir: Path) -> None:
    for name in ("sft", "dpo"):
        metrics = json.loads((run_dir / "eval" / name / "metrics.json").read_text())
        metrics["benchmark"]["version"] = 2 if name == "sft" else 3
        (run_dir / "eval" / name / "metrics.json").write_text(json.dumps(metrics))
    report = write_report(run_dir).read_text(encoding="utf-8")
    assert "| base to " not in report
    assert "standard error:" not in report


def test_examples_are_of_one_question_where_possible(report: str) -> None:
    examples = report[report.index("## Examples") :]
    assert "### An answer that is verified\n\n> How many eggs?" in examples
    assert "### An answer that is false\n\n> How many eggs?" in examples
    assert "ducks" not in examples
    assert "| 16 - 3 = 13 \\| left | `left = 12` | false |" in examples
    assert "```lean\ntheorem step_1 : left = 12 := by norm_num\n```" in examples


def test_plots_are_there_and_linked(whole: Path, report: str) -> None:
    for name in ("questions", "verdicts", "training"):
        path = whole / "plots" / f"{name}.png"
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert f"](plots/{name}.png)" in report


def test_missing_parts_are_named(run_dir: Path) -> None:
    for part in ("data", "dpo", "eval"):
        shutil.rmtree(run_dir / part)
    report = write_report(run_dir).read_text(encoding="utf-8")
    assert "SFT ran 3 steps, loss 1.500 to 0.800." in report
    assert "DPO" not in report.partition("## Left out")[0]
    left_out = report.partition("## Left out")[2]
    assert "there is no `data/metrics.json`" in left_out
    assert "there is no `eval/NAME/metrics.json`" in left_out


def test_a_folder_without_a_run_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to report"):
        write_report(tmp_path)


def test_a_damaged_file_is_named(run_dir: Path) -> None:
    (run_dir / "data" / "metrics.json").write_text('{"questions"')
    with pytest.raises(InputError, match=r"data/metrics.json: cannot be read as JSON"):
        write_report(run_dir)
    (run_dir / "data" / "metrics.json").write_text("{}")
    with pytest.raises(InputError, match=r"data/metrics.json: has no 'questions'"):
        write_report(run_dir)


def test_curve_leaves_out_rows_without_the_quantity() -> None:
    assert curve(SFT_LOG, "loss") == ([1, 2, 3], [1.5, 1.25, 0.8])
    assert curve(DPO_LOG, "rewards/margins") == ([1, 2], [0.0, 0.31])


def test_iteration_series_is_cumulative_and_adds_up() -> None:
    series = by_iteration(METRICS["iterations"])
    assert series.iterations == [1, 2, 3]
    assert series.verified == [40.0, 52.0, 60.0]
    assert series.false == [20.0, 24.0, 28.0]
    assert series.open == [40.0, 24.0, 12.0]
    assert series.execution == [66.0, 80.0, 92.0]
    assert series.tokens == [720.0, 850.0, 1000.5]
    assert by_iteration([]).iterations == []


def test_funnel_bars() -> None:
    assert funnel(METRICS) == [
        FunnelBar("in", 30, ()),
        FunnelBar("s1", 30, ()),
        FunnelBar("s2", 27, (("not_elaborated", 2), ("contradictory", 1))),
        FunnelBar("s3", 27, ()),
        FunnelBar("s4", 25, (("not_aligned", 2),)),
    ]


def test_a_file_of_another_kind_is_named(run_dir: Path) -> None:
    (run_dir / "data" / "metrics.json").write_text("[1]")
    with pytest.raises(InputError, match=r"data/metrics.json: is a JSON list, and has to be an object"):
        write_report(run_dir)
    shutil.rmtree(run_dir / "data")
    samples = next(run_dir.glob("eval/*/samples.jsonl"))
    samples.write_text("{}\n")
    with pytest.raises(InputError, match=r"eval/\*: not what its command writes: id: Field required"):
        write_report(run_dir)
    shutil.rmtree(run_dir / "eval")
    (run_dir / "sft" / "log_history.jsonl").write_text('{"loss": 1}\n')
    with pytest.raises(InputError, match=r"log_history.jsonl: not what its command writes: has no 'step'"):
        write_report(run_dir)


@pytest.mark.parametrize(
    ("value", "said"), [(None, "-"), (0.0004, "< 0.001"), (0.0005, "0.001"), (0.0136, "0.014"), (1.0, "1.000")]
)
def test_a_small_p_value_is_not_said_to_be_0(value: float | None, said: str) -> None:
    found = {"measure": {"rho": 0.5, "p_value": value, "n": 9}}
    assert f"| measure | +0.500 | {said} | 9 |" in confounds(found).body
