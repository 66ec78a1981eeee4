"""The eight operations of rewriting, each a function from a rewrite to a rewrite; `error` says where it ended.

A model's word can only end a rewrite. What keeps one is Lean's verdict on the locked statement, and code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, Literal, TypeVar

from data_gen.questions import plain
from data_gen.records import Reply
from eval.rewrite import final, literal
from eval.rewrite.guards import find_fault
from eval.rewrite.lean_reply import is_locked, lean_text, statement_of
from eval.rewrite.prover_failures import kinds
from eval.rewrite.records import ProofTry, Rewrite, StatementTry
from eval.rewrite.settings import RewriteConfig
from eval.rewrite.similarity import similarity
from rltpf.llm.model import ChatModel, Request, Sampling
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.prompting import Prompts
from rltpf.prover.complaint import complaint
from rltpf.prover.session import LeanSession

CHECKS = 3
"""Semantic checks of a statement, all of which have to agree."""

T = TypeVar("T", bound=Reply)


class Rewriting(Reply):
    rewritten_question: str


class Screening(Reply):
    category: Literal["pure", "applied"]
    analysis: str
    verdict: Literal["yes", "no"]


class Judgement(Reply):
    judgment: Literal["Consistent", "Inconsistent"]
    explanation: str


class Extraction(Reply):
    answer: str
    evidence: str


class Classification(Reply):
    answer: str
    status: Literal["final", "intermediate", "wrong_target", "unknown"]
    explanation: str


class Stages:
    """The operations with their models and settings; raises `ModelError` or `InfraError` where a verdict is missing."""

    def __init__(
        self, config: RewriteConfig, model: ChatModel, prompts: Prompts, sources: Collection[str] = frozenset()
    ) -> None:
        self._config = config
        self._model = model
        self._prompts = prompts
        self._sources = sources
        """The source's questions as they are compared: a rewrite must be none of them."""

    async def rewrite(self, question: str, earlier: Sequence[Rewrite]) -> Rewrite:
        """Operation 1: a new problem, unlike the original and those that were tried before."""
        name, values = "rewrite", {"question": question}
        if earlier:
            name = "rewrite_again"
            values["earlier"] = "\n\n".join(rewrite.question for rewrite in earlier)
        try:
            reply = await self._structured("rewriter", Rewriting, name, len(earlier), **values)
        except MalformedReply as error:
            return Rewrite("").ended("rewrite", "unparseable", str(error))
        made = Rewrite(reply.rewritten_question.strip())
        if not made.question:
            return made.ended("rewrite", "empty")
        if plain(made.question) in self._sources:
            return made.ended("rewrite", "in_source", "the benchmark has this question itself")
        for reason, others in (("too_similar", [question]), ("repeated", [old.question for old in earlier])):
            for other in others:
                if (found := similarity(made.question, other)) > self._config.similarity_limit:
                    return made.ended("rewrite", reason, f"similarity {found:.2f} to: {other}")
        return made

    async def screen(self, rewrite: Rewrite) -> Rewrite:
        """Operation 2: only a clear yes passes."""
        try:
            reply = await self._structured("screener", Screening, "screen", 0, question=rewrite.question)
        except MalformedReply as error:
            return rewrite.ended("screen", "unparseable", str(error))
        return rewrite if reply.verdict == "yes" else rewrite.ended("screen", f"{reply.category}_no", reply.analysis)

    async def formalise(self, rewrite: Rewrite, lean: LeanSession) -> Rewrite:
        """Operations 3 and 4 with their loop: a statement that Lean can read and every check finds consistent."""
        tries: list[StatementTry] = []
        while len(tries) < self._config.formalizations:
            tried = await self._statement(rewrite.question, tries, lean)
            tries.append(tried)
            if not tried.reason:
                return dataclasses.replace(rewrite, statements=tuple(tries), statement=tried.statement)
        stage = "check" if tries[-1].reason == "semantic_mismatch" else "formalise"
        return dataclasses.replace(rewrite, statements=tuple(tries)).ended(stage, tries[-1].reason, tries[-1].complaint)

    async def _statement(self, question: str, tries: Sequence[StatementTry], lean: LeanSession) -> StatementTry:
        values = {"question": question}
        if tries:
            values |= {"statement": tries[-1].statement, "complaint": tries[-1].complaint}
        messages = self._prompts.messages("formalise_again" if tries else "formalise", **values)
        request = Request("formaliser", messages, self._sampling("formaliser")).sample(len(tries))
        reply = (await self._model.complete(request)).text
        try:
            statement = statement_of(lean_text(reply))
        except ValueError as error:
            return StatementTry(reply, "no_lean", str(error))
        report = await lean.elaborates(statement)
        if not report.verified:
            return StatementTry(statement, report.reason, complaint(statement, report))
        for number in range(CHECKS):
            if objection := await self._objection(question, statement, number):
                return StatementTry(statement, "semantic_mismatch", objection)
        return StatementTry(statement)

    async def _objection(self, question: str, statement: str, number: int) -> str:
        """What one semantic check has against a statement; empty where it finds none."""
        sampling = dataclasses.replace(self._sampling("checker"), temperature=0.0)
        messages = self._prompts.messages("check", question=question, statement=statement)
        request = Request("checker", messages, sampling, Judgement.model_json_schema()).sample(number)
        try:
            # Once: a reply that cannot be read is doubt, and doubt is a no.
            reply = await complete_json(self._model, request, Judgement.model_validate, tries=1)
        except MalformedReply as error:
            return str(error)
        return "" if reply.judgment == "Consistent" else reply.explanation or "inconsistent"

    async def prove(self, rewrite: Rewrite, lean: LeanSession) -> Rewrite:
        """Operations 5 and 6: up to k proofs, the first that Lean verifies counts."""
        if self._config.atp == "tactics":
            return await self._prove_by_tactics(rewrite, lean)
        tries: list[ProofTry] = []
        for number in range(self._config.proofs):
            messages = self._prompts.messages("prove", statement=rewrite.statement)
            request = Request("prover", messages, self._sampling("prover")).sample(number)
            completion = await self._model.complete(request)
            tried, axioms = await self._proof(rewrite.statement, completion.text, completion.finish_reason, lean)
            tries.append(tried)
            if not tried.kinds:
                return dataclasses.replace(rewrite, proofs=tuple(tries), lean=tried.text, axioms=axioms)
        rewrite = dataclasses.replace(rewrite, proofs=tuple(tries))
        if all("no_lean" in tried.kinds for tried in tries):
            return rewrite.ended("prove", "no_proof", tries[-1].detail)
        return rewrite.ended("verify", "proof_rejected", f"{tries[-1].reason}: {tries[-1].detail}")

    async def _proof(
        self, statement: str, reply: str, finish_reason: str, lean: LeanSession
    ) -> tuple[ProofTry, tuple[str, ...]]:
        cut = finish_reason == "length"
        try:
            text = lean_text(reply)
        except ValueError as error:
            return ProofTry(reply, kinds(statement, reply, None, None, cut), "no_lean", str(error)), ()
        if not is_locked(statement, text):
            found = kinds(statement, reply, text, None, cut)
            return ProofTry(text, found, "target_changed", "the text does not prove the statement as it was given"), ()
        report = await lean.check(statement, text)
        if report.verified:
            return ProofTry(text), report.axioms
        found = kinds(statement, reply, text, report, cut)
        return ProofTry(text, found, report.reason, complaint(text, report)), ()

    async def _prove_by_tactics(self, rewrite: Rewrite, lean: LeanSession) -> Rewrite:
        text, report = await lean.proof_of(rewrite.statement, None)
        if text is None:
            return rewrite.ended("prove", "no_proof", "no tactic of the cascade proves the statement")
        return dataclasses.replace(rewrite, proofs=(ProofTry(text),), lean=text, axioms=report.axioms)

    async def extract(self, rewrite: Rewrite) -> Rewrite:
        """Operation 7: the answer as a copy from the verified text."""
        try:
            reply = await self._structured(
                "extractor", Extraction, "extract", 0, question=rewrite.question, lean=rewrite.lean
            )
        except MalformedReply as error:
            return rewrite.ended("extract", "unparseable", str(error))
        answer = reply.answer.strip()
        rewrite = dataclasses.replace(rewrite, answer=answer, evidence=reply.evidence)
        if refusal := literal.refusal(answer, reply.evidence, rewrite.lean):
            return rewrite.ended("extract", "unknown", refusal)
        return rewrite

    async def classify(self, rewrite: Rewrite) -> Rewrite:
        """Operation 8: the answer is final by the rules that are code, and by the classifier's word."""
        if failure := final.failure(rewrite.answer, rewrite.question, rewrite.statement):
            return dataclasses.replace(rewrite, error=failure)
        known = {"question": rewrite.question, "lean": rewrite.lean}
        known |= {"answer": rewrite.answer, "evidence": rewrite.evidence}
        try:
            reply = await self._structured("classifier", Classification, "classify", 0, **known)
        except MalformedReply as error:
            return rewrite.ended("classify", "unparseable", str(error))
        if reply.answer.strip() != rewrite.answer:
            return rewrite.ended("classify", "unknown", f"the classifier speaks of another answer, {reply.answer!r}")
        return rewrite if reply.status == "final" else rewrite.ended("classify", reply.status, reply.explanation)

    async def guard(self, rewrite: Rewrite, lean: LeanSession) -> Rewrite:
        """Ours: a statement that forces no answer is none, whatever was proved of it."""
        flags, reason, detail = await find_fault(rewrite, lean)
        rewrite = dataclasses.replace(rewrite, flags=flags)
        return rewrite.ended("guard", reason, detail) if reason else rewrite

    async def _structured(self, role: str, schema: type[T], prompt: str, number: int, **values: Any) -> T:
        messages = self._prompts.messages(prompt, **values)
        request = Request(role, messages, self._sampling(role), schema.model_json_schema()).sample(number)
        return await complete_json(self._model, request, schema.model_validate)

    def _sampling(self, role: str) -> Sampling:
        return self._config.llm.sampling(role, self._config.seed)
