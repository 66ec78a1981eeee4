"""Stepwise answers: how they are asked for and read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from data_gen.prompting import OWN, Prompts
from rltpf.llm.model import ChatModel, Request, Sampling

_STEP = re.compile(r"Step \d+:\s*(\S.*)")
_FINAL = re.compile(r"The answer is\s+(\S.*?)\.?")


@dataclass(frozen=True)
class Chain:
    """An answer taken apart: its steps in order and its final answer, as written."""

    steps: tuple[str, ...]
    final: str

    @property
    def texts(self) -> tuple[str, ...]:
        """All that it claims, in order: its steps and, as one more, its final answer."""
        return (*self.steps, f"The answer is {self.final}.")


def parse_chain(answer: str) -> Chain | None:
    """The steps of an answer; None unless it is step lines followed by exactly one line `The answer is N.`

    A line that belongs to neither continues the step above it, so that no word of the answer escapes the judge.
    """
    steps: list[str] = []
    lines = [line.strip() for line in answer.strip().splitlines() if line.strip()]
    for line in lines[:-1]:
        if match := _STEP.fullmatch(line):
            steps.append(match.group(1))
        elif steps and not _FINAL.fullmatch(line):
            steps[-1] += f" {line}"
        else:
            return None
    final = _FINAL.fullmatch(lines[-1]) if lines else None
    return Chain(tuple(steps), final.group(1)) if steps and final else None


def answer_prompt(question: str) -> str:
    """The user message that asks for a stepwise answer; training and evaluation use the same words, however the teacher
    was asked."""
    return OWN.messages("answer", question=question)[1].content


async def sample_answer(
    model: ChatModel, question: str, number: int, sampling: Sampling, prompts: Prompts = OWN
) -> str:
    """The `number`-th sampled answer (from 0) to a question; samples differ by their seed."""
    seeded = replace(sampling, seed=sampling.seed or 0)
    request = Request("solver", prompts.messages("answer", question=question), seeded)
    return (await model.complete(request.sample(number))).text.strip()
