"""The four phases of a question: symbols (s1), telescope (s2), retelling (s3), alignment (s4); paper section 2.2.1.

A question that does not reach s4 leaves with the phase and the reason. The alignment fails closed: only a clear yes
keeps it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from data_gen.formal import ANSWER, RAT, Refusal, check_telescope, divisors, premise_terms, theorem
from data_gen.prompting import OWN, Prompts
from data_gen.records import Question, Reply, TelescopeAttempt
from rltpf.llm.model import ChatModel, Request, Sampling
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.prover.complaint import complaint
from rltpf.prover.lean_text import extract_lean
from rltpf.prover.prover import Prover
from rltpf.prover.session import LeanSession
from rltpf.records import Failure

T = TypeVar("T", bound=Reply)


class Variable(Reply):
    name: str
    type: str
    unit: str
    meaning: str


class Symbols(Reply):
    """s1: the symbolic form of a question (CoMAT)."""

    variables: list[Variable]
    premises: list[str]
    target: str


class Alignment(Reply):
    """s4: whether question and retelling say the same."""

    reasons: str
    aligned: Literal["yes", "no"]


class Formaliser:
    """Takes questions through s1 to s4 with one model and one prover; `sampling` is by role, and `repairs` bounds the
    repairs of s2."""

    def __init__(
        self,
        model: ChatModel,
        prover: Prover,
        sampling: Callable[[str], Sampling],
        repairs: int,
        prompts: Prompts = OWN,
    ) -> None:
        self._model = model
        self._prover = prover
        self._sampling = sampling
        self._repairs = repairs
        self._prompts = prompts

    async def formalise(self, question: Question) -> Question:
        """The question with all that its phases made; its `error` says where it ended, if it did.

        Raises `InfraError` or `ModelError` where Lean or the model failed: nothing is known of the question then.
        """
        lean = LeanSession(self._prover)
        for phase in (self._symbols, self._telescope, self._retelling, self._alignment):
            question = await phase(question, lean)
            if question.error is not None:
                break
        return dataclasses.replace(question, usage=lean.usage)

    async def _symbols(self, question: Question, lean: LeanSession) -> Question:
        try:
            symbols = await self._structured("formaliser", Symbols, "s1", question=question.question)
        except MalformedReply as error:
            return _failed(question, "s1", "unparseable", str(error))
        return dataclasses.replace(question, phase="s1", symbols=symbols.model_dump())

    async def _telescope(self, question: Question, lean: LeanSession) -> Question:
        values = {"question": question.question, "symbols": json.dumps(question.symbols, ensure_ascii=False)}
        attempts: list[TelescopeAttempt] = []
        for repair in range(self._repairs + 1):
            if attempts:
                last = attempts[-1]
                messages = self._prompts.messages(
                    "s2_repair",
                    **values,
                    telescope=last.telescope,
                    complaint=last.complaint,
                    repair=repair,
                    repairs=self._repairs,
                )
            else:
                messages = self._prompts.messages("s2", **values)
            reply = (await self._model.complete(Request("formaliser", messages, self._sampling("formaliser")))).text
            telescope = reply
            try:
                telescope = _extract(reply)
                await check_in_lean(telescope, lean)
            except Refusal as refusal:
                attempts.append(TelescopeAttempt(telescope, refusal.reason, str(refusal)))
                # Premises that contradict each other are a misreading of the question, not a slip of syntax.
                if refusal.reason == "contradictory":
                    break
            else:
                attempts.append(TelescopeAttempt(telescope))
                return dataclasses.replace(question, phase="s2", telescope=telescope, attempts=tuple(attempts))
        question = dataclasses.replace(question, attempts=tuple(attempts))
        return _failed(question, "s2", attempts[-1].reason, attempts[-1].complaint)

    async def _retelling(self, question: Question, lean: LeanSession) -> Question:
        # The telescope alone: a model that saw s0 would tell s0 again, and the alignment would compare it with itself.
        messages = self._prompts.messages("s3", telescope=question.telescope)
        request = Request("back_translator", messages, self._sampling("back_translator"))
        retelling = (await self._model.complete(request)).text.strip()
        if not retelling:
            return _failed(question, "s3", "empty", "the model returned no text")
        return dataclasses.replace(question, phase="s3", retelling=retelling)

    async def _alignment(self, question: Question, lean: LeanSession) -> Question:
        values = {"question": question.question, "retelling": question.retelling}
        try:
            alignment = await self._structured("judge", Alignment, "s4", **values)
        except MalformedReply as error:
            return _failed(question, "s4", "unparseable", str(error))
        question = dataclasses.replace(question, alignment=alignment.reasons)
        if alignment.aligned != "yes":
            return _failed(question, "s4", "not_aligned", alignment.reasons)
        return dataclasses.replace(question, phase="s4")

    async def _structured(self, role: str, schema: type[T], prompt: str, **values: Any) -> T:
        messages = self._prompts.messages(prompt, **values)
        request = Request(role, messages, self._sampling(role), schema.model_json_schema())
        return await complete_json(self._model, request, schema.model_validate)


def _extract(reply: str) -> str:
    try:
        return extract_lean(reply).strip()
    except ValueError as error:
        raise Refusal("no_lean", str(error)) from error


async def check_in_lean(telescope: str, lean: LeanSession) -> None:
    """Refuses a telescope that Lean cannot read, that says more than premises about rationals, or that contradicts
    itself."""
    check_telescope(telescope)
    statement = theorem("question", telescope, f"{ANSWER} = {ANSWER}")
    report = await lean.elaborates(statement)
    if not report.verified:
        raise Refusal("not_elaborated", complaint(statement, report))
    for divisor in divisors(premise_terms(telescope)):
        proof, _ = await lean.proof_of(theorem("divisor", telescope, f"({divisor} : {RAT}) ≠ 0"), None)
        if proof is None:
            raise Refusal("division_by_zero", f"Nothing shows that the divisor `{divisor}` is not zero.")
    if await lean.contradictory(statement):
        raise Refusal("contradictory", "The premises contradict each other: Lean proves `False` from them.")


def _failed(question: Question, stage: str, reason: str, detail: str) -> Question:
    return dataclasses.replace(question, error=Failure(stage, reason, detail))
