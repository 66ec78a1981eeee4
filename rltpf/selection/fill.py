"""The rewriter's contract (LeanScribe): a block of the base statement, and a function that writes it for any answer.

The function is a program that a model wrote: it runs in the sandbox, and what it returns is only text, which passes the
gate and Lean like any other. A function that ignores its argument would make every candidate pass, so it has to give
the base block back for the base answer, the same texts in another order, and different ones for different answers. What
is given in the goal, and what it claims, has to stay (see `edits`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rltpf.sandbox.functions import run_function
from rltpf.selection.edits import overreach
from rltpf.selection.statement import Statement, StatementError, read_statement

MAX_BLOCK = 2_000
_SECONDS = 5.0
_BRACKETED = re.compile(r"([^(\[{]*[(\[{])(.*)([)\]}][^)\]}]*)", re.DOTALL)
# One process for all answers; a fault at one of them is none of the others'.
_ALL = """

def fill_all(answers):
    texts = []
    for answer in answers:
        try:
            texts.append(fill_answer(answer))
        except Exception:
            texts.append(None)
    return texts
"""


class Fill(BaseModel):
    """The rewriter's reply."""

    model_config = ConfigDict(extra="forbid", strict=True)

    original_local_block: str
    fill_answer_code: str


class Label(BaseModel):
    """A teacher's reply: the block, and what it is for one other answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    original_local_block: str
    rewritten_local_block: str


class FillError(ValueError):
    """A reply that breaks the contract; the message says how."""


def fill(statement: Statement, base_answer: str, reply: Fill, candidates: Sequence[str]) -> list[str | None]:
    """The statement for every candidate, None where the function gives no usable text for it; raises `FillError` where
    the reply breaks the contract, for every candidate if not for all of them together.

    The base answer's own is not among them.
    """
    block, start = reply.original_local_block, _place(statement, reply.original_local_block)
    answers = [base_answer, *candidates]
    bracketed = [_in_other_brackets(answer, answers) for answer in answers]
    given = [*answers, *(other for others in bracketed for other in others)]
    texts = _run(reply.fill_answer_code, given)
    # The other way round: what depends on the calls before is no function of its answer.
    if texts != _run(reply.fill_answer_code, given[::-1])[::-1]:
        raise FillError("the function gives another text each time")
    if texts[0] != block:
        raise FillError(f"for the base answer the function gives {texts[0]!r} and not its block")
    statements: list[str | None] = []
    fault = ""
    by_answer = dict(zip(given, texts, strict=True))
    for candidate, others in zip(candidates, bracketed[1:], strict=True):
        text = by_answer[candidate]
        try:
            if text is not None and any(by_answer[other] == text for other in others):
                raise FillError("the function gives the same text for other brackets, and the answers have several")
            if text is not None and texts[: len(answers)].count(text) > 1:
                raise FillError("the function gives the same text for different answers")
            statements.append(None if text is None else _written(statement, start, block, text))
        except FillError as error:
            statements.append(None)
            fault = f"for {candidate}: {error}"
    if fault and not any(statements):
        raise FillError(fault)
    return statements


def _in_other_brackets(answer: str, answers: Sequence[str]) -> list[str]:
    """The answer in the brackets of the others, (1, 2] for [1, 2): their kind is part of an answer where it varies."""
    found = {(m[1], m[3]) for text in answers if (m := _BRACKETED.fullmatch(text))}
    own = _BRACKETED.fullmatch(answer)
    return [f"{opening}{own[2]}{closing}" for opening, closing in sorted(found - {(own[1], own[3])})] if own else []


def labelled(statement: Statement, label: Label, block: str) -> str:
    """The statement for a label; raises `FillError` where its block is not `block` (if any), or it cannot be used."""
    if block and label.original_local_block != block:
        raise FillError(f"the block is {label.original_local_block!r}, and that of an earlier answer {block!r}")
    if label.rewritten_local_block == label.original_local_block:
        raise FillError("the block is the same for another answer")
    start = _place(statement, label.original_local_block)
    if _usable(label.rewritten_local_block) is None:
        raise FillError("the block for the other answer is empty, or too long")
    return _written(statement, start, label.original_local_block, label.rewritten_local_block)


def _place(statement: Statement, block: str) -> int:
    if not block.strip():
        raise FillError("the block is empty")
    # Also where it overlaps itself, as `1 + 1` does in `1 + 1 + 1`.
    if (times := len(re.findall(f"(?={re.escape(block)})", statement.text))) != 1:
        raise FillError(f"the block occurs {times} times in the statement, and has to once")
    start = statement.text.index(block)
    if start < statement.goal[0]:
        raise FillError("the block reaches out of the goal: what is given must stay")
    edges = {edge for token in statement.tokens for edge in (token.start, token.end)}
    stripped = start + len(block) - len(block.lstrip()), start + len(block.rstrip())
    if not set(stripped) <= edges:
        raise FillError("the block begins or ends within a word, a number, a comment or a string")
    return start


def _run(code: str, answers: Sequence[str]) -> list[str | None]:
    outcome = run_function(code + _ALL, "fill_all", [list(answers)], _SECONDS)
    if outcome.failure is not None:
        raise FillError(f"the function failed: {outcome.failure}: {outcome.detail}")
    texts = outcome.value
    if not isinstance(texts, list) or len(texts) != len(answers):
        raise FillError("the function does not give one text for each answer")
    return [_usable(text) for text in texts]


def _usable(text: object) -> str | None:
    return text if isinstance(text, str) and text.strip() and len(text) <= MAX_BLOCK else None


def _written(statement: Statement, start: int, block: str, text: str) -> str:
    written = statement.text[:start] + text + statement.text[start + len(block) :]
    try:
        edited = read_statement(written)
    except StatementError as error:
        raise FillError(str(error)) from None
    # A text that ends the theorem, or begins another, would leave its slot.
    if edited.text != written.rstrip() or edited.goal[0] != statement.goal[0]:
        raise FillError("the text leaves the place of its block")
    if fault := overreach(statement, edited):
        raise FillError(fault)
    return edited.text
