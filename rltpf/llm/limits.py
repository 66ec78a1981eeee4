"""Rate limits of a server, in requests and in tokens a minute: two token buckets that every request draws from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from rltpf.llm.model import Request

LOOK_SECONDS = 1.0
"""How often the first in line looks whether replies have given tokens back."""
CHARACTERS_PER_TOKEN = 4
ROUNDING = 1e-6
"""What a level may lack, in requests or tokens, when the time that it needs has been waited for."""


def estimate(request: Request) -> int:
    """The tokens that a request may cost: its messages at four characters a token, and the longest reply."""
    characters = sum(len(message.content) for message in request.messages)
    return characters // CHARACTERS_PER_TOKEN + request.sampling.max_tokens


class Bucket:
    """A token bucket of a rate per minute, at times that the caller tells (seconds, never decreasing).

    It holds a second's worth, and one at least: after a pause no burst goes out that a server would refuse. What is
    asked for beyond that is taken from a full bucket and leaves a debt.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._rate = per_minute / 60
        self._capacity = self._level = max(1.0, self._rate)
        self._now = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` can be taken."""
        self._fill(now)
        missing = min(amount, self._capacity) - self._level
        return missing / self._rate if missing > ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take `amount`, or give back what was taken too much where it is negative."""
        self._fill(now)
        self._level = min(self._capacity, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._capacity, self._level + (now - self._now) * self._rate)
        self._now = now


class RateLimit:
    """Lets requests pass in their order, as fast as the limits allow; None is no limit."""

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._requests = None if requests_per_minute is None else Bucket(requests_per_minute, clock())
        self._tokens = None if tokens_per_minute is None else Bucket(tokens_per_minute, clock())
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()

    async def acquire(self, tokens: int) -> None:
        """Return when a request of so many tokens may be sent."""
        draws = [(bucket, n) for bucket, n in ((self._requests, 1), (self._tokens, tokens)) if bucket is not None]
        async with self._turn:
            while wait := max((bucket.wait(n, self._clock()) for bucket, n in draws), default=0.0):
                await self._sleep(min(wait, LOOK_SECONDS))
            for bucket, n in draws:
                bucket.take(n, self._clock())

    def correct(self, estimated: int, used: int) -> None:
        """Replace the tokens that `acquire` was told by those that the server counted."""
        if self._tokens is not None:
            self._tokens.take(used - estimated, self._clock())
