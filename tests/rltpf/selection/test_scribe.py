"""`rltpf scribe`: examples for a rewriter from recorded replies, filtered by real Lean."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rltpf.cli import main
from rltpf.llm.model import Completion, Request, Sampling
from rltpf.llm.settings import LLMConfig
from rltpf.llm.transcript import Transcript
from rltpf.prover.prover import Prover
from rltpf.selection.config import ScribeConfig
from rltpf.selection.prompting import PROMPTS, messages
from rltpf.selection.scribe import Example, Scribe, is_prose
from rltpf.selection.selector import Selector
from rltpf.train.data import row_faults
from tests.rltpf.selection.test_selector import Scripted

STATEMENT = "theorem t (x y : Int) (h : x + y = 3) : x = 6 ∧ y = 31"
BLOCK = "x = 6 ∧ y = 31"
GOOD = "def fill_answer(answer):\n    a, b = answer.strip('()').split(', ')\n    return f'x = {a} ∧ y = {b}'"
# Keeps the contract, and Lean does not take what it writes for negative numbers.
WRONG = GOOD.replace(".split", ".replace('-', '%').split")
TUPLES = ["(6, 31)", "(1, 2)", "(-1, 4)", "(0, 0)", "(5, 5)"]
ROWS: list[dict[str, Any]] = [
    {"id": "pair", "question": "Which pair?", "candidates": TUPLES},
    {"id": "found", "question": "What is x?", "candidates": ["1", "2", "3", "4", "5"]},
    {"id": "few", "question": "Which?", "candidates": ["1", "2", "1.0", "4/2", "2.0"]},
    {"id": "prose", "question": "Why?", "candidates": ["1", "2", "3", "4", "because the sum of both is even"]},
    {"id": "none", "question": "Never?", "candidates": ["1", "2", "3", "4", "5"]},
    {"id": "bad", "question": "Bad?", "candidates": TUPLES},
]


def reply(block: str, code: str) -> str:
    return json.dumps({"original_local_block": block, "fill_answer_code": code})


def record(path: Path) -> None:
    transcript = Transcript(path)

    def add(role: str, text: str, number: int, prompt: str, **values: Any) -> None:
        request = Request(role, messages(prompt, **values), Sampling(0.8, 1.0, 2048, 42)).sample(number)
        transcript.add("m", request, Completion(text))

    for row in ROWS:
        for answer in row["candidates"]:
            goal = {"pair": STATEMENT, "bad": STATEMENT, "found": f"theorem t (x : Nat) : x = {answer}"}.get(row["id"])
            lean = f"```lean\n{goal} := by sorry\n```" if goal else "no"
            add("formaliser", lean, 0, "formalise", question=row["question"], answer=answer, library="core")
    tries = {"pair": [(BLOCK, WRONG), (BLOCK, "no code ("), (BLOCK, GOOD)], "bad": [(BLOCK, WRONG)] * 3}
    for row in ROWS:
        for number, (block, code) in enumerate(tries.get(row["id"], [])):
            asked = {"question": row["question"], "answer": "(6, 31)", "statement": STATEMENT, "fault": ""}
            add("rewriter", reply(block, code), number, "rewrite", **asked)
    transcript.close()


def words(folder: Path, *more: str, output: str = "run") -> list[str]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    if not (folder / "recorded.jsonl").exists():
        record(folder / "recorded.jsonl")
    return [
        *("scribe", str(folder / "rows.jsonl"), "--samples", "3", "--hard", "true", "--prover.toolchain", "embedded"),
        *("--llm.backend", "replay", "--llm.model", "m", "--llm.transcript", str(folder / "recorded.jsonl")),
        *("--llm.temperature", "0.8", "--output_dir", str(folder / output), *more),
    ]


@pytest.mark.lean
def test_lean_filters_what_is_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path)) == 0
    err = capsys.readouterr().err
    assert "problems: 6 in = 1 kept + 1 few_answers + 1 localised + 1 no_base + 1 no_function + 1 prose" in err
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    # Calls of the formaliser: pair 1, found 1, none 5, bad 1; replies: the third of pair passes, and none of bad's.
    assert (metrics["formaliser_calls"], metrics["rewriter_replies"]) == (8, 6)
    rows = [
        json.loads(line)
        for name in ("train", "test")
        for line in (tmp_path / f"run/data/{name}.jsonl").read_text().splitlines()
    ]
    assert [row["id"] for row in rows] == ["pair"]
    assert row_faults("sft", rows[0]) == []
    # What is trained is what `select` asks.
    asked = messages("rewrite", question="Which pair?", answer="(6, 31)", statement=STATEMENT, fault="")
    assert rows[0]["prompt"] == [{"role": message.role, "content": message.content} for message in asked]
    assert json.loads(rows[0]["completion"][0]["content"]) == json.loads(reply(BLOCK, GOOD))
    # Killed within a line, it goes on, and the data are the same bytes.
    before = {path.name: path.read_bytes() for path in (tmp_path / "run/data").iterdir()}
    journal = tmp_path / "run/examples.jsonl"
    os.truncate(journal, journal.stat().st_size - 20)
    assert main(words(tmp_path)) == 0
    assert "resuming: 5 done, 1 left" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "run/data").iterdir()} == before
    other = [{**ROWS[0], "question": "Which other pair?"}, *ROWS[1:]]
    changed = words(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in other))
    assert main(changed) == 2
    assert capsys.readouterr().err.startswith("pair: has another question than in the run or phase before: ")
    # A later phase takes the examples over, and asks for nothing again.
    later = words(tmp_path, "--earlier", json.dumps([str(tmp_path / "run")]), output="later")
    assert main(later) == 0
    assert "problems: 5 in = 0 kept" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "later/data").iterdir()} == before


@pytest.mark.lean
@pytest.mark.parametrize(
    ("labels", "code", "reason", "detail", "requests"),
    [
        (["x = 1 ∧ y = 2", "x = -1 ∧ y = 4"], GOOD, "", "", ["label", "label", "synthesise"]),
        (["x = 1 ∧ y = 2", BLOCK], GOOD, "no_label", "label of (-1, 4): the block is the same", ["label", "label"]),
        (["x = 1 ∧ y = = 2"], GOOD, "no_label", "label of (1, 2): the edit changes both sides", ["label"]),
        (["x = 1 ∧ y = ?"], GOOD, "no_label", "label of (1, 2): for (1, 2) Lean does not take", ["label"]),
        (["x = 1"], GOOD, "no_label", "label of (1, 2): the edit changes the logic", ["label"]),
        # The labels are kept, and not the third answer, which the request does not show.
        (
            ["x = 1 ∧ y = 2", "x = -1 ∧ y = 4"],
            GOOD.replace("return", "assert a != '0'\n    return"),
            "no_function",
            "for (0, 0) the function gives no usable text",
            ["label", "label", "synthesise"],
        ),
        (
            ["x = 1 ∧ y = 2", "x = -1 ∧ y = 5"],
            GOOD,
            "no_function",
            "for (-1, 4) the function does not give the labelled block",
            ["label", "label", "synthesise"],
        ),
    ],
)
def test_a_teacher_labels_before_it_writes_a_function(
    prover: Prover, labels: list[str], code: str, reason: str, detail: str, requests: list[str]
) -> None:
    def rewriter(prompt: str) -> str:
        if "Other answer: " in prompt:
            number = ["(1, 2)", "(-1, 4)"].index(prompt.split("Other answer: ")[1].split("\n")[0])
            # Only the first is asked for the block, too.
            assert ("The block is: " in prompt) is bool(number)
            return json.dumps({"original_local_block": BLOCK, "rewritten_local_block": labels[number]})
        assert all(f'"{answer}": ' in prompt for answer in TUPLES[:3])
        assert "(0, 0)" not in prompt
        return reply(BLOCK, code)

    model = Scripted(formaliser=lambda prompt: f"```lean\n{STATEMENT} := by sorry\n```", rewriter=rewriter)
    selector = Selector(model, prover, lambda role: Sampling(), messages, False, False)
    config = ScribeConfig(
        output_dir=Path("unused"),
        llm=LLMConfig(backend="replay", model="m", transcript=Path("unused")),
        samples=1,
        tests=3,
        labels=2,
    )
    example = asyncio.run(Scribe(config, model, selector).example("p", "Which pair?", TUPLES[:4]))
    assert (example.error.reason if example.error else "") == reason
    assert example.error is None or example.error.detail.startswith(detail)
    known = {request.messages[0].content: name for name in ("label", "synthesise") for request in model.requests
             if request.messages[0].content == PROMPTS.sketch(name)[0].content}  # fmt: skip
    assert [known[request.messages[0].content] for request in model.requests if request.role == "rewriter"] == requests
    assert example.replies == len(requests)
    if not reason:
        # What is trained is what `select` asks, without the labels.
        asked = messages("rewrite", question="Which pair?", answer="(6, 31)", statement=STATEMENT, fault="")
        assert example.row()["prompt"] == [{"role": message.role, "content": message.content} for message in asked]


def test_one_answer_is_not_labelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path, "--labels", "4")) == 2
    assert "labels is 4, and has to be below tests, 4: one answer is unseen" in capsys.readouterr().err


def test_a_folder_that_is_no_earlier_phase_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path, "--earlier", json.dumps([str(tmp_path)]))) == 2
    assert capsys.readouterr().err == (f"earlier: {tmp_path} is no run of `rltpf scribe`: it holds no examples.jsonl\n")


def test_copies_of_a_question_are_on_one_side() -> None:
    sides = [Example(str(number), f"Question {number}?").held_out(0.1, 42) for number in range(2000)]
    assert 160 <= sum(sides) <= 240
    for number in range(50):
        copies = (Example("a", f"Question {number}?"), Example("b", f"Question  {number}?\n", "7"))
        assert len({copy.held_out(0.1, 42) for copy in copies}) == 1


@pytest.mark.parametrize(
    ("answer", "prose"),
    [
        ("it is even", False),
        ("because the sum of both is even", True),
        ("\\frac{1}{2} + \\sqrt{3} \\cdot \\pi + 17", False),
        ("(6, 31, -1, 5, 77, 12)", False),
        ("$\\text{no solution}$", False),
    ],
)
def test_prose(answer: str, prose: bool) -> None:
    assert is_prose(answer) is prose
