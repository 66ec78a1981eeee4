"""The four phases of a question, each with its own ways to lose one."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from data_gen.formalize import Formaliser, Symbols
from data_gen.prompting import OWN
from data_gen.records import Question
from demo.teacher import Teacher
from rltpf.llm.model import Completion, ModelError, Request, Sampling
from rltpf.prover.prover import Prover
from tests.data_gen.fakes import SYMBOLS, TELESCOPE, AgreeableProver, RoleModel

QUESTION = "Janet has 16 eggs and eats 3. How many are left?"
TEACHER = sorted(Path("demo/teacher").glob("*.yaml"))


def formalise(model: Any, prover: Any = None, question: str = QUESTION, repairs: int = 2) -> Question:
    formaliser = Formaliser(model, prover or AgreeableProver(), lambda role: Sampling(seed=7), repairs)
    return asyncio.run(formaliser.formalise(Question("id", question, "13", phase="s0")))


def ended(question: Question) -> tuple[str, str]:
    assert question.error is not None
    return question.error.stage, question.error.reason


def test_a_question_that_passes_every_phase_is_kept_with_what_they_made() -> None:
    question = formalise(RoleModel())
    assert question.kept
    assert (question.phase, question.symbols, question.telescope) == ("s4", SYMBOLS, TELESCOPE)
    assert question.retelling == "There are 16 eggs and 3 are eaten. How many are left?"
    assert question.alignment == "the same"
    assert [attempt.reason for attempt in question.attempts] == [""]


# s1: structured output


def test_symbols_are_asked_for_by_schema_and_read_strictly() -> None:
    model = RoleModel(s1=["no JSON", {**SYMBOLS, "solution": "13"}, SYMBOLS])
    assert formalise(model).symbols == SYMBOLS
    requests = model.asked("s1")
    assert [request.schema for request in requests] == [Symbols.model_json_schema()] * 3
    # Asked again as another sample: a cache would give the same reply for ever.
    assert len({(request.attempt, request.sampling.seed) for request in requests}) == 3
    assert json.dumps(SYMBOLS) in model.asked("s2")[0].messages[1].content


@pytest.mark.parametrize(
    "symbols",
    ["no JSON", {"variables": []}, {**SYMBOLS, "target": 13}, {**SYMBOLS, "variables": [{"name": "answer"}]}],
)
def test_symbols_that_stay_unreadable_lose_the_question(symbols: Any) -> None:
    model = RoleModel(s1=symbols)
    question = formalise(model)
    assert ended(question) == ("s1", "unparseable")
    assert len(model.asked("s1")) == 3
    assert not model.asked("s2")


# s2: repairs from Lean's messages


def test_lean_s_message_and_the_refused_text_are_in_the_request_for_a_repair() -> None:
    wrong = TELESCOPE.replace("eggs - eaten", "eggs - eten")
    model = RoleModel(s2=[f"```lean\n{wrong}\n```", f"```lean\n{TELESCOPE}\n```"])
    question = formalise(model, AgreeableProver({"eten)": "Unknown identifier `eten`"}))
    assert question.telescope == TELESCOPE
    assert [attempt.reason for attempt in question.attempts] == ["not_elaborated", ""]
    first, repair = (request.messages[1].content for request in model.asked("s2"))
    assert "Unknown identifier `eten`" in repair
    assert wrong in repair
    assert "repair 1 of 2" in repair
    assert wrong not in first


def test_repairs_come_to_an_end_with_the_last_reason() -> None:
    model = RoleModel(s2=["no code", f"```lean\n{TELESCOPE} (h : eggs > 0)\n```", "```lean\n(n : Nat)\n```"])
    question = formalise(model, AgreeableProver({"(h : eggs > 0)": "no"}))
    assert ended(question) == ("s2", "no_answer_slot")
    assert [attempt.reason for attempt in question.attempts] == ["no_lean", "not_elaborated", "no_answer_slot"]
    assert not model.asked("s3")


@pytest.mark.lean
@pytest.mark.parametrize(
    ("telescope", "reason", "said"),
    [
        (f"{TELESCOPE} (h_more : eggs = 17)", "contradictory", "Lean proves `False`"),
        ("(answer : Rat) (h : answer > 3) (h_less : answer < 2)", "contradictory", "Lean proves `False`"),
        (TELESCOPE.replace("eggs - eaten", "eggs - eten"), "not_elaborated", "eten"),
        ("(eggs : Nat) (answer : Rat) (h : answer = 1)", "type", "every quantity is of type Rat"),
        ("(share answer : Rat) (h : answer = 6 / share)", "division_by_zero", "`share`"),
        ("(eggs : Rat) (h : eggs = 16)", "no_answer_slot", "no variable `answer`"),
        ("(answer : Rat) (h : answer = 1) : answer = 1", "gate", "binders alone"),
        ("(answer : Rat) (h : answer = 1) -- Janet has 16 eggs", "gate", "binders alone"),
    ],
)
def test_lean_refuses_telescopes_for_a_reason(prover: Prover, telescope: str, reason: str, said: str) -> None:
    question = formalise(RoleModel(s2=f"```lean\n{telescope}\n```"), prover, repairs=0)
    assert ended(question) == ("s2", reason)
    assert question.error is not None
    assert said in question.error.detail


@pytest.mark.lean
def test_contradictory_premises_are_not_repaired(prover: Prover) -> None:
    """They are a misreading of the question, and everything would follow from them."""
    model = RoleModel(s2=f"```lean\n{TELESCOPE} (h_more : eaten = 4)\n```")
    assert ended(formalise(model, prover)) == ("s2", "contradictory")
    assert len(model.asked("s2")) == 1


@pytest.mark.lean
def test_a_repair_passes_real_lean(prover: Prover) -> None:
    wrong = TELESCOPE.replace("eggs - eaten", "eggs - eten")
    model = RoleModel(s2=[f"```lean\n{wrong}\n```", f"```lean\n{TELESCOPE}\n```"])
    assert formalise(model, prover).kept
    assert "eten" in model.asked("s2")[1].messages[1].content.split(wrong)[1]


# s3: blind to s0


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def content(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


@given(st.text(min_size=1), st.text(), st.text())
def test_the_request_for_the_retelling_hangs_on_the_telescope_alone(question: str, premise: str, meaning: str) -> None:
    symbols = {**SYMBOLS, "premises": [premise], "variables": [{**SYMBOLS["variables"][0], "meaning": meaning}]}  # type: ignore[dict-item]
    requests = []
    for text, reply in ((question, symbols), (QUESTION, SYMBOLS)):
        model = RoleModel(s1=reply)
        formalise(model, question=text)
        requests += model.asked("s3")
    assert requests[0] == requests[1]


class Blindfold:
    """The demo's teacher up to s2; what comes after is only looked at."""

    name = "blindfold"

    def __init__(self) -> None:
        self.teacher = Teacher(TEACHER)
        self.retelling: Request | None = None

    async def complete(self, request: Request) -> Completion:
        if request.role == "back_translator":
            self.retelling = request
            return Completion("")
        return Completion(self.teacher.reply(*(message.content for message in request.messages), 0))


