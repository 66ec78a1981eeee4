"""What a generate run reports (specification: rates always together, losses by reason, execution rate by iteration).
Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from data_gen.allocate import Allocation
from data_gen.records import Answer, Question

PHASES = ("s0", "s1", "s2", "s3", "s4")


def summarise(
    questions: Sequence[Question], answers: Sequence[Answer], allocations: Sequence[Allocation]
) -> dict[str, Any]:
    """The numbers of a run, from its records alone: a resumed run reports what an undisturbed one does."""
    lost = Counter(f"{q.error.stage}:{q.error.reason}" for q in questions if q.error is not None)
    verdicts = Counter(answer.verdict for answer in answers)
    reasons = Counter(f"error:{answer.reason}" for answer in answers if answer.verdict == "error")
    fates = Counter(allocation.fate for allocation in allocations)
    usage = [*(question.usage for question in questions), *(answer.usage for answer in answers)]
    return {
        "questions": {
            "in": len(questions),
            "kept": sum(question.kept for question in questions),
            "lost": dict(sorted(lost.items())),
        },
        "phases": _phases(questions),
        "telescopes": {
            "repaired": sum(question.phase != "s1" and len(question.attempts) > 1 for question in questions),
            "first_elaborated": sum(bool(q.attempts) and not q.attempts[0].reason for q in questions),
        },
        "answers": {
            "in": len(answers),
            **{verdict: verdicts[verdict] for verdict in ("verified", "false", "error")},
            "reasons": dict(sorted(reasons.items())),
        },
        "iterations": _iterations(answers),
        "allocation": {
            "sft_rows": sum(len(allocation.sft) for allocation in allocations),
            "dpo_pairs": sum(len(allocation.dpo) for allocation in allocations),
            "discarded_questions": fates["discarded"],
            "error_questions": fates["error"],
            "contradicted_answers": sum(len(allocation.contradicted) for allocation in allocations),
        },
        "lengths": _lengths([pair for allocation in allocations for pair in allocation.dpo]),
        "lean": {
            "checks": sum(item.checks for item in usage),
            "seconds": round(sum(item.seconds for item in usage), 3),
        },
    }


def _lengths(pairs: Sequence[tuple[Answer, Answer]]) -> dict[str, Any]:
    """Chosen against rejected: where one side is always the longer, a model learns the length and nothing else."""
    texts = {"chosen": [chosen.answer for chosen, _ in pairs], "rejected": [rejected.answer for _, rejected in pairs]}
    words = {side: [len(text.split()) for text in found] for side, found in texts.items()}
    return {
        "words": {side: _spread(counts) for side, counts in words.items()},
        "characters": {side: _spread([len(text) for text in found]) for side, found in texts.items()},
        "chosen_longer": sum(chosen > rejected for chosen, rejected in zip(*words.values(), strict=True)),
        "rejected_longer": sum(chosen < rejected for chosen, rejected in zip(*words.values(), strict=True)),
    }


def _spread(values: Sequence[int]) -> dict[str, float]:
    if not values:
        return {}
    return {"min": min(values), "median": median(values), "mean": round(fmean(values), 1), "max": max(values)}


def _phases(questions: Sequence[Question]) -> list[dict[str, Any]]:
    rows = []
    for phase in PHASES:
        ended_before = sum(q.error is not None and q.error.stage < phase for q in questions)
        ended_here = sum(q.error is not None and q.error.stage == phase for q in questions)
        entered = len(questions) - ended_before
        rows.append({"phase": phase, "in": entered, "out": entered - ended_here})
    return rows


def _iterations(answers: Sequence[Answer]) -> list[dict[str, int]]:
    """One row for each iteration of algorithm 1: what was tried in it, and how many chains it decided."""
    rows = []
    for iteration in range(1, max((len(answer.attempts) for answer in answers), default=0) + 1):
        attempts = [answer.attempts[iteration - 1] for answer in answers if len(answer.attempts) >= iteration]
        outcomes = Counter(attempt.outcome for attempt in attempts)
        rows.append(
            {
                "iteration": iteration,
                "chains": len(attempts),
                "chains_elaborated": sum(bool(a.elaborated) and all(a.elaborated) for a in attempts),
                "steps": sum(len(attempt.elaborated) for attempt in attempts),
                "steps_elaborated": sum(sum(attempt.elaborated) for attempt in attempts),
                "verified": outcomes["verified"],
                "false": outcomes["false"],
                "error": outcomes["error"],
                "tokens": sum(attempt.tokens for attempt in attempts),
            }
        )
    return rows
