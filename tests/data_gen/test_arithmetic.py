"""Calculations in prose: wrong ones are found, and what is not surely understood is left alone."""

import pytest

from data_gen.arithmetic import wrong_calculations


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("She sells 16 - 3 - 4 = 10 eggs.", "16 - 3 - 4 = 10"),
        ("That is $18 x 2 = $37.", "$18 x 2 = $37"),
        ("So (2 + 3) * 4 = 21 in all.", "(2 + 3) * 4 = 21"),
        ("He has 7 / 2 = 3 left.", "7 / 2 = 3"),
        ("Both make 2 * 7 / 2 = 14 / 2 = 9.", "2 * 7 / 2 = 14 / 2 = 9"),
        ("It costs 1,000 + 234 = 1,235.", "1,000 + 234 = 1,235"),
        ("There are 8 – 3 = 4 of them.", "8 – 3 = 4"),
        ("They are 10 ÷ 4 = 2.4 m.", "10 ÷ 4 = 2.4"),
        ("He is 3 − 16 = −10 short.", "3 − 16 = −10"),
        ("Each has 16 ⁄ 3 = 4 of them.", "16 ⁄ 3 = 4"),
    ],
)
def test_wrong(text: str, wrong: str) -> None:
    assert wrong_calculations(text) == [wrong]


@pytest.mark.parametrize(
    "text",
    [
        "She sells 16 - 3 - 4 = 9 eggs.",
        "That is $1.50 * 4 = $6.",
        "It is 3 * 4 = 2 * 6 = 12.",
        "Each gets 10 / 3 = 3.33 dollars.",
        "Each gets about 10 / 4 = 3 dollars.",
        "Half of 10 + 4 = 9 is theirs.",
        "25% of 80 = 20.",
        "He eats 1 1/2 = 3/2 pies.",
        "8 x 1 1/2 = 12 rolls.",
        "17 / 5 = 3 remainder 2.",
        "7:30 + 15 = 7:45.",
        "Week 1 + Week 2 = 35 + 35 = 70 hours.",
        "We get 114 - 4 = 3x.",
        "The gap is $2.50 - $2.24 = 26 cents.",
        "The side is √(144) = 12.",
        "5 apples + 3 = 9 fruit.",
        "5 / 0 = 0.",
        "It is 60 / 3/4 = 80.",
        "2 ^ 3 + 1 = 9.",
    ],
)
def test_right_or_left_alone(text: str) -> None:
    assert wrong_calculations(text) == []
