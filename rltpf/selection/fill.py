"""The rewriter's contract (LeanScribe): a block of the base statement, and a function that writes it for any answer.

The function is a program that a model wrote: it runs in the sandbox, and what it returns is only text, which passes the
gate and Lean like any other. A function that ignores its argument would make every candidate pass, so it has to give
the base block back for the base answer, the same texts twice, and different ones for different answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rltpf.sandbox.functions import run_function
from rltpf.selection.statement import Statement, StatementError, read_statement

MAX_BLOCK = 2_000
_SECONDS = 5.0
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


class FillError(ValueError):
    """A reply that breaks the contract; the message says how."""


def fill(statement: Statement, base_answer: str, reply: Fill, candidates: Sequence[str]) -> list[str | None]:
    """The statement for every candidate, None where the function gives no usable text for it; raises `FillError` where
    the reply breaks the contract.

    The base answer's own is not among them.
    """
    block, start = reply.original_local_block, _place(statement, reply.original_local_block)
    answers = [base_answer, *candidates]
    texts = _run(reply.fill_answer_code, answers)
    if texts != _run(reply.fill_answer_code, answers):
        raise FillError("the function gives another text each time")
    if texts[0] != block:
        raise FillError(f"for the base answer the function gives {texts[0]!r} and not its block")
    usable = [text for text in texts[1:] if text is not None]
    if len(usable) > 1 and len(set(usable)) == 1:
        raise FillError("the function gives the same text for different answers")
    return [_written(statement, start, block, text) for text in texts[1:]]


def _place(statement: Statement, block: str) -> int:
    if not block.strip():
        raise FillError("the block is empty")
    if statement.text.count(block) != 1:
        raise FillError(f"the block occurs {statement.text.count(block)} times in the statement, and has to once")
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
    return [text if isinstance(text, str) and text.strip() and len(text) <= MAX_BLOCK else None for text in texts]


def _written(statement: Statement, start: int, block: str, text: str | None) -> str | None:
    if text is None:
        return None
    written = statement.text[:start] + text + statement.text[start + len(block) :]
    try:
        edited = read_statement(written)
    except StatementError:
        return None
    # A text that ends the theorem, or begins another, would leave its slot.
    same = edited.text == written.rstrip() and edited.goal[0] == statement.goal[0]
    return edited.text if same else None
