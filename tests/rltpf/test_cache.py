"""The folder of downloads."""

from pathlib import Path

import pytest

from rltpf.cache import cache_folder


def test_the_cache_folder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.delenv("RLTPF_CACHE", raising=False)
    assert cache_folder() == Path("/xdg/rltpf")
    monkeypatch.setenv("RLTPF_CACHE", "/mine")
    assert cache_folder() == Path("/mine")
