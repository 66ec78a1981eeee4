"""Each message that the page on troubleshooting quotes is still one of the code's."""

from __future__ import annotations

import ast
import re

import pages
import pytest

PAGE = pages.ROOT / "docs/troubleshooting.md"
# A quotation with backquotes in it ends at the blank and the bar after it.
QUOTED = re.findall(r"^\| `(.+?)` \| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def texts() -> set[str]:
    """The string literals of the sources, NUL where something is put in."""
    found = set()
    for folder in ("rltpf", "data_gen", "eval"):
        for path in (pages.ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    found.add("".join(str(v.value) if isinstance(v, ast.Constant) else "\0" for v in node.values))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
    return found


def holds(source: str, message: str) -> bool:
    """Whether the fixed parts of a message stand in a text in their order, each `...` at something that is put in."""
    parts = [re.escape(part) for part in message.strip(".").split("...")]
    return re.search(r"[^`]*?\0[^`]*?".join(parts), source) is not None


TEXTS = texts()


def test_there_are_messages() -> None:
    assert len(QUOTED) > 40


@pytest.mark.parametrize("message", QUOTED)
def test_the_source_says_so(message: str) -> None:
    assert any(holds(text, message) for text in TEXTS)


def test_what_nobody_says_is_missed() -> None:
    assert not any(holds(text, "unknown keys (...)") for text in TEXTS)
    assert not any(holds(text, "... has no modell ... (...): check llm.model and llm.base_url") for text in TEXTS)
