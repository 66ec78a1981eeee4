import math

import pytest

from rltpf.intervals import wilson


def test_wilson() -> None:
    # z = 2 makes the values easy: n = 4, share 1/2: centre 1/2, half (2/2) * sqrt(1/16 + 1/16) = sqrt(1/8)
    assert wilson(2, 4, z=2) == pytest.approx((0.5 - math.sqrt(1 / 8), 0.5 + math.sqrt(1 / 8)))
    # share 0: centre (4/8)/2 = 1/4, half (2/2) * sqrt(4/64) = 1/4
    assert wilson(0, 4, z=2) == pytest.approx((0.0, 0.5))
    assert wilson(4, 4, z=2) == pytest.approx((0.5, 1.0))
