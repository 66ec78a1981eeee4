"""Table 1 of the paper, row by row."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_gen.allocate import allocate
from data_gen.export import dpo_rows, sft_rows, to_jsonl
from data_gen.records import Answer, Outcome, StepVerdict, Verdict


def answer(number: int, verdict: Verdict, text: str = "") -> Answer:
    text = text or f"Step 1: {number}.\nThe answer is 1."
    lines = [" ".join(line.split()) for line in text.splitlines()]
    outcomes: list[Outcome] = (
        [verdict, *["unchecked"] * (len(lines) - 1)] if verdict != "verified" else ["verified"] * len(lines)
    )
    steps = tuple(StepVerdict(line, "1 = 1", outcome) for line, outcome in zip(lines, outcomes, strict=True))
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
    allocation = allocate([answer(0, "verified", "same"), answer(1, "verified", " same\n")])
    assert (allocation.fate, [a.id for a in allocation.sft]) == ("sft", ["a0"])
    allocation = allocate([answer(0, "false", "same"), answer(1, "verified"), answer(2, "false", "same")])
    assert [(c.id, r.id) for c, r in allocation.dpo] == [("a1", "a0")]


def test_a_text_that_is_verified_and_false_is_believed_neither_way() -> None:
    same = [answer(0, "verified", "same"), answer(1, "false", "same")]
    allocation = allocate(same)
    assert (allocation.fate, allocation.sft, allocation.dpo, allocation.decided) == ("error", (), (), ())
    assert [a.id for a in allocation.contradicted] == ["a0", "a1"]
    # The others are paired as if it were not there.
    allocation = allocate([*same, answer(2, "verified"), answer(3, "false")])
    assert (allocation.fate, [(c.id, r.id) for c, r in allocation.dpo]) == ("dpo", [("a2", "a3")])
    assert allocate([*same, answer(2, "verified"), answer(3, "verified")]).fate == "sft"
    assert allocate([*same, answer(2, "verified")]).fate == "error"


def judged(number: int, verdict: Verdict, *steps: tuple[str, Outcome]) -> Answer:
    prose = "\n".join(text for text, _ in steps)
    verdicts = tuple(StepVerdict(text, None, outcome) for text, outcome in steps)
    return Answer(f"a{number}", "q", number, "How many?", prose, verdict, "", verdicts, (), "")


RIGHT = judged(
    0, "verified", ("16 - 3 = 13.", "verified"), ("So 13  eggs.", "no_claim"), ("The answer is 13.", "verified")
)


@pytest.mark.parametrize(
    ("false", "believed"),
    [
        # What Lean refuted is what it verified in the other answer, which goes on in another way.
        ([("16 - 3 = 13.", "verified"), ("So 13 eggs.", "false"), ("The answer is 12.", "unchecked")], False),
        ([("16 - 3 = 13.", "unchecked"), ("So 13 eggs.", "false"), ("The answer is 12.", "unchecked")], False),
        # From other steps the same step is another one.
        ([("16 - 4 = 12.", "verified"), ("So 13 eggs.", "false"), ("The answer is 13.", "unchecked")], True),
        ([("16 - 3 = 13.", "verified"), ("So 13 eggs.", "verified"), ("The answer is 12.", "false")], True),
    ],
)
def test_an_answer_with_a_step_that_is_refuted_elsewhere_is_not_believed(
    false: list[tuple[str, Outcome]], believed: bool
) -> None:
    allocation = allocate([RIGHT, judged(1, "false", *false)])
    assert [a.id for a in allocation.decided] == (["a0", "a1"] if believed else [])
    assert [a.id for a in allocation.contradicted] == ([] if believed else ["a0", "a1"])
    assert allocation.fate == ("dpo" if believed else "error")


@st.composite
def samples(draw: st.DrawFn) -> list[Answer]:
    """Answers to one question, some with the same text."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(("verified", "false", "error")), st.integers(0, 5)), min_size=2))
    return [answer(number, verdict, f"text {text}") for number, (verdict, text) in enumerate(drawn)]  # type: ignore[arg-type]


@given(samples())
def test_every_answer_has_one_place_at_most_and_a_reason_where_it_has_none(answers: list[Answer]) -> None:
    allocation = allocate(answers)
    chosen, rejected = [c for c, _ in allocation.dpo], [r for _, r in allocation.dpo]
    placed = [a.id for a in (*allocation.sft, *chosen, *rejected)]
    assert len(set(placed)) == len(placed)
    assert {a.verdict for a in (*allocation.sft, *chosen)} <= {"verified"}
    assert {a.verdict for a in rejected} <= {"false"}
    assert all(c.answer != r.answer for c, r in allocation.dpo)
    # Answers = decided + undecided + contradicted + repeats of a decided text.
    decided, contradicted = ({a.id for a in found} for found in (allocation.decided, allocation.contradicted))
    errors = {a.id for a in answers if a.verdict == "error"}
    repeats = {a.id for a in answers} - decided - contradicted - errors
    assert len(decided) + len(contradicted) + len(errors) + len(repeats) == len(answers)
    texts = [a.answer for a in allocation.decided]
    assert len(set(texts)) == len(texts)
    assert all(a.answer in texts for a in answers if a.id in repeats)
    assert set(placed) <= decided
    # Of the decided ones everything is used that table 1 uses.
    counts = [sum(a.verdict == verdict for a in allocation.decided) for verdict in ("verified", "false")]
    assert len(allocation.dpo) == min(counts)
    assert (allocation.fate == "dpo") == (min(counts) > 0)
    assert len(allocation.sft) == (counts[0] if allocation.fate == "sft" else 0)
    if allocation.fate == "discarded":
        assert {a.verdict for a in answers} == {"false"}


@given(samples(), st.randoms())
def test_the_order_of_the_answers_does_not_matter(answers: list[Answer], random: Any) -> None:
    allocation = allocate(answers)
    random.shuffle(answers)
    assert allocate(answers) == allocation


@given(st.lists(st.sampled_from(("verified", "false", "error")), min_size=2, max_size=2), st.integers(0, 5))
def test_more_samples_that_repeat_a_text_change_nothing(verdicts: list[Verdict], more: int) -> None:
    two = [answer(number, verdict, f"text {number}") for number, verdict in enumerate(verdicts)]
    repeats = [answer(2 + number, verdicts[0], "text 0") for number in range(more)]
    allocation = allocate(two)
    if allocation.fate != "error":
        assert allocate([*two, *repeats]) == allocation


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
