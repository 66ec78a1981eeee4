"""What can be proved of one statement: its claim, its negation, and what shows a trap in it."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from rltpf.prover import refutation
from rltpf.prover.answer import Answer
from rltpf.prover.cascade import Library, Tactic, tactics
from rltpf.prover.gate import gate
from rltpf.prover.report import Report
from rltpf.prover.traps import CONTRADICTION, TRUNCATION, Facts, find_traps, sprung

Goal = Literal["claim", "negation", "absurdity"]
"""What is made of a statement T, its quantifiers and hypotheses inside: T, `¬ T`, or T with the conclusion False."""

VACUOUS = Report("rejected", "vacuous", "the hypotheses contradict each other")


class Goals:
    """One statement before one worker. `ask` gives the judge's report on a request, and its answer where it has one."""

    def __init__(
        self,
        statement: str,
        header: str,
        library: Library,
        heartbeats: int,
        ask: Callable[[str, Mapping[str, object]], tuple[Report, Answer | None]],
    ) -> None:
        self._statement = statement
        self._header = header
        self._library = library
        self._heartbeats = heartbeats
        self._ask = ask
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """Time inside Lean on all goals so far."""
        return self._seconds

    def prove(self, goal: Goal, proof: str | None = None, cascade: Sequence[Tactic] | None = None) -> Report:
        """Whether `proof`, a tactic block, or a tactic of the cascade proves the goal; `closed_by` says which.

        `cascade` stands in for the library's own. Where nothing proves it, the messages are those of `proof`, or of the
        last tactic; the goal may still hold.
        """
        attempts = [(t.text, t) for t in (tactics(self._library) if cascade is None else cascade)]
        failures: list[Report] = []
        if proof is not None:
            if hits := gate(proof, "proof"):
                failures.append(Report("rejected", "gate", "; ".join(hits)))
            else:
                attempts.insert(0, ("model", Tactic(proof, self._heartbeats)))
        for name, tactic in attempts:
            report = self._attempt(goal, tactic)
            if report.verified or report.reason in ("statement_error", "header_error"):
                return dataclasses.replace(report, closed_by=name if report.verified else "")
            failures.append(report)
        # Where Lean gave no verdict on one attempt, there is none on the goal.
        undecided = [report for report in failures if not report.decided]
        outcome = (undecided or failures)[0] if undecided or proof is not None else failures[-1]
        if outcome.reason in ("axioms", "replay", "type_mismatch"):
            outcome = dataclasses.replace(outcome, reason="unproved")
        return outcome

    def prove_claim(self, proof: str | None, cascade: Sequence[Tactic] | None) -> Report:
        """As `prove`, but `vacuous` where the hypotheses prove False: then they prove the claim whatever it says."""
        claim = self.prove("claim", proof, cascade)
        if not claim.verified:
            return claim
        facts = self._facts()
        if isinstance(facts, Report):
            return facts
        # A model's proof may see a contradiction that no tactic of ours does, and then proves False as well.
        if claim.closed_by == "model" and proof is not None and facts.binders:
            absurd = self._attempt("absurdity", Tactic(proof, self._heartbeats))
            if absurd.verified:
                return VACUOUS
            if not absurd.decided:
                return absurd
        return self._unless_vacuous(claim, facts)

    def refute(self) -> Report:
        """Whether the negation of the whole statement is proved; `closed_by` is the tactic block that does it.

        Of contradictory hypotheses nothing can be refuted: the report is `vacuous` then. `flags` and `detail` name the
        operations whose value is not that of the rational numbers, since the claim may be false for these alone.
        """
        facts = self._facts()
        if isinstance(facts, Report):
            return facts
        reports: list[Report] = []

        def negated(candidates: Iterable[Tactic]) -> Report | None:
            for tactic in candidates:
                report = self._attempt("negation", tactic)
                reports.append(report)
                if report.verified:
                    return dataclasses.replace(report, closed_by=tactic.text)
            return None

        library = self._library
        found = negated(refutation.direct(facts, library))
        if found is None and facts.binders:
            found = negated(refutation.by_equations(facts, library))
        if found is None and facts.binders:
            reports.append(claim := self._attempt("claim", refutation.MODEL))
            if not claim.verified:
                found = negated(refutation.by_model(facts, library, claim.messages)) or negated(
                    refutation.by_small_numbers(facts, library)
                )
        if found is not None:
            return self._with_truncation(found, facts)
        undecided = [report for report in reports if not report.decided]
        outcome = undecided[0] if undecided else Report("rejected", "unproved", "no counterexample was found")
        return self._unless_vacuous(outcome, facts)

    def traps(self) -> tuple[str, ...]:
        """The names of the statement's traps (see `traps`); of one that does not elaborate, none."""
        facts = self._facts()
        if isinstance(facts, Report):
            return () if facts.decided else ("undecided",)
        return find_traps(self._statement, facts, self._library, self._attempt)

    def _unless_vacuous(self, report: Report, facts: Facts) -> Report:
        """The report, but `vacuous` where no values meet the hypotheses; without an answer to that, a proof is none."""
        undecided: list[Report] = []

        def attempt(goal: str, tactic: Tactic) -> Report:
            tried = self._attempt(goal, tactic)
            undecided.extend([] if tried.decided else [tried])
            return tried

        for probe in facts.probes:
            if probe.flag == "vacuous" or (probe.flag in CONTRADICTION and report.verified):
                flags = sprung(self._statement, facts, probe, self._library, attempt)
                if probe.flag in flags:
                    return VACUOUS
                if flags and report.verified:
                    return undecided[0]
        return report

    def _with_truncation(self, report: Report, facts: Facts) -> Report:
        probes = [
            probe
            for probe in facts.probes
            if probe.flag in TRUNCATION and sprung(self._statement, facts, probe, self._library, self._attempt)
        ]
        if not probes:
            return report
        names = "; ".join(f"`{probe.detail}` ({probe.flag})" for probe in probes)
        detail = f"not with the value that it has among the rational numbers: {names}"
        return dataclasses.replace(report, detail=detail, flags=tuple(dict.fromkeys(probe.flag for probe in probes)))

    def _facts(self) -> Facts | Report:
        report, answer = self._ask("inspect", {"header": self._header, "statement": self._statement})
        if answer is None or not report.verified:
            return report
        try:
            return Facts.from_reply(answer.facts)
        except (KeyError, TypeError):
            return Report("infra", "protocol", "unexpected facts")

    def _attempt(self, goal: str, tactic: Tactic) -> Report:
        # The judge puts the block at the left margin; the columns of its messages are put back.
        block = textwrap.dedent(tactic.text)
        # Of a blank line, `dedent` leaves nothing.
        lines = zip(tactic.text.split("\n"), block.split("\n"), strict=True)
        margin = next((len(line) - len(left) for line, left in lines if left), 0)
        arguments = {
            "header": self._header,
            "statement": self._statement,
            "goal": goal,
            "tactic": block,
            "heartbeats": min(tactic.heartbeats, self._heartbeats),
        }
        report, _ = self._ask("prove", arguments)
        self._seconds += report.seconds
        if not margin:
            return report
        messages = tuple(dataclasses.replace(m, column=m.column + margin) for m in report.messages)
        return dataclasses.replace(report, messages=messages)
