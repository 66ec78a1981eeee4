"""Table 1 of the paper, row by row."""

import pytest

from data_gen.allocate import allocate
from data_gen.export import dpo_rows, sft_rows, to_jsonl
from data_gen.records import Answer, StepVerdict, Verdict


def answer(number: int, verdict: Verdict, text: str = "") -> Answer:
    steps = (StepVerdict("The answer is 1.", "answer = 1", "verified", lean="theorem step_1 : 1 = 1 := rfl"),)
    text = text or f"Step 1: {number}.\nThe answer is 1."
    return Answer(f"a{number}", "q", number, "How many?", text, verdict, "", steps, (), "theorem step_1 : 1 = 1 := rfl")


def of(*verdicts: Verdict) -> tuple[str, list[str], list[tuple[str, str]]]:
    allocation = allocate([answer(number, verdict) for number, verdict in enumerate(verdicts)])
    return allocation.fate, [a.id for a in allocation.sft], [(c.id, r.id) for c, r in allocation.dpo]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("verified", "verified"), ("sft", ["a0", "a1"], [])),
        (("verified", "false"), ("dpo", [], [("a0", "a1")])),
        (("false", "verified"), ("dpo", [], [("a1", "a0")])),
        (("false", "false"), ("discarded", [], [])),
        (("verified", "error"), ("error", [], [])),
        (("false", "error"), ("error", [], [])),
        (("error", "error"), ("error", [], [])),
        (("verified", "verified", "false"), ("dpo", [], [("a0", "a2")])),
        (("verified", "false", "verified", "false"), ("dpo", [], [("a0", "a1"), ("a2", "a3")])),
        (("verified", "verified", "error"), ("sft", ["a0", "a1"], [])),
        (("verified", "false", "error"), ("dpo", [], [("a0", "a1")])),
        (("false", "false", "error"), ("error", [], [])),
    ],
)
def test_table_1(verdicts: tuple[Verdict, ...], expected: object) -> None:
    assert of(*verdicts) == expected


def test_the_same_text_counts_once() -> None:
    allocation = allocate([answer(0, "verified", "same"), answer(1, "verified", "same")])
    assert (allocation.fate, [a.id for a in allocation.sft]) == ("sft", ["a0"])


def test_rows_are_conversational_and_carry_their_lean() -> None:
    pair = allocate([answer(0, "verified"), answer(1, "false")])
    [row] = dpo_rows([pair])
    assert [m["role"] for m in row["prompt"]] == ["user"]
    assert row["prompt"][0]["content"].startswith("How many?")
    assert row["chosen"] == [{"role": "assistant", "content": "Step 1: 0.\nThe answer is 1."}]
    assert (row["chosen_verdict"], row["rejected_verdict"]) == ("verified", "false")
    assert row["chosen_lean"] == "theorem step_1 : 1 = 1 := rfl"
    [first, second] = sft_rows([allocate([answer(0, "verified"), answer(1, "verified")])])
    assert (first["id"], second["id"], first["verdict"]) == ("a0", "a1", "verified")
    assert first["completion"] == [{"role": "assistant", "content": "Step 1: 0.\nThe answer is 1."}]
    assert to_jsonl([{"b": 1, "a": "≤"}]).startswith('{"a":"≤","b":1,"seal":"')
