"""Records of FPS, the statements made of them, and the metrics; `tests/bench/bench_rpe.py` asks Lean about all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.fps import FpsProblem, Metrics, answered, backward, forward, forward_proposition, load, metrics
from rltpf.errors import InputError

ROW = {
    "informal_problem": "Integers with x > y > 0 satisfy x + y + xy = 80. What is x?",
    "informal_answer": "26",
    "informal_solution": "Add 1.",
    "header": None,
    "intros": [],
    "outros": [
        {"t": "ℤ", "v": None, "name": "x"},
        {"t": "0 < x", "v": None, "name": "h"},
        {"t": "answer = x", "v": None, "name": "h_answer"},
    ],
    "formal_answer": "answer = 26",
    "formal_answer_type": "ℤ",
    "metainfo": {"split": "valid"},
}


def problem(tmp_path: Path, **changes: object) -> FpsProblem:
    path = tmp_path / "minif2f_solving.jsonl"
    path.write_text(json.dumps(ROW | changes) + "\n")
    return load(path)[0]


def test_a_problem_is_known_by_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "putnam_solving.jsonl"
    path.write_text((json.dumps(ROW) + "\n") * 2)
    assert [(found.bench, found.idx) for found in load(path)] == [("putnam_solving", 0), ("putnam_solving", 1)]


def test_statements_without_intros(tmp_path: Path) -> None:
    found = problem(tmp_path)
    assert forward(found, "p") == "theorem p :\n    ∃ (answer : ℤ), ∀ (x : ℤ) (h : 0 < x), (answer = x)"
    assert forward_proposition(found, "p") == (
        "theorem p :\n    ∀ (answer : ℤ), ∃ (h_submission : Prop), ∀ (x : ℤ) (h : 0 < x), ((answer = x) ↔ h_submission)"
    )
    assert backward(found, "p") == (
        "theorem p :\n    ∀ (answer : ℤ) (h_submission : answer = 26) (x : ℤ) (h : 0 < x), (answer = x)"
    )


def test_statements_with_intros_an_instance_and_one_outro(tmp_path: Path) -> None:
    intros = [{"t": "Type", "v": None, "name": "G"}, {"t": "Inhabited G", "v": None, "name": None}]
    found = problem(tmp_path, intros=intros, outros=ROW["outros"][-1:])  # type: ignore[index]
    assert forward(found, "p") == "theorem p :\n    ∀ (G : Type) [Inhabited G], ∃ (answer : ℤ), (answer = x)"
    assert forward_proposition(found, "p") == (
        "theorem p :\n    ∀ (G : Type) [Inhabited G], ∀ (answer : ℤ), ∃ (h_submission : Prop), "
        "((answer = x) ↔ h_submission)"
    )
    assert backward(found, "p") == (
        "theorem p :\n    ∀ (G : Type) [Inhabited G], ∀ (answer : ℤ) (h_submission : answer = 26), (answer = x)"
    )


def test_problems_that_do_not_mention_the_answer_are_told_apart(tmp_path: Path) -> None:
    assert problem(tmp_path).constrained
    assert not problem(tmp_path, outros=[{"t": "anwer = 3", "v": None, "name": "h"}]).constrained


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no rows"),
        ("[]\n", "is a JSON list, and has to be an object"),
        (json.dumps(ROW | {"header": 3}), "header: input should be a valid string"),
        (json.dumps(ROW | {"outros": []}), "outros: holds no conclusion"),
        (json.dumps({k: v for k, v in ROW.items() if k != "intros"}), "intros: field required"),
    ],
)
def test_rows_that_are_no_problems(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=fault):
        load(path)


def test_metrics_are_of_the_whole_benchmark() -> None:
    rows = [
        {"idx": 0, "submission": "1", "equivalent": True},
        {"idx": 1, "submission": "2", "equivalent": False, "proven": True},
        {"idx": 2, "submission": " ", "equivalent": False},
        {"idx": 3, "equivalent": False, "proven": True},
        {"idx": 4, "submission": "1", "equivalent": False},
        {"idx": 4, "submission": "2", "equivalent": True},
    ]
    found = metrics(rows, 387)
    assert (found, found.submitted) == (Metrics(size=387, solved=2, not_equivalent=1, proven=2), 3)
    # The published counts of DeepSeek-Prover-V1.5 on formal_math500.
    assert Metrics(387, 86, 56, 180).line() == (
        "Solved 22.22 % (86), NE-submitted 14.47 % (56), Submitted 36.69 % (142), Proven 46.51 % (180) of 387"
    )


def test_a_candidate_stands_in_the_place_of_the_known_answer(tmp_path: Path) -> None:
    known = problem(tmp_path)
    assert answered(known, "26", "p") == backward(known, "p")
    assert answered(known, "-7 / 2", "p") == backward(known, "p").replace("answer = 26", "answer = -7 / 2")
