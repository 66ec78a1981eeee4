"""Verdicts against labels: counts and rates derived by hand."""

import io
from typing import Any

from rich.console import Console

from data_gen.agreement import Judged, answers, confusion, scores, shown, steps, summary, wrong
from data_gen.gold import Gold


def row(name: str, verdict: str, *outcomes: str) -> dict[str, Any]:
    said = [{"text": f"{name}{n}", "outcome": o, "reason": f"r{n}"} for n, o in enumerate(outcomes, start=1)]
    return {"id": name, "verdict": verdict, "reason": "why", "steps": said}


GOLD = {
    "a": Gold("none", ("verified", "verified", "verified")),
    "b": Gold("number", ("verified", "false", None)),
    "c": Gold("step", (None, "error", "verified")),
    "d": Gold("number", ("false", None)),
    "e": Gold("number", ("false",)),
}
ROWS = [
    row("a", "error", "verified", "no_claim", "vacuous"),
    row("b", "false", "unchecked", "false", "unchecked"),
    row("c", "verified", "verified", "verified", "verified"),
    row("d", "error", "error", "false"),
    {"id": "e", "verdict": "error", "steps": [], "error": {"stage": "s2", "reason": "not_elaborated"}},
]


def test_steps_with_a_label_are_compared_and_vacuous_is_an_error() -> None:
    judged = steps(ROWS, GOLD)
    assert judged[:3] == [
        Judged("a", "none", 1, "a1", "verified", "verified", "r1"),
        Judged("a", "none", 2, "a2", "verified", "no_claim", "r2"),
        Judged("a", "none", 3, "a3", "verified", "error", "r3"),
    ]
    assert [(item.id, item.step, item.label, item.outcome) for item in judged[3:]] == [
        ("b", 1, "verified", "unchecked"),
        ("b", 2, "false", "false"),
        ("c", 2, "error", "verified"),
        ("c", 3, "verified", "verified"),
        ("d", 1, "false", "error"),
        ("e", 1, "false", "unchecked"),
    ]


def test_label_of_an_answer_is_the_worst_of_its_steps() -> None:
    assert [(item.id, item.label, item.outcome, item.reason) for item in answers(ROWS, GOLD)] == [
        ("a", "verified", "error", "why"),
        ("b", "false", "false", "why"),
        ("c", "error", "verified", "why"),
        ("d", "false", "error", "why"),
        ("e", "false", "error", ""),
    ]
    assert Gold("", (None, "error", "false")).verdict == "false"
    assert Gold("", (None, None)).verdict == "verified"


def test_confusion_and_scores() -> None:
    table = confusion(steps(ROWS, GOLD))
    assert table == {
        "verified": {"verified": 2, "false": 0, "error": 1, "no_claim": 1, "unchecked": 1},
        "false": {"verified": 0, "false": 1, "error": 1, "no_claim": 0, "unchecked": 1},
        "error": {"verified": 1, "false": 0, "error": 0, "no_claim": 0, "unchecked": 0},
    }
    assert scores(table) == {
        "verified": {"precision": 2 / 3, "recall": 2 / 5, "f1": 4 / 8},
        "false": {"precision": 1.0, "recall": 1 / 3, "f1": 2 / 4},
        "error": {"precision": 0.0, "recall": 0.0, "f1": 0.0},
    }


def test_what_cannot_be_divided_is_no_rate() -> None:
    nothing = {"precision": None, "recall": None, "f1": None}
    judged = [Judged("a", "", 1, "t", "false", "error", "")]
    assert scores(confusion(judged)) == {
        "verified": nothing,
        "false": {"precision": None, "recall": 0.0, "f1": 0.0},
        "error": {"precision": 0.0, "recall": None, "f1": 0.0},
    }
    assert scores(confusion([])) == dict.fromkeys(("verified", "false", "error"), nothing)


def test_wrong_is_what_was_decided_otherwise() -> None:
    assert [(item.id, item.step) for item in wrong(steps(ROWS, GOLD))] == [("c", 2)]


def test_table_has_a_line_for_each_label_of_each_kind() -> None:
    table = shown("steps", summary(steps(ROWS, GOLD)))
    console = Console(file=io.StringIO(), width=80)
    console.print(table)
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == [  # type: ignore[attr-defined]
        "steps  gold     verified false error no_claim unchecked precision recall    F1",
        "all    verified        2     0     1        1         1     0.667  0.400 0.500",
        "       false           0     1     1        0         1     1.000  0.333 0.500",
        "       error           1     0     0        0         0     0.000  0.000 0.000",
        "none   verified        1     0     1        1         0     1.000  0.333 0.500",
        "number verified        0     0     0        0         1            0.000 0.000",
        "       false           0     1     1        0         1     1.000  0.333 0.500",
        "step   verified        1     0     0        0         0     0.500  1.000 0.667",
        "       error           1     0     0        0         0            0.000 0.000",
    ]
