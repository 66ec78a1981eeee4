"""BASE on one problem, with real Lean and a model whose requests are counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from rltpf.llm.model import Completion, Request, Sampling
from rltpf.prover.prover import Prover
from rltpf.selection.prompting import messages
from rltpf.selection.selector import Selection, Selector

pytestmark = pytest.mark.lean

EGGS = "theorem eggs (left : Nat) (h : left + 3 = 16) : left = {} := by sorry"


class Scripted:
    """Replies by role from functions of the request; every request is kept."""

    name = "scripted"

    def __init__(self, **replies: Callable[[str], Any]) -> None:
        self.replies = replies
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies[request.role](request.messages[1].content)
        return Completion(reply if isinstance(reply, str) else json.dumps(reply))

    async def close(self) -> None:
        pass


def formalising(statement: str, only: str | None = None) -> Callable[[str], str]:
    """A formaliser that writes the answer into the statement; for the answer `only` alone, where it is given."""

    def reply(prompt: str) -> str:
        answer = prompt.split("Answer: ")[1].split("\n")[0]
        if only not in (None, answer):
            return "```lean\ntheorem t : unknown = 1 := by sorry\n```"
        return f"```lean\n{statement.replace('{}', answer)}\n```"

    return reply


def select(
    prover: Prover,
    model: Scripted,
    candidates: list[str],
    prove: bool = True,
    independent: bool = False,
    compare: bool = False,
) -> Selection:
    selector = Selector(model, prover, lambda role: Sampling(seed=0), messages, prove, independent, compare)
    return asyncio.run(selector.judge("p", "How many are left?", candidates))


def outcomes(selection: Selection) -> list[tuple[str, str, str, str]]:
    return [(item.candidate, item.route, item.verdict, item.proof) for item in selection.judged]


def test_one_formalisation_and_edits_of_it(prover: Prover) -> None:
    model = Scripted(formaliser=formalising(EGGS))
    selection = select(prover, model, ["12", "13", "-14", "13.0"])
    assert outcomes(selection) == [
        ("12", "base", "elaborates", "refuted"),
        ("13", "edited", "elaborates", "proved"),
        ("-14", "edited", "rejected", ""),
    ]
    assert (selection.base, selection.calls) == (0, {"formaliser": 1})
    assert [request.role for request in model.requests] == ["formaliser"]
    assert selection.judged[1].statement == "theorem eggs (left : Nat) (h : left + 3 = 16) : left = 13"


def test_formalising_ends_at_the_first_statement_that_elaborates(prover: Prover) -> None:
    model = Scripted(formaliser=formalising(EGGS, only="13"))
    selection = select(prover, model, ["12", "13", "14", "15"], prove=False)
    assert (selection.base, selection.calls) == (1, {"formaliser": 2})
    assert [item.verdict for item in selection.attempts] == ["rejected", "elaborates"]
    # What could not be formalised by itself is edited like any other.
    assert outcomes(selection)[0] == ("12", "edited", "elaborates", "")
    assert len(model.requests) == 2


def test_without_a_base_nothing_is_edited(prover: Prover) -> None:
    model = Scripted(formaliser=lambda prompt: "I cannot.")
    selection = select(prover, model, ["12", "13"])
    assert (selection.base, selection.calls) == (None, {"formaliser": 2})
    assert outcomes(selection) == [("12", "none", "none", ""), ("13", "none", "none", "")]


def test_a_model_chooses_among_several_places(prover: Prover) -> None:
    statement = "def f (n : Nat) : Nat := n + 1\ntheorem t : f 7 = {} := by sorry"
    model = Scripted(formaliser=formalising(statement), judge=lambda prompt: {"reasons": "", "places": [2]})
    selection = select(prover, model, ["7", "8"])
    assert outcomes(selection) == [("7", "base", "elaborates", "refuted"), ("8", "chosen", "elaborates", "proved")]
    assert "f ⟦1⟧7 = ⟦2⟧7" in model.requests[1].messages[1].content
    assert selection.calls == {"formaliser": 1, "judge": 1}


@pytest.mark.parametrize("places", [[], [3], [0]])
def test_in_doubt_the_rewriter_is_asked(prover: Prover, places: list[int]) -> None:
    statement = "def f (n : Nat) : Nat := n + 1\ntheorem t : f 7 = {} := by sorry"
    code = "def fill_answer(answer):\n    return f'f 7 = {answer}'"
    model = Scripted(
        formaliser=formalising(statement),
        judge=lambda prompt: {"reasons": "", "places": places},
        rewriter=lambda prompt: {"original_local_block": "f 7 = 7", "fill_answer_code": code},
    )
    selection = select(prover, model, ["7", "8"])
    assert outcomes(selection)[1] == ("8", "rewritten", "elaborates", "proved")
    assert selection.calls == {"formaliser": 1, "judge": 1, "rewriter": 1}


def test_a_broken_rewriter_is_asked_again_and_told_why(prover: Prover) -> None:
    statement = "theorem t (x y : Int) (h : x = 6) (k : y = 31) : x = 6 ∧ y = 31 := by sorry"
    good = "def fill_answer(answer):\n    a, b = answer.strip('()').split(', ')\n    return f'x = {a} ∧ y = {b}'"
    bad = "def fill_answer(answer):\n    return 'x = 6 ∧ y = 31'"
    codes = [bad, "no code (", good]
    model = Scripted(
        formaliser=lambda prompt: f"```lean\n{statement}\n```",
        rewriter=lambda prompt: {"original_local_block": "x = 6 ∧ y = 31", "fill_answer_code": codes.pop(0)},
    )
    selection = select(prover, model, ["(6, 31)", "(-6, -31)", "(1, 2)"])
    assert outcomes(selection) == [
        ("(6, 31)", "base", "elaborates", "proved"),
        ("(-6, -31)", "rewritten", "elaborates", "refuted"),
        ("(1, 2)", "rewritten", "elaborates", "refuted"),
    ]
    assert selection.calls == {"formaliser": 1, "rewriter": 3}
    asked = [request.messages[1].content for request in model.requests if request.role == "rewriter"]
    assert "same text for different answers" in asked[1]
    assert len({request.attempt for request in model.requests if request.role == "rewriter"}) == 3


def test_an_edit_that_is_cut_off_means_another_answer(prover: Prover) -> None:
    statement = "theorem t (x : Nat) (h : 2 * x = 6) : x = {} := by sorry"
    selection = select(prover, Scripted(formaliser=formalising(statement)), ["3", "7/2", "6/2"])
    assert [item.verdict for item in selection.judged] == ["elaborates", "refused"]
    assert selection.judged[1].reason == "nat_division"
    # Nor is it a base: 7 / 2 is 3 there, and would be proved.
    selection = select(prover, Scripted(formaliser=formalising(statement)), ["7/2", "3"])
    assert (selection.base, [item.verdict for item in selection.attempts]) == (1, ["refused", "elaborates"])


def test_statements_that_reach_for_more_are_refused(prover: Prover) -> None:
    replies = iter(
        [
            "```lean\ntheorem t : 1 = 1 := by\n  run_tac pure ()\n```",
            "```lean\naxiom a : 1 = 2\ntheorem t : 1 = 2 := by sorry\n```",
        ]
    )
    selection = select(prover, Scripted(formaliser=lambda prompt: next(replies)), ["1", "2"])
    assert [item.verdict for item in selection.attempts] == ["refused", "refused"]


def test_the_control_formalises_every_candidate(prover: Prover) -> None:
    model = Scripted(formaliser=formalising(EGGS))
    selection = select(prover, model, ["12", "13", "14"], independent=True)
    assert (selection.calls, selection.independent_calls) == ({"formaliser": 1}, 3)
    assert [(item.candidate, item.proof) for item in selection.independent] == [
        ("12", "refuted"),
        ("13", "proved"),
        ("14", "refuted"),
    ]
    assert len(model.requests) == 3


@pytest.mark.parametrize(("reply", "consistent"), [(True, True), (False, False), ("yes", False)])
def test_a_model_compares_what_is_proved_with_the_problem(prover: Prover, reply: object, consistent: bool) -> None:
    model = Scripted(formaliser=formalising(EGGS), checker=lambda prompt: {"reasons": "", "consistent": reply})
    selection = select(prover, model, ["12", "13", "13.0"], compare=True)
    assert [(item.consistent, item.votes) for item in selection.judged] == [(None, 1), (consistent, 2)]
    assert selection.judged[1].statement in model.requests[1].messages[1].content
    # A reply that is no answer is asked for again, three times in all, and is no yes.
    assert selection.calls == {"formaliser": 1, "checker": 1 if isinstance(reply, bool) else 3}


def test_a_model_may_not_choose_the_question(prover: Prover) -> None:
    """With 5 in both places of `a 3 = 3` it is proved, and asks for a 5."""
    model = Scripted(
        formaliser=formalising("theorem t (a : Nat → Nat) (h : ∀ n, a n = n) : a 3 = {} := by sorry"),
        judge=lambda prompt: {"reasons": "", "places": [1, 2]},
        rewriter=lambda prompt: {
            "original_local_block": "a 3 = 3",
            "fill_answer_code": "def fill_answer(answer):\n    return f'a {answer} = {answer}'",
        },
    )
    selection = select(prover, model, ["3", "5"])
    assert outcomes(selection) == [
        ("3", "base", "elaborates", "proved"),
        # Whether a is the identity Lean does not find out.
        ("5", "formalised", "elaborates", "open"),
    ]
    fault = "the edit changes both sides of an equation, or its relation"
    assert selection.faults == (f"judge: {fault}", *[f"rewriter: for 5: {fault}"] * 3)


def test_a_model_may_choose_the_binder_of_the_answer(prover: Prover) -> None:
    """The form of Formal Problem Solving."""
    model = Scripted(
        formaliser=formalising(
            "theorem t : ∀ (n : Nat), ∀ (answer : Nat) (h : answer = {}), answer * 3 = 9 := by sorry"
        ),
        judge=lambda prompt: {"reasons": "", "places": [1]},
    )
    assert outcomes(select(prover, model, ["4", "3"])) == [
        ("4", "base", "elaborates", "refuted"),
        ("3", "chosen", "elaborates", "proved"),
    ]
