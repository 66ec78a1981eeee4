"""Reverse question answering: a solved problem becomes a new question (s0).

The new question is given what the seed problem asked for, and asks for a number that the seed problem gave. Which two
numbers these are the model has to say, and both are looked up in the texts: a question that is not the seed's reverse
is lost with a reason of its own.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from fractions import Fraction

from data_gen.prompting import Prompts
from data_gen.records import Question, Reply
from rltpf.llm.model import ChatModel, Request, Sampling
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.numbers import mentioned, parse_value, states_a_number
from rltpf.records import Failure, Problem


class Reversal(Reply):
    """s0: a new question, the seed's answer that it tells, and the seed's number that it asks for."""

    question: str
    given: str
    asked: str


async def reverse(problem: Problem, model: ChatModel, sampling: Sampling, prompts: Prompts) -> Question:
    """The question that the generator makes of a seed problem, at phase s0; its `error` says why it made none."""
    seed = Question(problem.id, problem.question, problem.answer, seed=problem.question)
    messages = prompts.messages("s0", question=problem.question, answer=problem.answer)
    request = Request("generator", messages, sampling, Reversal.model_json_schema())
    try:
        reversal = await complete_json(model, request, Reversal.model_validate)
    except MalformedReply as error:
        return dataclasses.replace(seed, error=Failure("s0", "unparseable", str(error)))
    question = reversal.question.strip()
    if fault := _fault(problem, question, reversal):
        return dataclasses.replace(seed, error=Failure("s0", fault, repr(reversal)))
    return Question(problem.id, question, reversal.asked.strip(), "s0", seed=problem.question)


def _fault(problem: Problem, question: str, reversal: Reversal) -> str:
    """Why a reply is not the reverse of a problem, as a code to count by; empty where it is."""
    given, asked = parse_value(reversal.given), parse_value(reversal.asked)
    if not question:
        return "empty"
    if plain(question) == plain(problem.question):
        return "equal_to_seed"
    if not states_a_number(question):
        return "no_number"
    if given is None or not _states(problem.answer, given) or not _states(question, given):
        return "answer_not_given"
    if asked is None or not _states(problem.question, asked):
        return "asked_not_in_seed"
    # Another quantity may have the same number, so it is told too often only where it is told no less than before.
    if _times(question, asked) >= max(_times(problem.question, asked), 1):
        return "asked_is_told"
    return ""


def _states(text: str, value: Fraction) -> bool:
    """Whether a text mentions a number, or, as in a formula of LaTeX, the two parts of a fraction."""
    found, size = mentioned(text), abs(value)
    return size in found or {Fraction(size.numerator), Fraction(size.denominator)} <= found


def _times(text: str, value: Fraction) -> int:
    return sum(parse_value(digits) == value for digits in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))


def without_repeats(questions: Iterable[Question]) -> list[Question]:
    """The questions, with those lost that a model made and that say the same as any seed or an earlier one.

    Told by the order of the input, and so only when all are made: which of two was made first is chance.
    """
    listed = list(questions)
    seen = {plain(question.seed) for question in listed if question.seed is not None}
    kept = []
    for question in listed:
        if question.kept and question.seed is not None:
            words = plain(question.question)
            if words in seen:
                error = Failure("s0", "duplicate", "a seed or the question of an earlier row is the same")
                question = dataclasses.replace(question, phase="seed", error=error)
            seen.add(words)
        kept.append(question)
    return kept


def plain(text: str) -> str:
    """A question as it is compared with others."""
    return " ".join(text.lower().split())
