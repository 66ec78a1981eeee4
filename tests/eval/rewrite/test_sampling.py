"""Rejection sampling: what is drawn hangs on seed and verdicts alone."""

import random

from hypothesis import given
from hypothesis import strategies as st

from eval.rewrite.sampling import Fate, drawn, share, strata
from rltpf.records import Problem, content_id
from rltpf.shards import WHOLE, Shard


def problems(count: int) -> list[Problem]:
    return [
        Problem(content_id(number), f"Question {number}?", str(number), {"level": number % 2 + 1})
        for number in range(count)
    ]


def test_strata_are_in_an_order_of_the_seed_whatever_that_of_the_data() -> None:
    made = problems(20)
    found = strata(made, "level", 7)
    assert {level: len(members) for level, members in found.items()} == {"1": 10, "2": 10}
    assert strata(random.Random(1).sample(made, 20), "level", 7) == found
    assert strata(made, "level", 8) != found
    assert list(strata(made, None, 7)) == [""]


def test_shards_share_a_target() -> None:
    assert [share(200, Shard(number, 3)) for number in range(3)] == [67, 67, 66]
    assert share(200, WHOLE) == 200
    assert share(None, Shard(0, 3)) is None


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 10), st.integers(1, 5), st.randoms())
def test_as_many_are_drawn_as_the_target_needs_in_any_order_of_work(
    keeps: list[bool], target: int, at_once: int, dice: random.Random
) -> None:
    order = problems(len(keeps))
    verdicts = {problem.id: keep for problem, keep in zip(order, keeps, strict=True)}
    done: dict[str, Fate] = {}

    def fate(problem: Problem) -> Fate | None:
        return done.get(problem.id)

    while todo := [problem for problem in drawn(order, fate, target) if fate(problem) is None]:
        for problem in dice.sample(todo, min(at_once, len(todo))):
            done[problem.id] = "kept" if verdicts[problem.id] else "lost"
    kept = [place for place, keep in enumerate(keeps) if keep]
    last = kept[target - 1] + 1 if len(kept) >= target else len(keeps)
    assert [problem.id for problem in drawn(order, fate, target)] == [problem.id for problem in order[:last]]
    assert done.keys() == {problem.id for problem in order[:last]}


def test_what_infrastructure_left_open_is_neither_drawn_again_nor_replaced() -> None:
    order = problems(4)
    assert drawn(order, lambda _: "open", 2) == order[:2]
    assert drawn(order, lambda _: "lost", 2) == order
    assert drawn(order, lambda _: "kept", None) == order
