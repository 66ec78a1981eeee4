"""What `audit` compares: the Lean text of a row is taken apart, and tied to the rest of the row. Pure functions.

Of each answer in a row the audit establishes that

- the steps are the prose's, their outcomes make the row's verdict and its labels, no verified step says a wrong
  calculation, and the last claim is the prose's final answer;
- the Lean text is one theorem for each step with a claim, in order, and each states the step's claim (where the step is
  false, its negation) from the hypotheses of the theorem before it, what was proved so far, and new definitions;
- Lean accepts every proof, with no more axioms than it grants and a replay through its kernel, and does not find the
  hypotheses contradictory;
- the seal is that of the row. What was changed into something that is true as well, such as `a = 5` into `a ≥ 5`, shows
  here alone.

A seal is a digest without a key. Whoever may write the file can seal anew what he changed, and then only what Lean
refutes is found: no false proof, but a premise that the question does not have, or a weaker claim than the prose's, if
he changes it in the steps too. Nor does the audit see that a row is missing or there twice.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from data_gen.answers import parse_chain
from data_gen.arithmetic import calculations, wrong_calculations
from data_gen.formal import (
    RAT,
    Definition,
    Refusal,
    check_definitions,
    check_final,
    check_telescope,
    proposition,
    theorem,
    variables,
)
from data_gen.records import StepVerdict, Verdict
from data_gen.stepwise import prose, stepwise
from rltpf.records import Record, canonical_json

SEAL = "seal"
# A row that was audited is audited again as the row that it was.
_ADDED = (SEAL, "status", "reason", "detail")
_DEFINITION = re.compile(rf"\n    \((\w+) : {RAT}\) \(\1_def : \1 = (.*?)\)(?=\n    \(\w+ : {RAT}\) \(|\Z)", re.DOTALL)


def seal(row: dict[str, Any]) -> str:
    """The SHA-256 of all that an exported row holds."""
    content = {key: value for key, value in row.items() if key not in _ADDED}
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


@dataclass(frozen=True)
class Judged(Record):
    """An answer of a row, as the row tells it. `labels` say of it, or of each of its `completions`, whether it is
    right; with completions it has no `messages`."""

    verdict: Verdict
    steps: tuple[StepVerdict, ...]
    lean: str
    labels: tuple[bool, ...]
    messages: tuple[dict[Literal["role", "content"], str], ...] = ()
    prompt: str = ""
    completions: tuple[str, ...] = ()

    @property
    def needed(self) -> Verdict:
        """The verdict without which it had no place in the row."""
        return "verified" if all(self.labels) else "false"

    @property
    def prose(self) -> str:
        if self.completions:
            return "\n".join(prose(self.steps))
        return self.messages[0].get("content", "") if len(self.messages) == 1 else ""

    @property
    def refutes_calculation(self) -> bool:
        """Whether a calculation of its prose was refuted, by itself and before anything else was judged."""
        return [step.reason for step in self.steps if step.outcome != "unchecked"] == ["refuted_calculation"]


@dataclass(frozen=True)
class Theorem:
    """A theorem of a Lean text: what it states, and the whole of it with its proof."""

    name: str
    statement: str
    text: str


def answers(row: dict[str, Any]) -> list[Judged]:
    """The answers of a row of any data set; raises `ValueError` in one line where it is none."""
    if "chosen" in row:
        return [
            _judged(row, "chosen_", {"messages": "chosen"}, labels=[True]),
            _judged(row, "rejected_", {"messages": "rejected"}, labels=[False]),
        ]
    if "completions" in row:
        return [_judged(row, "", {name: name for name in ("prompt", "completions", "labels")})]
    if "completion" in row:
        return [_judged(row, "", {"messages": "completion"}, labels=[row.get("label", True)])]
    raise ValueError("has none of `completion`, `chosen` and `completions`, so it is no row of `rltpf generate`")


def _judged(row: dict[str, Any], prefix: str, columns: dict[str, str], **given: Any) -> Judged:
    keys = columns | {name: f"{prefix}{name}" for name in ("verdict", "steps", "lean")}
    if missing := [key for key in keys.values() if key not in row]:
        raise ValueError(f"has no `{missing[0]}`")
    try:
        return Judged.from_json({name: row[key] for name, key in keys.items()} | given)
    except ValidationError as error:
        first = error.errors()[0]
        name, *place = map(str, first["loc"])
        raise ValueError(f"`{'.'.join((keys.get(name, 'label'), *place))}`: {first['msg']}") from None


def theorems(answer: Judged) -> list[Theorem]:
    """The theorems of an answer's Lean text, each tied to its step and to the theorems before it.

    Raises `Refusal` where the answer does not hang together; whether the proofs hold is for Lean to say.
    """
    _check_steps(answer)
    goals = [_goal(number, step) for number, step in enumerate(answer.steps, start=1) if step.claim]
    texts = re.split(r"\n\n(?=theorem )", answer.lean)
    names = [match[1] if (match := re.match(r"theorem (\S+)", text)) else "" for text in texts]
    if names != [name for name, _ in goals]:
        needed = ", ".join(name for name, _ in goals)
        raise Refusal("theorems", f"the steps need the theorems {needed}; found {', '.join(names)}")
    found: list[Theorem] = []
    before = ""
    for (name, goal), text in zip(goals, texts, strict=True):
        binders = text.removeprefix(f"theorem {name}\n    ").partition(f" :\n    {goal} := by\n")[0]
        statement = theorem(name, binders, goal)
        if not text.startswith(f"{statement} := by\n"):
            raise Refusal("claim", f"{name} does not state the claim of its step, `{goal}`")
        if answer.refutes_calculation:
            _check_calculation(answer, binders)
        else:
            check_telescope(binders)
        if found:
            _check_hypotheses(name, before, binders)
        found.append(Theorem(name, statement, text))
        before = "\n    ".join((binders, *f"({name} : {goal})".splitlines()))
    return found


def _goal(number: int, step: StepVerdict) -> tuple[str, str]:
    claim = proposition(step.claim or "")
    return (f"step_{number}_denied", f"¬ ({claim})") if step.outcome == "false" else (f"step_{number}", claim)


def _check_steps(answer: Judged) -> None:
    """Refuses steps that are not the prose's, or whose outcomes do not make the verdict that the row needs."""
    chain = parse_chain(answer.prose)
    if chain is None or [step.text for step in answer.steps] != [*chain.steps, f"The answer is {chain.final}."]:
        raise Refusal("prose", "the steps are not those of the answer")
    if answer.verdict != answer.needed:
        raise Refusal("verdict", f"the verdict is {answer.verdict}, and the answer's place needs {answer.needed}")
    outcomes = [step.outcome for step in answer.steps]
    last = outcomes.index("false") if answer.verdict == "false" and "false" in outcomes else len(outcomes) - 1
    if (
        outcomes[last] != answer.verdict
        or not (answer.refutes_calculation or {"verified", "no_claim"}.issuperset(outcomes[:last]))
        or not {"unchecked"}.issuperset(outcomes[last + 1 :])
        or any(bool(step.claim) != (step.outcome in ("verified", "false")) for step in answer.steps)
    ):
        raise Refusal("verdict", f"the outcomes {', '.join(outcomes)} do not make the answer {answer.verdict}")
    if answer.completions:
        _check_labels(answer)
    for step in answer.steps:
        if step.outcome == "verified" and (wrong := wrong_calculations(step.text)):
            raise Refusal("calculation", f"a verified step says `{wrong[0]}`")
    if last == len(outcomes) - 1:
        check_final(answer.steps[last].claim, chain.final)


