"""Confidence intervals."""

from __future__ import annotations

import math


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a share; unlike share +- z * stderr it is not empty at 0 and at n."""
    share = right / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)
