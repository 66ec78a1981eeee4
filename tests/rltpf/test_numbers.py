"""Numbers of prose, read exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.numbers import asserted_results, mentioned, numerals, operands, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", Fraction(18)),
        ("-3", Fraction(-3)),
        ("- 3", Fraction(-3)),
        ("1,234.5", Fraction(2469, 2)),
        (".5", Fraction(1, 2)),
        ("3/4", Fraction(3, 4)),
        (" 6 / 4 ", Fraction(3, 2)),
    ],
)
def test_parse_value(text: str, value: Fraction) -> None:
    """One number and nothing else is read as its exact value."""
    assert parse_value(text) == value


@pytest.mark.parametrize("text", ["", "x", "18 eggs", "1/0", "1,23", "2 + 3", "--3", "1e3", "$5", "3.", "1 2"])
def test_parse_value_refuses(text: str) -> None:
    """Whatever is more or less than one number is not a number."""
    assert parse_value(text) is None


@given(st.integers(0, 10**12), st.integers(0, 999))
def test_parse_value_reads_separators(whole: int, thousandths: int) -> None:
    assert parse_value(f"{whole:,}.{thousandths:03d}") == Fraction(whole * 1000 + thousandths, 1000)


def test_numerals_are_whole_tokens() -> None:
    """17 is not found in 170, in h17 or in 17.5."""
    assert numerals("h17 + 170 = 17.5") == {Fraction(170), Fraction(35, 2)}
    assert numerals("1,234 and 5,67") == {Fraction(1234)}


def test_numbers_of_thousands_of_digits_are_no_numbers() -> None:
    """Python raises on them, and a model may write them."""
    long = "7" * 5000
    assert parse_value(long) is None
    assert parse_value(f"1/{long}") is None
    assert numerals(f"{long} + 3") == {3}
    assert asserted_results(f"3 + 4 = {long}") == []


def test_mentioned_understands_words() -> None:
    assert {Fraction(3), Fraction(12), Fraction(2), Fraction(1, 2)} <= mentioned("Three dozen, of which half are red")
    assert {Fraction(25), Fraction(1, 4), Fraction(3, 4), Fraction(100)} <= mentioned("25% off")
    assert Fraction(9) not in mentioned("16 - 3 - 4")


@pytest.mark.parametrize(
    ("step", "results"),
    [
        ("He sold 48 / 2 = 24 clips.", [{24}]),
        ("48/2 = 24 and 48 + 24 = 72.", [{24}, {72}]),
        ("She has 3 * 4 = 2 * 6 = 12 apples.", [{12}]),
        ("That is $18 * 2 = $36.", [{36}]),
        ("The profit is 10 - 13 = -3 dollars.", [{-3}]),
        ("It costs 1,000 + 234 = 1,234.", [{1234}]),
        ("The share is 5 / 20 = 25%.", [{25, Fraction(1, 4)}]),
        ("He ate 3 / 4 = 3/4 of it.", [{Fraction(3, 4)}]),
        ("She eats 16 - 3 - 4 = 9 eggs - all of them.", [{9}]),
        ("There are 9 eggs left.", []),
    ],
)
def test_asserted_results(step: str, results: list[set[int]]) -> None:
    """Only the numbers that calculations come to, in order."""
    assert asserted_results(step) == results


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("He runs 9*60=540 meters", {9, 60}),
        ("$700/week + $450/week = $1150/week", {700, 450}),
        ("1,920 inches / 12 inches/foot = 160 feet", {1920, 12}),
        ("Half of 12, so (12 + 4) × 2 = 32", {12, 4, 2}),
        ("35% * 80 = 28", {35, 80}),
        ("2 * 7 / 2 = 14 / 2 = 7", {2, 7}),
        ("16 − 3 leaves 13", {16, 3}),
        ("9 eggs, 3 of them brown: 6 are left", set()),
        ("x1 + y2 = 3", set()),
    ],
)
def test_operands_are_what_is_calculated_with(text: str, numbers: set[int]) -> None:
    assert operands(text) == numbers
