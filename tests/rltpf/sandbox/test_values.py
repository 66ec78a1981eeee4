"""What goes in and out of functions: exactly the values, and nothing that only looks like one."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.sandbox.values import Value, decode, encode

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.fractions()
)


@given(st.recursive(scalars, lambda inner: st.lists(inner, max_size=4), max_leaves=20))
def test_a_value_comes_back_the_same_through_json(value: Value) -> None:
    found = decode(json.loads(json.dumps(encode(value))))
    assert (found, repr(found)) == (value, repr(value))  # 1, 1.0 and True are equal and not the same


def test_tuples_are_lists_and_decimals_fractions() -> None:
    assert decode(encode((1, (Decimal("0.10"), "a")))) == [1, [Fraction(1, 10), "a"]]


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Text(str):
    pass


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        (Liar(1), "a Liar is neither"),
        ([Liar(1)], "a Liar is neither"),
        (Fraction(Liar(1), 3) * 1, None),  # arithmetic makes plain integers
        (Text("a"), "a Text is neither"),
        ({"a": 1}, "a dict is neither"),
        ({1}, "a set is neither"),
        (1j, "a complex is neither"),
        (b"a", "a bytes is neither"),
        (math.nan, "not finite"),
        (-math.inf, "not finite"),
        (Decimal("NaN"), "not finite"),
        (Decimal("1e999999"), "too large or too small"),
        (10**4000, "digits"),
        (Fraction(1, 10**4000), "digits"),
        ("\ud800", "half a character"),
        ([0] * 100_001, "more than 100,000 values"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_value(value: object, fact: str | None) -> None:
    if fact is None:
        encode(value)
        return
    with pytest.raises(ValueError, match=fact):
        encode(value)


def test_lists_nest_twenty_deep() -> None:
    value: Any = 1
    for _ in range(20):
        value = [value]
    assert decode(encode(value)) == value
    with pytest.raises(ValueError, match="deeper than 20"):
        encode([value])
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="deeper than 20"):
        encode(cycle)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"numerator": 1},
        {"numerator": 1, "denominator": 0},
        {"numerator": 1, "denominator": -2},
        {"numerator": 1.0, "denominator": 2},
        {"numerator": True, "denominator": 2},
        {"numerator": 1, "denominator": 2, "more": 3},
        [{"numerator": "1", "denominator": 2}],
        math.inf,
    ],
    ids=str,
)
def test_what_encode_never_wrote_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(data)
