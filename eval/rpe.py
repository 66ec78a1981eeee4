"""Restricted propositional equivalence: is a submitted answer the known one, for all values of the variables?

The statement is ours: `(answer = (S : T)) ↔ (G)`, for the submission S, the type T and the known answer G. Few tactics
may prove it, each as a command of its own. What a submission could gain by other means than being the answer is kept
from it:

- It is read by the gate and elaborated alone first, where there is no `answer`: `if 2 * answer = 18 then answer else
  answer + 1` would be equivalent to `answer = 9`.
- Hypotheses are no part of the statement: from `a * x + b * y = 3` it follows that `a * x + b * y` is 3.
- A proposition about `answer` (D-FPS) has to say what `answer` equals; of `2 * answer = 18` a tactic finds the answer.
- The answer to a yes-or-no question is yes or no: every tactic would answer `2 + 2 = 4`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from eval.fps import DEFAULT_OPENS, Binder, binders
from rltpf.prover.cascade import Tactic
from rltpf.prover.gate import gate
from rltpf.prover.lean_text import blank, words
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.slots import bracket_hits
from rltpf.records import Record

CORE = (
    Tactic("rfl", 50_000),
    Tactic("decide +revert", 20_000),
    Tactic("simp", 50_000),
    Tactic("omega", 50_000),
    Tactic("grind", 50_000),
)
CORE_SETS = CORE[:1]
"""For sets and predicates: `grind` would find that `{n | 2 * n = 14}` is `{7}`, and so answer what was asked."""

_PUBLISHED = ("rfl", "norm_num", "ring_nf", "rw_search", "aesop")
MATHLIB = (
    *(Tactic(name, 200_000) for name in _PUBLISHED),
    # As published, what one tactic leaves is the next one's. Later versions of Mathlib have no `rw_search`, and do not
    # parse what names it.
    Tactic("; ".join(f"(try {name})" for name in _PUBLISHED), 200_000),
    Tactic("; ".join(f"(try {name})" for name in _PUBLISHED if name != "rw_search"), 200_000),
)

NOTATIONS = 'notation "ℕ" => Nat\nnotation "ℤ" => Int\nnotation "ℚ" => Rat'
_OPEN = re.compile(r"open((?: +[A-Za-z][\w.]*)+)")
_TOKEN = re.compile(r":=|==|!=|=>|<=|>=|=|∨|\S")
_OPENING, _CLOSING = frozenset("([{⟨⟦⌊⌈"), frozenset(")]}⟩⟧⌋⌉")
_TRUTH = re.compile(r"[\s(),⟨⟩]*(?:(?:True|False|true|false|Bool\.true|Bool\.false|-?[0-9]+)(?![\w.'])[\s(),⟨⟩]*)+")
_NAME = re.compile(r"[^\W\d][\w'!?]*")
_SYNTAX_ERROR = re.compile(r"unexpected |expected |unterminated ")


@dataclass(frozen=True)
class Question(Record):
    """What is asked of one submission: the fields of an input row."""

    answer_type: str
    intros: tuple[Binder, ...]
    header: str | None
    submission: str
    formal_answer: str


@dataclass(frozen=True)
class Equivalence(Record):
    """Whether the submission is the answer. Without a proof it is not said to be, and `reason` says why.

    `equal`; `not_proved`; `refuted`: the negation is proved; `no_submission`; `gate`, `parse_error`, `type_error`: it
    is no term of the answer's type; `no_answer`: it asks for the answer; `row_error`: the row is at fault; `vacuous`:
    there are no values of the variables; `timeout`, `crash`, `protocol`: Lean gave no verdict.
    """

    equivalent: bool
    closed_by: str
    reason: str
    detail: str = ""
    seconds: float = 0.0
    toolchain: str = ""

    @property
    def decided(self) -> bool:
        return self.reason not in ("row_error", "timeout", "crash", "protocol")


async def equivalence(prover: Prover, question: Question) -> Equivalence:
    """Decides one question."""
    found, seconds = await _Attempt(prover, question).decide()
    return replace(found, seconds=round(seconds, 3), toolchain=prover.toolchain_id)


class _Attempt:
    def __init__(self, prover: Prover, question: Question) -> None:
        self._prover = prover
        self._question = question
        self._header = lean_header(prover, question.header)
        self._seconds = 0.0

    async def decide(self) -> tuple[Equivalence, float]:
        return await self._decided(), self._seconds

    async def _decided(self) -> Equivalence:
        question = self._question
        if not question.submission.strip():
            return _refused("no_submission")
        if hits := gate(question.submission, "answer"):
            return _refused("gate", "; ".join(hits))
        values = answer_values(question.submission)
        if values is None:
            return _refused("no_answer", "a submission that mentions `answer` has to be `answer = …`")
        if _is_truth(question.answer_type) and not all(map(_TRUTH.fullmatch, values)):
            return _refused("no_answer", f"an answer of type {question.answer_type} has to say true or false itself")
        if misplaced := _row_fault(question):
            return _refused("row_error", misplaced)

        variables = await self._variables()
        if isinstance(variables, Equivalence):
            return variables
        telescope = binders([*variables, Binder(question.answer_type, "answer")])
        if fault := await self._fault(f"theorem known {telescope} :\n    ({question.formal_answer})", known=True):
            return fault
        for value in values:
            typed = f"({value} : {question.answer_type})"
            if fault := await self._fault(f"theorem submitted {binders(variables)} :\n    {typed} = {typed}"):
                return fault

        says = " ∨ ".join(f"(answer = ({value} : {question.answer_type}))" for value in values)
        statement = f"theorem rpe {telescope} :\n    ({says}) ↔ ({question.formal_answer})"
        report = await self._prover.prove(statement, header=self._header, cascade=self._cascade())
        self._seconds += report.seconds
        if report.verified:
            return Equivalence(True, report.closed_by, "equal")
        if not report.decided or report.reason == "vacuous":
            return _refused(report.reason, report.detail)
        if report.reason != "unproved":
            return _refused("type_error", _said(report))
        # With fewer hypotheses than the problem has, a counterexample may be none of the problem's.
        if variables == question.intros:
            negation = await self._prover.refute(statement, self._header)
            self._seconds += negation.seconds
            if negation.verified:
                return _refused("refuted")
        return _refused("not_proved")

    def _cascade(self) -> Sequence[Tactic]:
        if self._prover.library == "mathlib":
            return MATHLIB
        return CORE_SETS if {"Prop", "Set"} & set(words(self._question.answer_type)) else CORE

    async def _variables(self) -> tuple[Binder, ...] | Equivalence:
        """The intros that are no hypotheses."""
        kept: list[Binder] = []
        for intro in self._question.intros:
            report = await self._elaborates(f"theorem hypothesis {binders(kept)} :\n    ({intro.t})")
            if not report.decided:
                return _refused(report.reason, report.detail)
            if not report.verified:
                kept.append(intro)
        return tuple(kept)

    async def _fault(self, statement: str, known: bool = False) -> Equivalence | None:
        """Why Lean does not take the statement: for the row's fault where the submission is not in it."""
        report = await self._elaborates(statement)
        if report.verified:
            return None
        if not report.decided:
            return _refused(report.reason, report.detail)
        said = _said(report)
        if known or report.reason == "header_error":
            return _refused("row_error", said)
        return _refused("parse_error" if _SYNTAX_ERROR.match(said) else "type_error", said)

    async def _elaborates(self, statement: str) -> Report:
        report = await self._prover.elaborates(statement, self._header)
        self._seconds += report.seconds
        return report


