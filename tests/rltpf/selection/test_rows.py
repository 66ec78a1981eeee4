"""`rltpf select` from rows to rows, with real Lean and a recorded formaliser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltpf.cli import main
from rltpf.llm.model import Completion, Request, Sampling
from rltpf.llm.transcript import Transcript
from rltpf.selection.prompting import messages

QUESTION = "Half of a number is 4. What is the number?"
ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": QUESTION, "candidates": ["2", "8", "6"], "answer": "8", "kept": 1},
    {"id": "b", "question": QUESTION, "candidates": "1. 8\n2. 8.0\n3. 2\n", "answer": "\\frac{16}{2}"},
]


def arguments(folder: Path) -> list[str]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    transcript = Transcript(folder / "recorded.jsonl")
    for answer in ("2", "8"):
        reply = f"```lean\ntheorem number (n : Rat) (h : n / 2 = 4) : n = {answer} := by sorry\n```"
        prompt = messages("formalise", question=QUESTION, answer=answer, library="core")
        transcript.add("m", Request("formaliser", prompt, Sampling(0.0, 1.0, 2048, 42)), Completion(reply))
    transcript.close()
    return [
        *("select", str(folder / "rows.jsonl"), "--output", str(folder / "selected.jsonl")),
        *("--llm.backend", "replay", "--llm.model", "m", "--llm.transcript", str(folder / "recorded.jsonl")),
        *("--llm.temperature", "0", "--prover.toolchain", "embedded", "--output_dir", str(folder / "run")),
    ]


@pytest.mark.lean
def test_rows_are_selected_from_and_a_second_start_does_nothing_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = arguments(tmp_path)
    assert main(words) == 0
    first, second = map(json.loads, (tmp_path / "selected.jsonl").read_text().splitlines())
    assert (first["selected"], first["rank"], first["base_rank"], first["kept"]) == ("8", 2, 1, 1)
    assert [item["proof"] for item in first["judged"]] == ["refuted", "proved", "refuted"]
    assert (first["calls"], second["calls"]) == ({"formaliser": 1}, {"formaliser": 1})
    # 8.0 repeats the value of 8.
    assert [item["candidate"] for item in second["judged"]] == ["8", "2"]
    assert (second["selected"], second["rank"]) == ("8", 1)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    rules = {name: table["rules"]["proof"]["right"] for name, table in metrics["equality"].items()}
    assert rules == {"string": 1, "math_verify": 2}
    assert "rank 1, no Lean" in capsys.readouterr().err
    before = (tmp_path / "selected.jsonl").read_bytes()
    assert main(words) == 0
    assert "resuming: 2 done, 0 left" in capsys.readouterr().err
    assert (tmp_path / "selected.jsonl").read_bytes() == before


@pytest.mark.lean
def test_other_candidates_are_another_problem(tmp_path: Path) -> None:
    words = arguments(tmp_path)
    assert main(words) == 0
    changed = [{**ROWS[0], "candidates": ["2", "16/2", "7"]}, ROWS[1]]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    assert main(words) == 0
    first, second = map(json.loads, (tmp_path / "selected.jsonl").read_text().splitlines())
    assert (first["selected"], first["rank"], second["selected"]) == ("16/2", 2, "8")
    assert [item["candidate"] for item in first["judged"]] == ["2", "16/2", "7"]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"id": "a", "question": "q"}', "candidates has to be a list of texts, or a reply that holds one"),
        ('{"id": "a", "question": "q", "candidates": [1]}', "candidates has to be a list of texts"),
        ('{"id": "a", "question": "q", "candidates": []}', "candidates holds 0 answers, and has to hold 1 to 64"),
        ('{"id": "a", "question": "q", "candidates": ["1"], "answer": 1}', "answer has to be a text, and is 1"),
        ('{"id": 1, "question": "q", "candidates": ["1"]}', "id has to be a text, and is 1"),
        ("[]", "is a JSON list, and has to be an object"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, fault: str) -> None:
    words = arguments(tmp_path)
    (tmp_path / "rows.jsonl").write_text(f"{line}\n")
    assert main(words) == 2
    assert f"rows.jsonl:1: {fault}" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
