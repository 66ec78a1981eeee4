"""LeanScribe: examples for training a rewriter, filtered by Lean (specification: base_rpe, A14).

An example is a base statement, the block of it that depends on the answer, and a function that writes the block for any
answer. It is kept where the function keeps the rewriter's contract (see `fill`) and Lean takes what it writes for other
answers, all of them. Prompt and reply are those of `rltpf select`, so that what is trained is what is asked later.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rltpf.llm.model import ChatModel, Request
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.records import Failure, Record, content_id
from rltpf.selection.candidates import plain, term, without_repeats
from rltpf.selection.choice import Judged
from rltpf.selection.config import ScribeConfig
from rltpf.selection.fill import Fill, FillError, fill
from rltpf.selection.prompting import messages
from rltpf.selection.selector import Selector
from rltpf.selection.statement import Statement, places, read_statement

_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_SHORT = 15
_FEW_WORDS = 3


@dataclass(frozen=True)
class Example(Record):
    """What became of one problem: the rewriter's reply that passed, or the `error` for which there is none.

    `formaliser_calls` and `replies` count requests; `passed` are the answers that the function was tried on.
    """

    id: str
    question: str
    answer: str = ""
    statement: str = ""
    block: str = ""
    code: str = ""
    passed: tuple[str, ...] = ()
    formaliser_calls: int = 0
    replies: int = 0
    error: Failure | None = None

    def row(self) -> dict[str, Any]:
        """The row that is trained on."""
        prompt = rewriting(self.question, self.answer, self.statement)
        reply = {"original_local_block": self.block, "fill_answer_code": self.code}
        completion = [{"role": "assistant", "content": json.dumps(reply, ensure_ascii=False)}]
        return {"id": self.id, "prompt": prompt, "completion": completion}

    def held_out(self, share: float, seed: int) -> bool:
        """Whether the example is for evaluation: by its question alone, so that no copy is on the other side."""
        return int(content_id([seed, " ".join(self.question.split())]), 16) % 10_000 < share * 10_000


def rewriting(question: str, answer: str, statement: str) -> list[dict[str, str]]:
    """The prompt of the rewriter's first try."""
    asked = messages("rewrite", question=question, answer=answer, statement=statement, fault="")
    return [{"role": message.role, "content": message.content} for message in asked]


class Scribe:
    """Makes an example of one problem after the other."""

    def __init__(self, config: ScribeConfig, model: ChatModel, selector: Selector) -> None:
        self._config = config
        self._model = model
        self._selector = selector

    async def example(self, identity: str, question: str, candidates: Sequence[str]) -> Example:
        """The problem's example; raises `NoVerdict`, and `ModelError` where a model gave no reply."""
        known = without_repeats(candidates)
        if len(known) <= self._config.tests:
            return _lost(Example(identity, question), "few_answers", f"{len(known)} answers of different values")
        if prose := next((answer for answer in known if is_prose(answer)), None):
            return _lost(Example(identity, question), "prose", prose[:100])
        attempts = await self._selector.attempts(question, known)
        calls = len(attempts)
        if not attempts[-1].elaborates:
            return _lost(Example(identity, question, formaliser_calls=calls), "no_base", attempts[-1].reason)
        base = attempts[-1].candidate
        found = Example(identity, question, base, attempts[-1].statement, formaliser_calls=calls)
        statement = read_statement(found.statement)
        own = term(base)
        if self._config.hard and own is not None and places(statement, own):
            return _lost(found, "localised", "R1 finds the answer")
        tests = [answer for answer in known if answer != base][: self._config.tests]
        return await self._filtered(found, statement, tests)

    async def _filtered(self, found: Example, statement: Statement, tests: Sequence[str]) -> Example:
        prompt = messages("rewrite", question=found.question, answer=found.answer, statement=found.statement, fault="")
        request = Request("rewriter", prompt, self._selector.sampling("rewriter"))
        fault = ""
        for number in range(self._config.samples):
            try:
                reply = await complete_json(self._model, request.sample(number), Fill.model_validate, tries=1)
                texts = await asyncio.to_thread(fill, statement, found.answer, reply, tests)
            except (MalformedReply, FillError) as error:
                fault = str(error)
                continue
            refused = await self._first_refused(found, tests, texts)
            if refused is None:
                changes = {"block": reply.original_local_block, "code": reply.fill_answer_code}
                return Example.from_json(found.to_json() | changes | {"passed": list(tests), "replies": number + 1})
            fault = f"for {refused.candidate} Lean does not take what the function writes: {refused.reason}"
        return _lost(Example.from_json(found.to_json() | {"replies": self._config.samples}), "no_function", fault)

    async def _first_refused(self, found: Example, tests: Sequence[str], texts: Sequence[str | None]) -> Judged | None:
        for answer, text in zip(tests, texts, strict=True):
            if text is None:
                return Judged(answer, reason="no usable text")
            item = await self._selector.checked(found.statement, Judged(answer, "rewritten", text))
            if not item.elaborates:
                return item
        return None


def is_prose(answer: str) -> bool:
    """Whether an answer is a sentence, which no statement holds; what is short is none."""
    text = plain(answer)
    return len(text) >= _SHORT and len(_WORD.findall(text)) >= _FEW_WORDS


def _lost(example: Example, reason: str, detail: str) -> Example:
    return Example.from_json(example.to_json() | {"error": Failure("scribe", reason, detail).to_json()})
