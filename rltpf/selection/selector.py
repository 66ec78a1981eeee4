"""BASE on one problem: one formalisation, edits of it for the other candidates, and Lean's word on each.

A candidate in rank order is formalised until one elaborates; no further formaliser call is made. Its statement is the
base, and the other candidates' are edits of it: their term in the slot of the answer (R1), or what the rewriter's
function writes (R2). Only a candidate for which neither gives a text is formalised by itself in the end. Paper:
"Formalize Once, Edit the Rest"; specification: base_rpe, A3 to A10.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from rltpf.errors import RunError
from rltpf.llm.model import ChatModel, Completion, Message, Request, Sampling
from rltpf.llm.structured import MalformedReply, complete_json
from rltpf.prover.lean_text import LeanBlockError, extract_lean
from rltpf.prover.process import ENDED
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.traps import REJECTED, TRUNCATION
from rltpf.records import Record
from rltpf.selection.candidates import plain, term, units_differ, values_of, without_repeats
from rltpf.selection.choice import Judged, Route
from rltpf.selection.credit import doubt, uncontradicted, unheld, without_refutations
from rltpf.selection.edits import overreach, says_nothing
from rltpf.selection.fill import Fill, FillError, fill
from rltpf.selection.statement import Place, Statement, StatementError, places, read_statement, substitute

REWRITES = 3
"""Replies of the rewriter that are tried for one problem."""


class NoVerdict(RunError):
    """Lean gave no verdict on a statement: the problem is taken up again by the next start."""


class _Consistency(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reasons: str
    consistent: bool


class _Places(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reasons: str
    places: list[int]


@dataclasses.dataclass(frozen=True)
class Selection(Record):
    """What became of one problem's candidates, in rank order and without those that repeat an earlier one's value.

    `id` is what the run's journal knows the problem by. `base` is the place of the base among `judged`, from 0, None
    where no candidate could be formalised. `attempts` are the formaliser's statements up to the base, with what Lean
    said. `calls` counts requests by role. `faults` says what was wrong with useless replies of judge and rewriter.
    `independent` is the control: each candidate formalised by itself; empty where it was not asked for.
    """

    id: str
    judged: tuple[Judged, ...]
    base: int | None
    attempts: tuple[Judged, ...]
    calls: dict[str, int]
    lean_seconds: float
    faults: tuple[str, ...] = ()
    independent: tuple[Judged, ...] = ()
    independent_calls: int = 0


class Selector:
    """Judges the candidates of problems with one model and one prover."""

    def __init__(
        self,
        model: ChatModel,
        prover: Prover,
        sampling: Callable[[str], Sampling],
        messages: Callable[..., tuple[Message, Message]],
        prove: bool,
        independent: bool,
        compare: bool = False,
    ) -> None:
        self._model = model
        self._prover = prover
        self.sampling = sampling
        self._messages = messages
        self._prove = prove
        self._independent = independent
        self._compare = compare

    async def judge(self, identity: str, question: str, candidates: Sequence[str]) -> Selection:
        """Judge the candidates; raises `NoVerdict`, and `ModelError` where a model gave no reply."""
        return await _Problem(self, identity, question, candidates).judge()

    async def attempts(self, question: str, candidates: Sequence[str]) -> Sequence[Judged]:
        """What the formaliser wrote for each candidate in turn, up to the first whose statement elaborates."""
        return await _Problem(self, "", question, candidates).attempts()

    async def checked(self, base: str, item: Judged) -> Judged:
        """An edit of the base statement, with Lean's word on it."""
        return await _Problem(self, "", "", []).checked_edit(base, item)


