"""The language of claims, and the notations of Lean that would verify wrong prose."""

import pytest

from data_gen.terms import ForeignTerm, check_term, denominators, has_names, tokens

KNOWN = {"eggs", "price", "h'"}


@pytest.mark.parametrize("term", ["eggs", "-3", "(eggs - 3) * price ^ 2", "0.25 * eggs", "25 / 100 * eggs", "h' + 1"])
def test_arithmetic_passes(term: str) -> None:
    check_term(term, KNOWN)


@pytest.mark.parametrize(
    "term",
    [
        "Nat.sub 3 5",
        "max 3 eggs",
        "eggs price",
        "3 (eggs)",
        "(eggs) (price)",
        "2 ^ (1 / 2)",
        "2 ^ (3 - 5)",
        "2 ^ -1",
        "2 ^ eggs",
        "eggs % 2",
        "(7 / 2 : Nat)",
        "⌊eggs⌋",
        "√eggs",
        "eggs.num",
        "(3, 4)",
        "eggs ∣ 3",
    ],
)
def test_everything_else_is_foreign(term: str) -> None:
    with pytest.raises(ForeignTerm):
        check_term(term, KNOWN)


def test_tokens() -> None:
    assert tokens(" (eggs-3.5)*h' ") == ["(", "eggs", "-", "3.5", ")", "*", "h'"]


@pytest.mark.parametrize(
    ("term", "divisors"),
    [
        ("eggs / 2 + 48 / 2.5", []),
        ("5 / 0", ["0"]),
        ("5 / 0.0", ["0.0"]),
        ("eggs / price", ["price"]),
        ("eggs / (price - 2) / price ^ 2", ["( price - 2 )", "price ^ 2"]),
        ("1 / -price", ["- price"]),
        ("1 / (1 / price)", ["( 1 / price )", "price"]),
    ],
)
def test_denominators(term: str, divisors: list[str]) -> None:
    assert list(denominators(term)) == divisors


def test_has_names() -> None:
    assert has_names("3 * eggs")
    assert not has_names("7 / 2")
