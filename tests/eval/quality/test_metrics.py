"""Table 1's numbers, by hand."""

from typing import Any

import pytest

from eval.quality import pages
from eval.quality.judging import Judgement
from eval.quality.metrics import failures, lacking, quality, row
from eval.quality.runs import key
from eval.rewrite.records import Candidate, Rewrite
from rltpf.records import Failure


def candidate(number: int, level: str, made: str | None, lean: str = "", source: str = "math") -> Candidate:
    """One with a rewrite of this text, answer 1; None for none."""
    if made is None:
        error = Failure("rewrite", "invalid_program")
        return Candidate(f"p{number}", f"old {number}", "1", source, level, (Rewrite("", error=error),), error)
    return Candidate(f"p{number}", f"old {number}", "1", source, level, (Rewrite(made, answer="1", lean=lean),))


def judgement(made: str, *criteria: bool) -> Judgement:
    return Judgement(key(Rewrite(made, answer="1")), *criteria)


# RePro makes two of three; VarBench makes p1, p2 and p4, of which one is not well-defined and one has a wrong answer.
RUNS = {
    "repro": [candidate(1, "1", "a", "proof"), candidate(2, "2", "b", "proof"), candidate(4, "2", None)],
    "varbench": [candidate(1, "1", "c"), candidate(2, "2", "d"), candidate(4, "2", "e")],
}
JUDGED = {
    found.id: found
    for found in (
        judgement("a", True, True, True),
        judgement("b", True, True, True),
        judgement("c", True, True, False),
        judgement("d", False, False, False),
        judgement("e", True, True, True),
    )
}


def counts(*numbers: int) -> dict[str, int]:
    names = ("sampled", "generated", "proved", "judged", "well_defined", "feasible", "correct")
    return {"unreadable": 0, **dict(zip(names, numbers, strict=True))}


def test_the_counts_of_both_sets_by_level() -> None:
    assert quality(RUNS, JUDGED) == {
        "full": {
            "repro": {
                "all": counts(3, 2, 2, 2, 2, 2, 2),
                "1": counts(1, 1, 1, 1, 1, 1, 1),
                "2": counts(2, 1, 1, 1, 1, 1, 1),
            },
            "varbench": {
                "all": counts(3, 3, 0, 3, 2, 2, 1),
                "1": counts(1, 1, 0, 1, 1, 1, 0),
                "2": counts(2, 2, 0, 2, 1, 1, 1),
            },
        },
        "subset": {
            "repro": {
                "all": counts(2, 2, 2, 2, 2, 2, 2),
                "1": counts(1, 1, 1, 1, 1, 1, 1),
                "2": counts(1, 1, 1, 1, 1, 1, 1),
            },
            "varbench": {
                "all": counts(2, 2, 0, 2, 1, 1, 0),
                "1": counts(1, 1, 0, 1, 1, 1, 0),
                "2": counts(1, 1, 0, 1, 0, 0, 0),
            },
        },
    }
    assert failures(RUNS) == {"repro": {"rewrite:invalid_program": 1}, "varbench": {}}


def test_what_is_not_judged_is_in_no_share() -> None:
    assert quality({"a": RUNS["varbench"]}, {})["full"]["a"]["all"] == counts(3, 3, 0, 0, 0, 0, 0)
    assert row(counts(4, 3, 0, 0, 0, 0, 0)) == [4, 3, 0, 0, None, None, None, 0.0, 75.0]
    assert row(counts(4, 0, 0, 0, 0, 0, 0)) == [4, 0, 0, 0, None, None, None, None, 0.0]
    assert row(counts(8, 4, 4, 4, 3, 2, 1)) == [8, 4, 4, 0, 75.0, 50.0, 25.0, 100.0, 50.0]


def test_an_unreadable_reply_is_counted_and_is_in_no_share() -> None:
    name = judgement("d", False, False, False).id
    judged = JUDGED | {name: Judgement(name, False, False, False, unreadable=True)}
    found = quality({"a": RUNS["varbench"]}, judged)["full"]["a"]["all"]
    assert found == counts(3, 3, 0, 2, 2, 2, 1) | {"unreadable": 1}
    assert row(found) == [3, 3, 2, 1, 100.0, 100.0, 50.0, 0.0, 100.0]


def test_a_run_that_was_not_tried_on_the_same_problems_is_found() -> None:
    assert lacking(RUNS) == {}
    assert lacking({"repro": RUNS["repro"], "itd": RUNS["varbench"][1:]}) == {"itd": 1}


def test_the_page_has_both_sets_and_the_ends() -> None:
    page = pages.quality(quality(RUNS, JUDGED), failures(RUNS))
    assert "| varbench | all | 3 | 3 | 3 | 0 | 66.67 | 66.67 | 33.33 | 0.00 | 100.00 |" in page
    assert "## Problems that repro rewrote" in page
    assert "| varbench | all | 2 | 2 | 2 | 0 | 50.00 | 50.00 | 0.00 | 0.00 | 100.00 |" in page
    assert "| repro | `rewrite:invalid_program` | 1 |" in page


@pytest.mark.parametrize("passes", [[], [0.25, 0.5]])
def test_the_page_of_rates(passes: list[float]) -> None:
    level: dict[str, Any] = {"level": "", "sampled": 8, "retained": 4, "generation_rate": 0.5, "pass": passes}
    page = pages.rates({"one": {"levels": [level]}, "two": {"levels": [{**level, "pass": []}]}}, [])
    assert f"| one | all | 8 | 4 | 50.00 |{' 25.00 | 50.00 |' if passes else ''}\n" in page
    assert f"| two | all | 8 | 4 | 50.00 |{' - | - |' if passes else ''}\n" in page
    assert ("passes.png" in page) == bool(passes)
