"""The tables at the end of a run."""

import io
from typing import Any

from rich.console import Console
from rich.table import Table

from data_gen.tables import expense, outcome

METRICS: dict[str, Any] = {
    "questions": {"in": 1036, "kept": 1031, "lost": {"s0:duplicate": 1, "s4:not_aligned": 2}, "unfinished": 2},
    "answers": {"in": 2062, "verified": 1500, "false": 500, "error": 62},
    "iterations": [
        {"iteration": 1, "chains": 2062, "chains_elaborated": 1300},
        {"iteration": 2, "chains": 700, "chains_elaborated": 650},
    ],
    "allocation": {"sft_rows": 1200, "dpo_pairs": 450},
    "lengths": {"words": {"chosen": {"mean": 67.9}, "rejected": {"mean": 56.1}}},
    "llm": {
        "judge": {"calls": 0, "cached": 1040, "failed": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0},
        "solver": {
            "calls": 2062,
            "cached": 0,
            "failed": 3,
            "prompt_tokens": 512000,
            "completion_tokens": 99,
            "cost": 1.25,
        },
    },
    "lean": {"checks": 31517, "seconds": 237.4},
}


def shown(table: Table) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_what_became_of_questions_and_answers() -> None:
    assert shown(outcome(METRICS)) == [
        "what became of                         count",
        "questions                              1,036",
        "  kept                                 1,031",
        "  lost: s0:duplicate                       1",
        "  lost: s4:not_aligned                     2",
        "  unfinished                               2",
        "answers                                2,062",
        "  verified                             1,500",
        "  false                                  500",
        "  error                                   62",
        "  Lean could read, first try  1,300 of 2,062",
        "  Lean could read, repair 1       650 of 700",
        "SFT rows                               1,200",
        "DPO pairs                                450",
        "  mean words, chosen                    67.9",
        "  mean words, rejected                  56.1",
    ]
    none = METRICS | {"allocation": {"sft_rows": 0, "dpo_pairs": 0}}
    assert shown(outcome(none))[-1].split() == ["DPO", "pairs", "0"]


def test_expense_with_and_without_prices() -> None:
    assert shown(expense(METRICS)) == [
        "role           calls  cached  failed  tokens in  out    cost",
        "judge              0   1,040       0          0    0  0.0000",
        "solver         2,062       0       3    512,000   99  1.2500",
        "Lean (237 s)  31,517",
    ]
    free = METRICS | {"llm": {"judge": METRICS["llm"]["judge"]}}
    assert shown(expense(free))[0] == "role           calls  cached  failed  tokens in  out"