def test_no_word_of_the_demo_s_questions_reaches_the_retelling() -> None:
    fixed = words("\n".join(message.content for message in OWN.messages("s3", telescope="")))
    entries = [entry for part in TEACHER for entry in yaml.safe_load(part.read_text())]
    looked_at = 0
    for entry in entries:
        model = Blindfold()
        question = formalise(model, question=entry["question"], repairs=0)
        if model.retelling is None:
            assert ended(question)[0] in ("s1", "s2")
            continue
        assert question.telescope is not None
        hidden = words(entry["question"]) - words(question.telescope) - fixed
        assert len(hidden) > 5
        assert not hidden & words(content(model.retelling))
        # Nor does anything else: what is no word of the prompt is one of s2.
        assert words(content(model.retelling)) <= fixed | words(question.telescope)
        looked_at += 1
    assert looked_at >= 24


def test_a_retelling_without_words_loses_the_question() -> None:
    assert ended(formalise(RoleModel(s3=" \n"))) == ("s3", "empty")


# s4: fails closed


def test_a_no_loses_the_question_with_its_reasons() -> None:
    question = formalise(RoleModel(s4={"reasons": "16 became 17", "aligned": "no"}))
    assert ended(question) == ("s4", "not_aligned")
    assert question.error is not None
    assert question.error.detail == "16 became 17"


@given(
    st.sampled_from(["yes", "no", "Yes", "YES", "yes ", "maybe", "", True, 1, None, ["yes"], {"yes": "yes"}]),
    st.one_of(st.text(), st.none(), st.integers()),
    st.dictionaries(st.sampled_from(["aligned_", "note", "confidence"]), st.integers(), max_size=1),
)
def test_nothing_but_a_clear_yes_keeps_a_question(aligned: Any, reasons: Any, more: dict[str, int]) -> None:
    question = formalise(RoleModel(s4={"reasons": reasons, "aligned": aligned, **more}))
    clear = aligned == "yes" and isinstance(reasons, str) and not more
    assert question.kept == clear
    if not clear:
        assert ended(question) in (("s4", "unparseable"), ("s4", "not_aligned"))


@given(st.text())
def test_no_prose_keeps_a_question(reply: str) -> None:
    assert not formalise(RoleModel(s4=f"yes {reply}")).kept


def test_a_call_that_fails_keeps_nothing() -> None:
    def down(request: Request) -> str:
        raise ModelError("the server is down")

    with pytest.raises(ModelError):
        formalise(RoleModel(s4=down))
