"""Replies that have to be JSON."""

import pytest

from rltpf.llm.structured import read_json


def test_half_a_character_is_no_json_that_a_file_could_take() -> None:
    assert read_json('{"a": "\\ud83d\\ude00"}') == {"a": "😀"}
    with pytest.raises(ValueError, match="surrogates not allowed"):
        read_json('{"a": "half \\ud83d"}')
