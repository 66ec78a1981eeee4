from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.llm.limits import Bucket, RateLimit, estimate
from rltpf.llm.model import Message, Request, Sampling


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def passing(requests: float | None, tokens: float | None, *costs: int) -> list[float]:
    """When requests of these costs, all there at the same time, may be sent."""
    clock = Clock()
    limit = RateLimit(requests, tokens, clock, clock.sleep)
    times = []

    async def one(cost: int) -> None:
        await limit.acquire(cost)
        times.append(clock.now)

    async def main() -> None:
        await asyncio.gather(*map(one, costs))

    asyncio.run(main())
    return times


def test_a_request_is_estimated_by_its_characters_and_its_longest_reply() -> None:
    messages = (Message("system", "x" * 10), Message("user", "y" * 13))
    assert estimate(Request("judge", messages, Sampling(max_tokens=100))) == 105


def test_without_limits_nobody_waits() -> None:
    assert passing(None, None, 10**9, 10**9) == [0.0, 0.0]


def test_requests_a_minute() -> None:
    assert passing(3, None, 1, 1, 1, 1) == pytest.approx([0, 20, 40, 60])
    # A fast server takes a second's worth at once.
    assert passing(120, None, *[1] * 5) == pytest.approx([0, 0, 0.5, 1, 1.5])


def test_tokens_a_minute() -> None:
    # 10 a second and room for 10: 25 leave a debt of 15, so the next 5 may go when 20 more have come.
    assert passing(None, 600, 25, 5, 5, 10) == pytest.approx([0, 2, 2.5, 3.5])


def test_the_stricter_limit_decides() -> None:
    assert passing(60, 600, 5, 5, 25, 5) == pytest.approx([0, 1, 2, 4])


def test_what_was_estimated_too_high_is_given_back_to_who_waits() -> None:
    clock = Clock()
    limit = RateLimit(None, 600, clock, clock.sleep)

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if clock.now == 3.0:
            limit.correct(1000, 30)

    async def main() -> None:
        limit._sleep = sleep
        await limit.acquire(1000)  # a debt of 990, which is 99 s
        await limit.acquire(10)

    asyncio.run(main())
    # The debt was 20 in truth: two seconds, and a third for the next 10.
    assert clock.now == pytest.approx(3.0)


def test_what_was_estimated_too_low_is_taken_later() -> None:
    clock = Clock()
    limit = RateLimit(None, 600, clock, clock.sleep)

    async def main() -> None:
        await limit.acquire(10)
        limit.correct(10, 40)
        await limit.acquire(10)

    asyncio.run(main())
    assert clock.now == pytest.approx(4.0)


def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    async def main() -> float:
        clock = Clock()
        limit = RateLimit(1, None, clock, lambda seconds: asyncio.sleep(60))
        await limit.acquire(1)
        waiting = asyncio.create_task(limit.acquire(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        limit._sleep = clock.sleep
        await limit.acquire(1)
        return clock.now

    assert asyncio.run(main()) == pytest.approx(60.0)


@given(st.floats(1, 1e6), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1e5)), min_size=2, max_size=30))
def test_no_stretch_of_time_sees_more_than_the_rate_and_one_request(
    per_minute: float, arrivals: list[tuple[float, float]]
) -> None:
    bucket = Bucket(per_minute, 0.0)
    now = 0.0
    sent: list[tuple[float, float]] = []
    for pause, amount in arrivals:
        now += pause
        now += bucket.wait(amount, now)
        bucket.take(amount, now)
        sent.append((now, amount))
    capacity = max(1.0, per_minute / 60)
    for first in range(len(sent)):
        for last in range(first, len(sent)):
            taken = sum(amount for _, amount in sent[first:last])
            seconds = sent[last][0] - sent[first][0]
            # What was taken before the last one is covered by what there was and what has come since.
            assert taken <= capacity + seconds * per_minute / 60 + 1e-6 * (taken + 1)
    assert all(earlier[0] <= later[0] for earlier, later in pairwise(sent))
