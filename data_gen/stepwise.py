"""The steps of an answer in TRL's stepwise format, a label for each. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from data_gen.records import StepVerdict
from rltpf.records import Record


@dataclass(frozen=True)
class Stepwise(Record):
    """Completions with their labels, true where verified; `given` are the lines before them, which belong to the
    prompt."""

    given: tuple[str, ...]
    completions: tuple[str, ...]
    labels: tuple[bool, ...]


def prose(steps: Sequence[StepVerdict]) -> list[str]:
    """The lines of the answer that has these steps."""
    lines = [f"Step {number}: {step.text}" for number, step in enumerate(steps[:-1], start=1)]
    return lines + [step.text for step in steps[-1:]]


def stepwise(steps: Sequence[StepVerdict]) -> Stepwise:
    """What Lean decided of the steps, up to the first false one: a step that it did not decide has no label, and
    neither has any step after it."""
    lines = prose(steps)
    # A refuted calculation ends an answer before the steps above it are judged: they are read, and not learned from.
    given = len(list(takewhile(lambda step: step.outcome == "unchecked", steps)))
    completions: list[str] = []
    labels: list[bool] = []
    waiting: list[str] = []
    for line, step in zip(lines[given:], steps[given:], strict=True):
        if step.outcome not in ("verified", "false", "no_claim"):
            break
        # A step without a claim goes with the next that has one.
        waiting.append(line)
        if step.outcome != "no_claim":
            completions.append("\n".join(waiting))
            labels.append(step.outcome == "verified")
            waiting = []
        if step.outcome == "false":
            break
    return Stepwise(tuple(lines[:given]), tuple(completions), tuple(labels))
