"""Stepwise answers are read whole or not at all."""

import pytest

from data_gen.answers import Chain, parse_chain


def test_parse_chain() -> None:
    answer = "Step 1: He has 2 + 3 = 5.\nThat is all.\n\nStep 2: So 5.\nThe answer is 5.\n"
    assert parse_chain(answer) == Chain(("He has 2 + 3 = 5. That is all.", "So 5."), "5")
    assert parse_chain("Step 1: Half.\nThe answer is 2.5.") == Chain(("Half.",), "2.5")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "The answer is 5.",
        "Step 1: He has 5.",
        "Let us see.\nStep 1: He has 5.\nThe answer is 5.",
        "Step 1: He has 5.\nThe answer is 5.\nOr is it?",
        "Step 1: He has 5.\nThe answer is 4.\nThe answer is 5.",
    ],
)
def test_refuses(answer: str) -> None:
    """Text outside steps and the one final line would escape the judge."""
    assert parse_chain(answer) is None
