"""LeanScribe: examples for training a rewriter, filtered by Lean (specification: base_rpe, A14).

An example is a base statement, the block of it that depends on the answer, and a function that writes the block for any
answer. It is kept where the function keeps the rewriter's contract (see `fill`) and Lean takes what it writes for other
answers, all of them. Without a trained model a teacher first writes the block for some answers, and then the function
that gives these blocks. Prompt and reply of the example are those of `rltpf select` either way, so that what is trained
is what is asked later.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rltpf.llm.model import ChatModel, Request
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.records import Failure, Record, content_id
from rltpf.selection.candidates import plain, term, without_repeats
from rltpf.selection.choice import Judged
from rltpf.selection.config import ScribeConfig
from rltpf.selection.fill import Fill, FillError, Label, fill, labelled
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
        labels: dict[str, tuple[Label, str]] = {}
        for answer in tests[: self._config.labels]:
            found = replace(found, replies=found.replies + 1)
            try:
                block = next(iter(labels.values()))[0].original_local_block if labels else ""
                labels[answer] = await self._label(found, statement, answer, block)
            except (MalformedReply, FillError) as error:
                return _lost(found, "no_label", f"label of {answer}: {error}")
        request = self._asked(found, labels)
        fault = ""
        for number in range(self._config.samples):
            found = replace(found, replies=found.replies + 1)
            try:
                reply = await complete_json(self._model, request.sample(number), Fill.model_validate, tries=1)
                texts = await asyncio.to_thread(fill, statement, found.answer, reply, tests)
                await self._check(found, tests, texts, labels)
            except (MalformedReply, FillError) as error:
                fault = str(error)
                continue
            return replace(found, block=reply.original_local_block, code=reply.fill_answer_code, passed=tuple(tests))
        return _lost(found, "no_function", fault)

    async def _label(self, found: Example, statement: Statement, answer: str, block: str) -> tuple[Label, str]:
        """The block for one other answer, and the statement with it, which Lean takes."""
        request = self._request("label", other=answer, block=block, **_problem(found))
        label = await complete_json(self._model, request, Label.model_validate, tries=1)
        text = labelled(statement, label, block)
        await self._check(found, [answer], [text], {})
        return label, text

    def _asked(self, found: Example, labels: Mapping[str, tuple[Label, str]]) -> Request:
        """For the function: as `select` asks for it, or with the blocks that are known."""
        if not labels:
            return self._request("rewrite", fault="", **_problem(found))
        blocks = {answer: label.rewritten_local_block for answer, (label, _) in labels.items()}
        first = next(iter(labels.values()))[0].original_local_block
        pairs = json.dumps({found.answer: first, **blocks}, ensure_ascii=False, indent=1)
        return self._request("synthesise", pairs=pairs, **_problem(found))

    def _request(self, prompt: str, **values: str) -> Request:
        return Request("rewriter", messages(prompt, **values), self._selector.sampling("rewriter"))

    async def _check(
        self,
        found: Example,
        answers: Sequence[str],
        texts: Sequence[str | None],
        labels: Mapping[str, tuple[Label, str]],
    ) -> None:
        """Raises `FillError` for an answer without a statement, or with one that its label or Lean does not have."""
        for answer, text in zip(answers, texts, strict=True):
            if text is None:
                raise FillError(f"for {answer} the function gives no usable text")
            if answer in labels and text != labels[answer][1]:
                raise FillError(f"for {answer} the function does not give the labelled block")
            item = await self._selector.checked(found.statement, Judged(answer, "rewritten", text))
            if not item.elaborates:
                raise FillError(f"for {answer} Lean does not take what is written: {item.reason}")


def _problem(found: Example) -> dict[str, str]:
    return {"question": found.question, "answer": found.answer, "statement": found.statement}


def is_prose(answer: str) -> bool:
    """Whether an answer is a sentence, which no statement holds; what is short is none."""
    text = plain(answer)
    return len(text) >= _SHORT and len(_WORD.findall(text)) >= _FEW_WORDS


def _lost(example: Example, reason: str, detail: str) -> Example:
    return replace(example, error=Failure("scribe", reason, detail))
