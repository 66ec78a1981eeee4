"""How alike two problems are in their letters. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher

from data_gen.questions import plain


def similarity(one: str, other: str) -> float:
    """From 0 to 1; case and spaces do not count. Without difflib's shortcut, which ignores the frequent letters."""
    return SequenceMatcher(None, plain(one), plain(other), autojunk=False).ratio()
