"""What a model-written function may take and return, and how it goes through a pipe: JSON that means one value.

Numbers are exact where Python's are: integers, floats as they are, and fractions, which JSON has no sign for, as an
object of numerator and denominator, the only object there is. A decimal number is the fraction that it stands for.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

Value: TypeAlias = "bool | int | float | str | Fraction | list[Value] | None"

DEPTH = 20
# Python itself refuses to write and read integers of more than 4,300 digits.
INTEGER_BITS = 4300 * 3
VALUES = 100_000


def encode(value: object) -> Any:
    """A value as JSON has it; raises `ValueError` for what is none. Tuples become lists.

    Types are compared and not asked: a subclass of `int` may say that it equals everything.
    """
    return _Encoder().encode(value, DEPTH)


def decode(data: Any) -> Value:
    """The value that `encode` made JSON of; raises `ValueError` where there is none."""
    if type(data) is list:
        return [decode(item) for item in data]
    if type(data) is dict:
        if data.keys() != {"numerator", "denominator"} or {type(part) for part in data.values()} != {int}:
            raise ValueError("an object is no fraction")
        if data["denominator"] < 1:
            raise ValueError("a denominator is not positive")
        return Fraction(data["numerator"], data["denominator"])
    if type(data) is float and not math.isfinite(data):
        raise ValueError("a number is not finite")
    assert data is None or isinstance(data, bool | int | float | str)
    return data


class _Encoder:
    def __init__(self) -> None:
        self._left = VALUES

    def encode(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"there are more than {VALUES:,} values")
        if depth < 0:
            raise ValueError(f"lists are nested deeper than {DEPTH}")
        kind = type(value)
        if isinstance(value, list | tuple) and kind in (list, tuple):
            return [self.encode(item, depth - 1) for item in value]
        if isinstance(value, Decimal) and kind is Decimal:
            return self.encode(_fraction(value), depth)
        if isinstance(value, Fraction) and kind is Fraction:
            return {"numerator": _integer(value.numerator), "denominator": _integer(value.denominator)}
        if isinstance(value, int) and kind is int:
            return _integer(value)
        if isinstance(value, float) and kind is float:
            if not math.isfinite(value):
                raise ValueError(f"the number {value} is not finite")
            return value
        if isinstance(value, str) and kind is str:
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError("a string holds half a character")
            return value
        if value is None or kind is bool:
            return value
        raise ValueError(f"a {kind.__name__} is neither number, string, boolean, None nor a list of them"[:200])


def _integer(value: int) -> int:
    # A fraction's parts may be anything that divides: they are asked for their types too.
    if type(value) is not int:
        raise ValueError("a part of a fraction is no integer")
    if value.bit_length() > INTEGER_BITS:
        raise ValueError("an integer has more than some 3,900 digits")
    return value


def _fraction(value: Decimal) -> Fraction:
    if not value.is_finite():
        raise ValueError(f"the number {value} is not finite")
    if abs(value.adjusted()) > INTEGER_BITS:  # before a power of ten fills the memory
        raise ValueError("a decimal number is too large or too small")
    return Fraction(value)