def lean_header(prover: Prover, header: str | None) -> str:
    """The prover's header and the row's `open` lines; without Mathlib, its notations and all that is opened too."""
    opens = DEFAULT_OPENS if header is None else header
    parts = [prover.header] if prover.header else []
    if prover.library == "core":
        names = [name for match in map(_OPEN.fullmatch, opens.splitlines()) if match for name in match[1].split()]
        parts += [NOTATIONS, *(f"namespace {name}\nend {name}" for name in dict.fromkeys(names))]
    return "\n".join([*parts, opens])


def answer_values(submission: str) -> tuple[str, ...] | None:
    """What a submission says that the answer is: itself, or each `…` of `answer = … ∨ answer = …`.

    None where it mentions `answer` in another way.
    """
    if "answer" not in words(submission):
        return (submission,)
    values = []
    for part in _split(submission, "∨"):
        sides = _split(part, "=")
        others = [side for side in sides if side.strip() != "answer"]
        if len(sides) != 2 or len(others) != 1 or "answer" in words(others[0]):
            return None
        values.append(others[0].strip())
    return tuple(values)


def _split(text: str, separator: str) -> list[str]:
    """The parts of a term between the tokens `separator` that stand outside all brackets."""
    parts, depth, start = [], 0, 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() in _OPENING) - (token.group() in _CLOSING)
        if depth == 0 and token.group() == separator:
            parts.append(text[start : token.start()])
            start = token.end()
    return [*parts, text[start:]]


def _is_truth(answer_type: str) -> bool:
    """Whether an answer says true or false, alone or beside others: `Prop`, `ℕ × Bool`, but no predicate."""
    return bool({"Prop", "Bool"} & set(words(answer_type))) and not re.search("→|->|Set", answer_type)


def _row_fault(question: Question) -> str:
    """Why the row's own texts would not stay where they are put; empty where they do."""
    texts = {"answer_type": question.answer_type, "formal_answer": question.formal_answer}
    for number, intro in enumerate(question.intros):
        texts[f"intros.{number}.t"] = intro.t
        if intro.name == "answer" or not _NAME.fullmatch(intro.name or "_"):
            return f"intros.{number}.name: {intro.name!r} is the answer's own, or no name"
    for place, text in texts.items():
        if hits := bracket_hits(blank(text)):
            return f"{place}: {hits[0]}"
    return ""


def _refused(reason: str, detail: str = "") -> Equivalence:
    return Equivalence(False, "", reason, detail)


def _said(report: Report) -> str:
    """The first error of Lean, or else what the prover says."""
    errors = (message.text for message in report.messages if message.severity == "error")
    return " ".join(next(errors, report.detail).split())[:300]
