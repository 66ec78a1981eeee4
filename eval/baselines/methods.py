"""The baselines of rewriting: a model's one reply, and no proof. Each makes a candidate of the same shape as `rewrite`.

Source: RePro, section 5.3. The prompts are ours.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import TypeVar

from data_gen.records import Reply
from eval.baselines.varbench import Template, VarBenchError, resample
from eval.equivalence import MathVerifier
from eval.rewrite.records import Candidate, Rewrite
from eval.rewrite.settings import RewriteConfig
from rltpf.llm.model import ChatModel, Request
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.prompting import Prompts

T = TypeVar("T", bound=Reply)


class Retelling(Reply):
    rewritten_question: str


class Likeness(Reply):
    rewritten_question: str
    answer: str


class Baseline:
    """The baseline that the config names."""

    def __init__(self, config: RewriteConfig, model: ChatModel, prompts: Prompts, verifier: MathVerifier) -> None:
        self._config = config
        self._model = model
        self._prompts = prompts
        self._verifier = verifier
        self._comparing = threading.Lock()

    async def make(self, candidate: Candidate) -> Candidate:
        """The candidate with its rewrite, or with the reason why it has none; raises `ModelError`."""
        make = {"auto_dataset": self._auto_dataset, "itd": self._itd, "varbench": self._varbench}[self._config.method]
        try:
            rewrite = await make(candidate)
        except MalformedReply as error:
            rewrite = Rewrite("").ended("rewrite", "unparseable", str(error))
        except VarBenchError as error:
            rewrite = Rewrite("").ended("rewrite", error.reason, str(error))
        if rewrite.kept and not (rewrite.question and rewrite.answer):
            rewrite = rewrite.ended("rewrite", "empty")
        return dataclasses.replace(candidate, rewrites=(rewrite,), error=rewrite.error)

    async def _auto_dataset(self, candidate: Candidate) -> Rewrite:
        """A similar problem, and the model's own answer to it."""
        reply = await self._asked(candidate, Likeness)
        return Rewrite(reply.rewritten_question.strip(), answer=reply.answer.strip())

    async def _itd(self, candidate: Candidate) -> Rewrite:
        """The same calculation in other words, so that the answer is the original one."""
        reply = await self._asked(candidate, Retelling)
        return Rewrite(reply.rewritten_question.strip(), answer=candidate.answer)

    async def _varbench(self, candidate: Candidate) -> Rewrite:
        """The same problem with other numbers, and what a function gives for them."""
        reply = await self._asked(candidate, Template)
        seed = f"{self._config.seed} {candidate.id}"
        question, answer = await asyncio.to_thread(
            resample, candidate.question, candidate.answer, reply, seed, self._same
        )
        return Rewrite(question, answer=answer)

    def _same(self, gold: str, answer: str) -> bool:
        with self._comparing:
            return bool(self._verifier.equal(gold, answer))

    async def _asked(self, candidate: Candidate, schema: type[T]) -> T:
        messages = self._prompts.messages(self._config.method, question=candidate.question)
        sampling = self._config.llm.sampling("rewriter", self._config.seed)
        request = Request("rewriter", messages, sampling, schema.model_json_schema())
        return await complete_json(self._model, request, schema.model_validate)
