"""The index of journals: a dictionary that memory does not hold."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltpf.places import Place, Places

NUMBERS = st.integers(0, 2**62)


@given(st.lists(st.tuples(st.text(max_size=3), st.tuples(NUMBERS, NUMBERS, NUMBERS)), max_size=30))
def test_it_is_a_dictionary(puts: list[tuple[str, Place]]) -> None:
    places, expected = Places(), dict(puts)
    for key, place in puts:
        places.put(key, place)
    assert {key: places.get(key) for key in expected} == expected
    assert (len(places), "never there" in places, places.get("never there")) == (len(expected), False, None)


def test_keys_may_hold_what_utf8_has_not() -> None:
    places = Places()
    places.put("\ud800", (0, 1, 2))
    assert places.get("\ud800") == (0, 1, 2)
    assert "\ud801" not in places


def test_a_full_temporary_folder_is_named_with_the_way_out() -> None:
    places = Places()
    places._database.execute("PRAGMA max_page_count = 3")

    def fill() -> None:
        for number in range(10_000):
            places.put(f"{number:016}", (0, number, 1))

    with pytest.raises(OSError, match="name another in TMPDIR") as raised:
        fill()
    assert raised.value.errno == errno.ENOSPC