class _Counting:
    """A model that counts the requests of each role, repeated ones too."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self.calls: Counter[str] = Counter()

    async def complete(self, request: Request) -> Completion:
        self.calls[request.role] += 1
        return await self._model.complete(request)

    async def close(self) -> None:
        await self._model.close()


class _Problem:
    """One problem while it is judged."""

    def __init__(self, selector: Selector, identity: str, question: str, candidates: Sequence[str]) -> None:
        self._selector = selector
        self._identity = identity
        self._question = question
        self._candidates = without_repeats(candidates)
        self._values = dict(zip(candidates, values_of(candidates), strict=True))
        self._votes = Counter(self._values[candidate] for candidate in candidates)
        self._units_differ = units_differ(candidates)
        self._model = _Counting(selector._model)
        self._seconds = 0.0
        self._own: dict[str, Judged] = {}
        self._faults: list[str] = []

    async def judge(self) -> Selection:
        attempts = await self.attempts()
        base = len(attempts) - 1 if attempts and attempts[-1].elaborates else None
        judged = [Judged(candidate) for candidate in self._candidates]
        if base is not None:
            judged = await self._edited(base, dataclasses.replace(attempts[base], route="base"))
        if self._selector._prove:
            judged = uncontradicted([await self._proved(item) for item in judged])
            if base is not None and judged[base].reason in REJECTED:
                judged = without_refutations(judged)
        judged = await self._compared(judged)
        calls, independent = dict(self._model.calls), list[Judged]()
        if self._selector._independent:
            independent = [await self._formalised(candidate) for candidate in self._candidates]
            if self._selector._prove:
                independent = uncontradicted([await self._proved(item) for item in independent])
            independent = await self._compared(independent)
        return Selection(
            self._identity,
            self._counted_votes(judged),
            base,
            tuple(attempts),
            calls,
            round(self._seconds, 3),
            tuple(self._faults),
            self._counted_votes(independent),
            self._model.calls["formaliser"] if self._selector._independent else 0,
        )

    def _counted_votes(self, judged: Sequence[Judged]) -> tuple[Judged, ...]:
        return tuple(dataclasses.replace(item, votes=self._votes[self._values[item.candidate]]) for item in judged)

    async def attempts(self) -> list[Judged]:
        attempts: list[Judged] = []
        for candidate in self._candidates:
            attempts.append(await self._formalised(candidate))
            if attempts[-1].elaborates:
                break
        return attempts

    async def checked_edit(self, base: str, item: Judged) -> Judged:
        flags = await self._selector._prover.traps(base) if _may_be_cut_off(item) else ()
        return await self._checked(item, flags)

    async def _formalised(self, candidate: str) -> Judged:
        """The candidate with a statement of its own; the formaliser is asked once for each."""
        if candidate not in self._own:
            self._own[candidate] = await self._formalise(candidate)
        return self._own[candidate]

    async def _formalise(self, candidate: str) -> Judged:
        request = self._request("formaliser", "formalise", answer=candidate, library=self._selector._prover.library)
        reply = await self._model.complete(request)
        try:
            statement = read_statement(extract_lean(reply.text))
        except (LeanBlockError, StatementError) as error:
            return Judged(candidate, "formalised", verdict="refused", reason=str(error))
        return await self._checked(Judged(candidate, "formalised", statement.text))

    async def _edited(self, base: int, own: Judged) -> list[Judged]:
        statement = read_statement(own.statement)
        route, chosen = await self._slots(statement, own.candidate)
        written: dict[str, Judged] = {}
        for candidate in self._candidates:
            pasted = term(candidate)
            edited = substitute(statement, chosen, pasted) if chosen and pasted is not None else ""
            if edited and (fault := overreach(statement, read_statement(edited), chosen=True)):
                self._faults.append(f"judge: {fault}")
            elif edited:
                written[candidate] = Judged(candidate, route, edited)
        left = [c for c in self._candidates if c not in written and c != own.candidate]
        if left:
            written |= await self._rewritten(statement, own.candidate, left)
        # Many proofs are tried for them: only where an edit may need them.
        edits = [item for item in written.values() if _may_be_cut_off(item)]
        flags = await self._selector._prover.traps(own.statement) if edits else ()
        judged = []
        for candidate in self._candidates:
            item = written.get(candidate)
            if candidate == own.candidate:
                # The base is no edit of itself, whatever a rewriter makes of it.
                judged.append(own)
            elif item is None:
                judged.append(await self._formalised(candidate))
            else:
                judged.append(await self._checked(item, flags))
        return judged

    async def _slots(self, statement: Statement, answer: str) -> tuple[Route, Sequence[Place]]:
        """Where the answer stands; none where that is in doubt."""
        own = term(answer)
        found = places(statement, own) if own is not None else []
        if not found:
            return "none", []
        if len(found) == 1 and found[0].sure:
            return "edited", found
        request = self._request("judge", "place", answer=answer, marked=marked(statement, found))
        try:
            reply = await complete_json(self._model, request, _Places.model_validate)
        except MalformedReply as error:
            self._faults.append(f"judge: {error}")
            return "none", []
        if not all(1 <= number <= len(found) for number in reply.places):
            self._faults.append(f"judge: chooses {reply.places} of {len(found)} places")
            return "none", []
        return "chosen", [found[number - 1] for number in sorted(set(reply.places))]

    async def _rewritten(self, statement: Statement, answer: str, candidates: Sequence[str]) -> dict[str, Judged]:
        """What the rewriter's function writes; a candidate is missing where it writes nothing that can be used."""
        fault = ""
        for number in range(REWRITES):
            request = self._request("rewriter", "rewrite", answer=answer, statement=statement.text, fault=fault)
            try:
                reply = await complete_json(self._model, request.sample(number), Fill.model_validate, tries=1)
                texts = await asyncio.to_thread(fill, statement, answer, reply, candidates)
            except (MalformedReply, FillError) as error:
                fault = str(error)
                self._faults.append(f"rewriter: {fault}")
                continue
            return {
                candidate: Judged(candidate, "rewritten", text)
                for candidate, text in zip(candidates, texts, strict=True)
                if text is not None
            }
        return {}

    async def _checked(self, item: Judged, base_flags: Sequence[str] = ()) -> Judged:
        """The candidate with Lean's word on its statement. One whose operations are cut off where the base's are not,
        such as 1/2 in the place of a natural number, means another answer than its candidate."""
        if says_nothing(read_statement(item.statement)):
            reason = "an equation of the goal is true by its words alone"
            return dataclasses.replace(item, verdict="refused", reason=reason)
        report = self._counted(await self._selector._prover.elaborates(item.statement))
        if not report.verified:
            return dataclasses.replace(
                item, verdict="refused" if report.reason == "gate" else "rejected", reason=_words(report)
            )
        if _may_be_cut_off(item):
            cut = set(await self._selector._prover.traps(item.statement)) & TRUNCATION - set(base_flags)
            if cut:
                return dataclasses.replace(item, verdict="refused", reason=", ".join(sorted(cut)))
        return dataclasses.replace(item, verdict="elaborates")

    async def _proved(self, item: Judged) -> Judged:
        if not item.elaborates:
            return item
        if self._units_differ:
            return dataclasses.replace(item, proof="open", reason="the candidates are in different units")
        report = self._tried(await self._selector._prover.prove(item.statement))
        if report.verified:
            reason = doubt(item) or await self._leak(item)
            return dataclasses.replace(item, proof="open" if reason else "proved", reason=reason)
        refuted = self._tried(await self._selector._prover.refute(item.statement))
        # False for a truncated operation alone, or of another number than the candidate: that may be right.
        false = refuted.verified and not refuted.flags and not unheld(item)
        return dataclasses.replace(item, proof="refuted" if false else "open")

    async def _compared(self, judged: list[Judged]) -> list[Judged]:
        """The candidates; those that are proved with a model's word on whether problem and statement say the same."""
        if not self._selector._compare:
            return judged
        return [await self._consistent(item) if item.is_proved else item for item in judged]

    async def _consistent(self, item: Judged) -> Judged:
        request = self._request("checker", "consistent", answer=item.candidate, statement=item.statement)
        try:
            reply = await complete_json(self._model, request, _Consistency.model_validate)
        except MalformedReply:
            return dataclasses.replace(item, consistent=False)
        return dataclasses.replace(item, consistent=reply.consistent)

    async def _leak(self, item: Judged) -> str:
        """The trap for which a proof of the statement is worth nothing; empty where there is none."""
        traps = await self._selector._prover.traps(item.statement)
        return next((trap for trap in traps if trap in REJECTED), "")

    def _tried(self, report: Report) -> Report:
        """The report of a proof that was tried. A statement that elaborates and at whose proof Lean dies, each time it
        is tried, is open: else a number that is too large to be calculated would keep its problem without an end."""
        died = report.reason == "crash" and report.detail.startswith(ENDED)
        return report if died else self._counted(report)

    def _counted(self, report: Report) -> Report:
        self._seconds += report.seconds
        if report.status == "infra":
            raise NoVerdict(f"{report.reason}: {report.detail}")
        return report

    def _request(self, role: str, prompt: str, **values: Any) -> Request:
        messages = self._selector._messages(prompt, question=self._question, **values)
        return Request(role, messages, self._selector.sampling(role))


def _may_be_cut_off(item: Judged) -> bool:
    return re.fullmatch("[0-9]+", plain(item.candidate)) is None


def marked(statement: Statement, found: Sequence[Place]) -> str:
    """The statement with a numbered mark before each place."""
    text = statement.text
    for number, place in reversed(list(enumerate(found, 1))):
        text = f"{text[: place.start]}⟦{number}⟧{text[place.start :]}"
    return text


def _words(report: Report) -> str:
    errors = [message.text for message in report.messages if message.severity == "error"]
    return " ".join((errors[0] if errors else report.detail or report.reason).split())[:300]
