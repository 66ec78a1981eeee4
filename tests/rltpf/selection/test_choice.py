"""Rules of selection on candidates whose verdicts are given, and the metrics over them, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rltpf.selection.choice import RULES, Judged, Proof, Verdict
from rltpf.selection.metrics import Scored, summarise
from rltpf.selection.selector import Selection


def judged(*items: tuple[str, Verdict, Proof]) -> tuple[Judged, ...]:
    return tuple(Judged(candidate, "edited", "theorem t", verdict, proof) for candidate, verdict, proof in items)


CASES = {
    "one is proved": judged(("3", "elaborates", "refuted"), ("4", "rejected", ""), ("5", "elaborates", "proved")),
    "one is left open": judged(("3", "elaborates", "refuted"), ("4", "rejected", ""), ("5", "elaborates", "open")),
    "all that elaborate are refuted": judged(("3", "elaborates", "refuted"), ("4", "rejected", "")),
    "nothing elaborates": judged(("3", "rejected", ""), ("4", "none", "")),
    "all are refuted": judged(("3", "elaborates", "refuted"), ("4", "elaborates", "refuted")),
    "none": (),
}


@pytest.mark.parametrize(
    ("case", "first", "proof", "majority"),
    [
        ("one is proved", 0, 2, 2),
        ("one is left open", 0, 2, 2),
        ("all that elaborate are refuted", 0, 1, 1),
        ("nothing elaborates", 0, 0, 0),
        ("all are refuted", 0, 0, 0),
        ("none", None, None, None),
    ],
)
def test_rules(case: str, first: int | None, proof: int | None, majority: int | None) -> None:
    assert [RULES[name](CASES[case]) for name in ("first", "proof", "majority")] == [first, proof, majority]


def test_first_passes_over_what_does_not_elaborate() -> None:
    assert RULES["first"](judged(("3", "rejected", ""), ("4", "elaborates", "refuted"))) == 1


def test_majority_is_by_value_and_of_equals_the_first() -> None:
    items = judged(("3", "elaborates", "open"), ("1/2", "elaborates", "open"), ("0.5", "elaborates", "open"))
    assert RULES["majority"](items) == 1
    assert RULES["majority, no Lean"](items) == 1
    assert RULES["majority"](items[:2]) == 0


def test_answers_that_were_given_more_than_once_have_as_many_votes() -> None:
    two, three = (
        Judged("2", "edited", "t", "elaborates", "open"),
        Judged("3", "edited", "t", "elaborates", "open", votes=3),
    )
    assert [RULES[name]((two, three)) for name in ("first", "majority", "majority, no Lean")] == [0, 1, 1]


def test_what_is_proved_of_another_problem_has_no_vote() -> None:
    other = Judged("3", "edited", "t", "elaborates", "proved", consistent=False, votes=3)
    open_, proved = Judged("4", "edited", "t", "elaborates", "open"), Judged("5", "edited", "t", "elaborates", "proved")
    assert RULES["majority"]((other, open_, proved)) == 2
    assert RULES["majority"]((other, open_)) == 1
    assert RULES["majority"]((other,)) == 0


def test_a_refuted_candidate_is_selected_where_all_are() -> None:
    """What is left out of both upper levels, by the checker or by Lean, still goes before what is refuted."""
    refuted = Judged("3", "edited", "t", "elaborates", "refuted", votes=5)
    others = (
        Judged("4", "none"),
        Judged("4", "edited", "t", "rejected"),
        Judged("4", "edited", "t", "elaborates", "proved", consistent=False),
    )
    for other in others:
        assert [RULES[name]((refuted, other)) for name in ("proof", "majority")] == [1, 1]


def test_unique_selects_where_one_elaborates() -> None:
    one, none = Judged("3", "edited", "t", "elaborates"), Judged("4", "edited", "t", "rejected")
    assert [RULES["unique"](items) for items in ((none, one), (one, one), (none, none), ())] == [1, None, None, None]


def test_metrics() -> None:
    def scored(case: str, gold: str, base: int | None, formaliser: int) -> Scored:
        selection = Selection(case, CASES[case], base, (), {"formaliser": formaliser}, 2.0)
        return Scored(selection, gold)

    found = summarise(
        [
            scored("one is proved", "5", 0, 1),
            scored("one is left open", "3", 0, 1),
            scored("nothing elaborates", "4", None, 2),
            scored("all are refuted", "9", 1, 2),
        ],
        {"string": lambda candidate, gold: candidate == gold},
    )
    table = found["equality"]["string"]
    assert (found["problems"], found["no_base"], found["pass_at_k"]) == (4, 1, 3)
    assert found["base_rank"] == {"1": 2, "2": 1}
    assert found["passing"] == {"0": 1, "2": 3}
    # 3 + 3 + 2 + 2 candidates, and two that elaborate in three of the problems.
    assert (found["candidates"], found["elaborating"]) == (10, 6)
    assert found["calls_per_problem"] == {"formaliser": 1.5}
    assert found["lean_seconds_per_problem"] == 2.0
    assert (table["gold_at_k"], table["gold_elaborates"]) == (3, 2)
    # first selects 3, 3, 3, 3; proof 5, 5, 3, 3.
    # 1 of 4 with z = 1.96: centre (1/4 + z^2/8) / (1 + z^2/4), half z / (1 + z^2/4) * sqrt(3/64 + z^2/64).
    one_of_four = {
        "right": 1,
        "accuracy": 0.25,
        "given_gold": 1 / 3,
        "interval_95": pytest.approx([0.0456, 0.6994], abs=1e-4),
    }
    assert table["rules"]["first"] == one_of_four
    assert table["rules"]["proof"] == one_of_four
    # 5 of 3 and 5, 3 of 3 and 5; where nothing elaborates rank 1, which is wrong.
    assert table["at_random"] == 1.0
    assert table["rules"]["rank 1, no Lean"]["right"] == 1
    assert table["proofs"] == {"right": {"proved": 1, "refuted": 1}, "wrong": {"open": 1, "refuted": 3}}
    for rule in table["rules"].values():
        assert Fraction(rule["right"], 4) == Fraction(table["gold_at_k"], 4) * Fraction(
            rule["right"], table["gold_at_k"]
        )
