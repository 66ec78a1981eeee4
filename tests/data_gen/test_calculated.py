"""Judging without a model: what calculations alone can show, and that nothing is verified by them."""

import asyncio
import json
from pathlib import Path

import pytest

from data_gen.calculated import judge_calculations
from data_gen.records import StepVerdict
from rltpf.cli import main
from rltpf.prover.prover import Prover
from tests.data_gen.fakes import AgreeableProver

RIGHT = "Step 1: She sells 16 - 3 - 4 = 9 eggs.\nStep 2: She thinks.\nThe answer is 9."
WRONG = "Step 1: She sells 16 - 3 - 4 = 9 eggs.\nStep 2: She earns 9 * 2 = 20 dollars.\nThe answer is 20."


@pytest.mark.lean
def test_a_refuted_calculation_makes_an_answer_false(prover: Prover) -> None:
    judgement = asyncio.run(judge_calculations(prover, WRONG))
    assert (judgement.verdict, judgement.reason) == ("false", "refuted_calculation")
    assert [(step.outcome, step.claim) for step in judgement.steps] == [
        ("unchecked", None),
        ("false", "9 * 2 = 20"),
        ("unchecked", None),
    ]
    assert judgement.lean == "theorem step_2_denied\n     :\n    ¬ ((9 * 2 : Rat) = 20) := by\n  decide +kernel"


def test_right_calculations_verify_nothing() -> None:
    judgement = asyncio.run(judge_calculations(AgreeableProver(), RIGHT))
    assert (judgement.verdict, judgement.reason, judgement.lean) == ("error", "no_formaliser", "")
    assert judgement.steps == (
        StepVerdict("She sells 16 - 3 - 4 = 9 eggs.", None, "error", "unformalised"),
        StepVerdict("She thinks.", None, "error", "no_calculation"),
        StepVerdict("The answer is 9.", None, "error", "no_calculation"),
    )


def test_an_answer_without_steps_is_an_error() -> None:
    judgement = asyncio.run(judge_calculations(AgreeableProver(), "9"))
    assert (judgement.verdict, judgement.reason, judgement.steps) == ("error", "unparseable_answer", ())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rows with their labels, in a prover's hands that proves everything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("data_gen.verdicts.build_prover", lambda _: AgreeableProver())
    rows = [
        {
            "id": "a",
            "kind": "none",
            "question": "Q",
            "answer": RIGHT,
            "gold": [
                {"text": "She sells 16 - 3 - 4 = 9 eggs.", "label": "verified"},
                {"text": "She thinks.", "label": None},
                {"text": "The answer is 9.", "label": "verified"},
            ],
        },
        {
            "id": "b",
            "kind": "number",
            "question": "Q",
            "answer": WRONG,
            "gold": [
                {"text": "She sells 16 - 3 - 4 = 9 eggs.", "label": "error"},
                {"text": "She earns 9 * 2 = 20 dollars.", "label": "verified"},
                {"text": "The answer is 20.", "label": None},
            ],
        },
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


NO_MODEL = "no llm: calculations alone are judged, and no answer can be verified\n"
COMMAND = ["judge", "rows.jsonl", "--output_dir", "run"]


def test_command_scores_verdicts_without_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--gold", "rows.jsonl", "--output", "out.jsonl"]) == 0
    out, err = capsys.readouterr()
    assert (
        out
        == """\
steps  gold     verified false error unchecked precision recall    F1
all    verified        0     1     2         0            0.000 0.000
       error           0     0     0         1     0.000  0.000 0.000
none   verified        0     0     2         0            0.000 0.000
number verified        0     1     0         0            0.000 0.000
       error           0     0     0         1            0.000 0.000

answers gold     verified false error precision recall    F1
all     verified        0     0     1            0.000 0.000
        error           0     1     0     0.000  0.000 0.000
none    verified        0     0     1            0.000 0.000
number  error           0     1     0            0.000 0.000

b, step 2: labelled verified, judged false (refuted_calculation): She earns 9 * 2 = 20 dollars.
decided otherwise than labelled: 1 steps; all that differ: run/gold.json
"""
    )
    assert err.startswith(NO_MODEL)
    judged = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(row["verdict"], row["reason"]) for row in judged] == [
        ("error", "no_formaliser"),
        ("false", "refuted_calculation"),
    ]
    scores = json.loads(Path("run/gold.json").read_text())
    assert scores["steps"]["number"]["confusion"]["verified"] == {
        "verified": 0,
        "false": 1,
        "error": 0,
        "no_claim": 0,
        "unchecked": 0,
    }
    assert scores["answers"]["all"]["scores"]["error"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert [(item["id"], item["step"], item["outcome"], item["reason"]) for item in scores["differing"]] == [
        ("a", 1, "error", "unformalised"),
        ("a", 3, "error", "no_calculation"),
        ("b", 1, "unchecked", ""),
        ("b", 2, "false", "refuted_calculation"),
    ]


def test_rows_go_to_standard_output_without_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 0
    assert [json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()] == ["error", "false"]


def test_a_verdict_on_another_answer_is_not_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 0
    Path("rows.jsonl").write_text(Path("rows.jsonl").read_text().replace("She thinks", "He thinks"))
    capsys.readouterr()
    assert main(COMMAND) == 2
    fault = "run: has a verdict on another answer with the id 'a': choose another output_dir, or --overwrite\n"
    assert capsys.readouterr() == ("", f"{NO_MODEL}{fault}")
    assert main([*COMMAND, "--overwrite"]) == 0


def test_dry_run_without_a_model_has_no_prompts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--dry_run"]) == 0
    out = capsys.readouterr().out
    assert "output_dir: run" in out
    assert "---" not in out