def _check_labels(answer: Judged) -> None:
    """Refuses completions and labels that are not what the outcomes of the steps make of them."""
    due = stepwise(answer.steps)
    given = "".join(f"{line}\n" for line in due.given)
    if (answer.completions, answer.labels) != (due.completions, due.labels) or not answer.prompt.endswith(given):
        raise Refusal("labels", "the completions and their labels are not what the outcomes of the steps make of them")


def _check_calculation(answer: Judged, binders: str) -> None:
    """Refuses hypotheses, and a claim that is no calculation of the step's prose."""
    (step,) = (step for step in answer.steps if step.outcome != "unchecked")
    if binders or step.claim not in [calculation.claim for calculation in calculations(step.text)]:
        raise Refusal("calculation", f"`{step.claim}` is no calculation of the step, by itself")


def _check_hypotheses(name: str, before: str, binders: str) -> None:
    """Refuses hypotheses that are not those before and new definitions."""
    added = binders.removeprefix(before)
    definitions = [Definition(match[1], match[2]) for match in _DEFINITION.finditer(added)]
    if before + "".join(f"\n    {definition.binders()}" for definition in definitions) != binders:
        raise Refusal("hypotheses", f"{name} assumes other than what the theorems before it assume and prove")
    check_definitions(definitions, variables(before))
