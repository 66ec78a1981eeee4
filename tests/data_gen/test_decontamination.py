"""Which questions share their words with an evaluation set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_gen.decontamination import index, ngrams

TEST = "Janet’s ducks lay 16 eggs per day. She eats three for breakfast every morning."


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("One two  THREE\nfour", 3, ["one two three", "two three four"]),
        ("one two three", 3, ["one two three"]),
        ("It's $1.50, or 1½?", 2, ["it s", "s 1", "1 50", "50 or", "or 1½"]),
        # Fewer words are one run.
        ("one two", 3, ["one two"]),
        ("?!", 3, []),
        ("", 1, []),
    ],
)
def test_runs_of_words(text: str, size: int, expected: list[str]) -> None:
    assert ngrams(text, size) == expected


@pytest.mark.parametrize(
    ("question", "shared"),
    [
        (TEST, "janet s ducks lay 16"),
        # In the middle of another text, in other case and punctuation.
        ("Then: JANET'S ducks lay 16 hats", "janet s ducks lay 16"),
        ("Ann's ducks lay 16 eggs", "s ducks lay 16 eggs"),
        # The first of several.
        ("So three for breakfast every morning and Janet's ducks lay 16.", "three for breakfast every morning"),
        ("Ducks lay 16 eggs.", None),
        ("Janet's ducks lay 17 eggs per day", None),
        ("?", None),
        # A short question is compared as a whole.
        ("what is 2 plus 3", "what is 2 plus 3"),
        ("Two and three?", "two and three"),
        ("Two and three? And four and five?", None),
    ],
)
def test_what_is_contaminated_and_by_which_words(question: str, shared: str | None) -> None:
    mine = ["What is 2 + 3?", "What is 2 plus 3?", "Two, and three?", "..."]
    sets = index([("gsm8k", [TEST]), ("mine", mine)], 5)
    found = sets.contamination(question)
    assert (found and found.detail.split(" has: ")[1]) == shared
    assert found is None or (found.stage, found.reason) == ("s0", "contaminated")


def test_the_first_set_that_has_the_words_is_named() -> None:
    sets = index([("gsm8k", [TEST]), ("again", [TEST, "A question of its own, that is"])], 5)
    found = [sets.contamination(question) for question in (TEST, "A question of its own")]
    assert [f and f.detail for f in found] == ["gsm8k has: janet s ducks lay 16", "again has: a question of its own"]


def test_without_sets_nothing_is_contaminated() -> None:
    assert index([], 13).contamination(TEST) is None


TEXTS = st.lists(st.sampled_from("abc"), max_size=8).map(" ".join)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_texts_are_compared_both_ways_alike(one: str, other: str, size: int) -> None:
    found = index([("set", [one])], size).contamination(other)
    assert (found is None) == (index([("set", [other])], size).contamination(one) is None)
    if found is None:
        assert one != other or not one
