"""The judge: formalises an answer, lets Lean decide every step, and has the formalisation repaired (paper section
2.2.2, algorithm 1).

Lean alone decides. `verified` needs a checked proof of the claim, `false` a checked proof of its negation; whatever
is neither is `error`. An explicit calculation that Lean refutes makes an answer false before any model is asked; one
that is right says nothing about the step that it stands in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from pydantic import ConfigDict, TypeAdapter, ValidationError

from data_gen.answers import Chain, parse_chain
from data_gen.arithmetic import wrong_calculations
from data_gen.calculated import refuted_calculation
from data_gen.formal import (
    RAT,
    FormalStep,
    Refusal,
    check_definitions,
    check_final,
    check_step,
    divisors,
    other_reading,
    proposition,
    quantities,
    step_binders,
    step_terms,
    theorem,
    unstated,
    variables,
)
from data_gen.prompting import OWN, Prompts
from data_gen.records import Attempt, Judgement, Outcome, StepVerdict, Verdict
from rltpf.llm.model import ChatModel, Request, Sampling
from rltpf.llm.structured import complete_until, read_json
from rltpf.prover.complaint import complaint
from rltpf.prover.prover import Prover
from rltpf.prover.session import LeanSession, with_proof
from rltpf.records import canonical_json

SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "definitions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {key: {"type": "string"} for key in ("name", "type", "value")},
                            "required": ["name", "type", "value"],
                            "additionalProperties": False,
                        },
                    },
                    "claim": {"type": ["string", "null"]},
                    "proof": {"type": ["string", "null"]},
                },
                "required": ["definitions", "claim", "proof"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}


def parse_reply(reply: str, entries: int) -> tuple[FormalStep, ...]:
    """The formal steps of a formaliser's reply; refuses anything but a JSON object with exactly `entries` steps."""
    try:
        rows = read_json(reply)["steps"]
        adapter = TypeAdapter(tuple[FormalStep, ...], config=ConfigDict(extra="forbid"))
        steps = adapter.validate_json(json.dumps(rows), strict=True)
    except (ValueError, TypeError, KeyError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise Refusal("unparseable", f"The reply is not the JSON object that was asked for: {first}.") from error
    if len(steps) != entries:
        raise Refusal("entries", f"The reply has {len(steps)} entries in `steps`, and {entries} were asked for.")
    return steps


def is_readable(reply: str, entries: int) -> bool:
    """Whether a reply is the JSON object that was asked for, whatever is in it."""
    try:
        parse_reply(reply, entries)
    except Refusal as refusal:
        return refusal.reason != "unparseable"
    return True


class Judge:
    """Judges answers with one model and one prover; `repairs` is R of algorithm 1."""

    def __init__(
        self, model: ChatModel, prover: Prover, sampling: Sampling, repairs: int, prompts: Prompts = OWN
    ) -> None:
        self._model = model
        self._prover = prover
        self._sampling = sampling
        self._repairs = repairs
        self._prompts = prompts

    async def judge(self, question: str, telescope: str, answer: str) -> Judgement:
        """The verdict on an answer to a formalised question.

        Raises `InfraError` or `ModelError` where Lean or the model failed: there is no verdict then.
        """
        chain = parse_chain(answer)
        if chain is None:
            return Judgement("error", "unparseable_answer", (), ())
        state = _ChainJudge(
            self._model, self._prover, self._sampling, self._prompts, question, telescope, answer, chain
        )
        return await state.run(self._repairs)


class _ChainJudge:
    """The state of one chain between its formalisations: which entries are settled, and how."""

    def __init__(
        self,
        model: ChatModel,
        prover: Prover,
        sampling: Sampling,
        prompts: Prompts,
        question: str,
        telescope: str,
        answer: str,
        chain: Chain,
    ) -> None:
        self._model = model
        self._lean = LeanSession(prover)
        self._sampling = sampling
        self._prompts = prompts
        self._question = question
        self._telescope = telescope
        self._answer = answer
        self._chain = chain
        self._texts = chain.texts
        self._settled: list[FormalStep] = []
        self._verdicts: list[StepVerdict] = []
        self._attempts: list[Attempt] = []
        self._last_reply = ""
        self._consistent = False

    async def run(self, repairs: int) -> Judgement:
        return await refuted_calculation(self._lean, self._chain) or await self._formalised(repairs)

    async def _formalised(self, repairs: int) -> Judgement:
        for repair in range(repairs + 1):
            request = self._request(repair, repairs)
            first = len(self._settled) + 1
            entries = len(self._texts) - len(self._settled)
            # What cannot be read at all is no formalisation to repair before it was asked for anew.
            completion = await complete_until(self._model, request, partial(is_readable, entries=entries))
            steps: tuple[FormalStep, ...] = ()
            elaborated = (False,) * entries
            try:
                steps = parse_reply(completion.text, entries)
                elaborated = await self._elaborations(steps)
                verdict = await self._judge_entries(steps)
                reason, trouble = (self._verdicts[-1].reason, "") if verdict == "false" else ("", "")
            except Refusal as refusal:
                verdict, reason, trouble = "error", refusal.reason, str(refusal)
            self._attempts.append(
                Attempt(repair + 1, first, steps, elaborated, verdict, reason, trouble, completion.completion_tokens)
            )
            self._last_reply = completion.text
            # Nothing that the formaliser mends makes contradictory hypotheses consistent.
            if verdict != "error" or reason == "vacuous":
                break
        return self._judgement(verdict, reason)

    def _request(self, repair: int, repairs: int) -> Request:
        values = {"question": self._question, "telescope": self._telescope, "answer": self._answer}
        entries = len(self._texts) - len(self._settled)
        if repair == 0:
            messages = self._prompts.messages("formalise", **values, entries=entries)
        else:
            last = self._attempts[-1]
            whole = [step.to_json() for step in (*self._settled, *last.steps[len(self._settled) + 1 - last.first :])]
            messages = self._prompts.messages(
                "repair",
                **values,
                entries=entries,
                # A reply that could not be read is handed back as it came.
                formalisation=canonical_json({"steps": whole}) if last.steps else self._last_reply,
                number=len(self._settled) + 1,
                complaint=last.complaint,
                repair=repair,
                repairs=repairs,
            )
        return Request("formaliser", messages, self._sampling, SCHEMA)

    def _binders(self, before: Sequence[FormalStep], step: FormalStep) -> str:
        # Entries that are not settled yet count as proved here: it is asked only whether the text elaborates.
        outcomes = [verdict.outcome == "verified" for verdict in self._verdicts]
        proved = outcomes + [True] * (len(before) - len(outcomes))
        return step_binders(self._telescope, before, proved, step)

    async def _elaborations(self, steps: Sequence[FormalStep]) -> tuple[bool, ...]:
        """For each entry, whether Lean can read it: the execution rate's raw material, no verdict."""
        flags: list[bool] = []
        before = list(self._settled)
        for step in steps:
            try:
                self._guard(len(before), before, step)
                report = await self._lean.elaborates(self._statement(before, step))
                flags.append(report.verified)
            except Refusal:
                flags.append(False)
            before.append(step)
        return tuple(flags)

    def _statement(self, before: Sequence[FormalStep], step: FormalStep) -> str:
        return theorem(
            f"step_{len(before) + 1}", self._binders(before, step), proposition(step.claim) if step.claim else "True"
        )

    def _guard(self, index: int, before: Sequence[FormalStep], step: FormalStep) -> None:
        """Refuses an entry that is not a faithful reading of its prose."""
        known = variables(self._telescope) | {f"step_{number}" for number in range(1, len(self._texts) + 1)}
        for previous in before:
            known |= {name for d in previous.definitions for name in (d.name, f"{d.name}_def")}
        check_definitions(step.definitions, known)
        if index == len(self._texts) - 1:
            check_final(step.claim, self._chain.final)
            if len(self._chain.steps) > 1 and all(previous.claim is None for previous in before):
                raise Refusal("no_claims", "No step but the final one has a claim.")
        else:
            check_step(self._texts[index], step, self._context(index))

    def _context(self, index: int) -> str:
        """What was said before an entry."""
        return " ".join((self._question, *self._texts[:index]))

    async def _judge_entries(self, steps: Sequence[FormalStep]) -> Verdict:
        """Judges the open entries in order; settles the good ones, stops at a false one, refuses at an error."""
        for step in steps:
            index = len(self._settled)
            self._guard(index, self._settled, step)
            verdict = await self._judge_step(self._texts[index], step)
            self._settled.append(step)
            self._verdicts.append(verdict)
            if verdict.outcome == "false":
                return "false"
        return "verified"

    async def _judge_step(self, text: str, step: FormalStep) -> StepVerdict:
        statement = self._statement(self._settled, step)
        if not (elaboration := await self._lean.elaborates(statement)).verified:
            raise Refusal("not_elaborated", complaint(statement, elaboration))
        await self._refuse_zero_division(step)
        await self._refuse_vacuity(statement, step)
        if step.claim is None:
            return StepVerdict(text, None, "no_claim")
        proof, report = await self._lean.proof_of(statement, step.proof)
        if proof is not None:
            if wrong := wrong_calculations(text):
                # Lean did not come to refute it before, and holds the claim to be true: it is not this step's.
                raise Refusal("calculation", f"The step says `{wrong[0]}`, which the claim `{step.claim}` leaves out.")
            # `run := sprints * times * meters` fits `9 * 60 = 540`, and says nothing of the 9 that is from nowhere.
            if unknown := unstated(text, step, self._context(len(self._settled))):
                raise Refusal(
                    "unstated",
                    f"The step calculates with {min(unknown)}, which neither the question nor an earlier step gives: "
                    "the entry has to claim which quantity that is, or to use the number.",
                )
            return StepVerdict(text, step.claim, "verified", lean=proof)
        disproof = await self._disproof(step, step.claim)
        if disproof is not None:
            other = other_reading(text, step.claim)
            if other is not None and await self._disproof(step, other) is None:
                raise Refusal("percentage", f"`{step.claim}` is refuted, but the step's percentage may mean `{other}`.")
            return StepVerdict(text, step.claim, "false", "refuted", disproof)
        trouble = complaint(statement if step.proof is None else with_proof(statement, step.proof), report)
        if report.status == "timeout":
            raise Refusal("timeout", trouble)
        is_final = len(self._settled) == len(self._texts) - 1
        raise Refusal("underdetermined" if is_final else "unproved", trouble)

    async def _disproof(self, step: FormalStep, claim: str) -> str | None:
        name = f"step_{len(self._settled) + 1}_denied"
        denial = theorem(name, self._binders(self._settled, step), f"¬ ({proposition(claim)})")
        return (await self._lean.proof_of(denial, None))[0]

    async def _refuse_zero_division(self, step: FormalStep) -> None:
        """Refuses terms outside the language of claims, and divisors that the hypotheses do not keep from zero."""
        known = quantities(self._telescope) | {d.name for previous in self._settled for d in previous.definitions}
        for divisor in divisors(step_terms(step, known)):
            statement = theorem("divisor", self._binders(self._settled, step), f"({divisor} : {RAT}) ≠ 0")
            proof, _ = await self._lean.proof_of(statement, None)
            if proof is None:
                raise Refusal("division_by_zero", f"Nothing shows that the divisor `{divisor}` is not zero.")

    async def _refuse_vacuity(self, statement: str, step: FormalStep) -> None:
        """Refuses hypotheses that prove `False`: both the claim and its negation would follow from them.

        Proved claims add nothing to the hypotheses, so the test is made at the first entry and where definitions
        come in.
        """
        if self._consistent and not step.definitions:
            return
        if await self._lean.contradictory(statement):
            raise Refusal("vacuous", "The hypotheses contradict each other.")
        self._consistent = True

    def _judgement(self, verdict: Verdict, reason: str) -> Judgement:
        verdicts = list(self._verdicts)
        if verdict == "error":
            last = self._attempts[-1]
            offset = len(verdicts) + 1 - last.first
            claim = last.steps[offset].claim if last.steps else None
            outcome: Outcome = "vacuous" if reason == "vacuous" else "error"
            verdicts.append(StepVerdict(self._texts[len(verdicts)], claim, outcome, reason))
        verdicts += [StepVerdict(text, None, "unchecked") for text in self._texts[len(verdicts) :]]
        return Judgement(verdict, reason, tuple(verdicts), tuple(self._attempts), self._lean.usage)
