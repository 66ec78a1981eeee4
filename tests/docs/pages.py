"""The pages of the documentation as what a test needs of them: fenced blocks, shell commands, links, headings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(path for path in (ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "gold/README.md") if path.exists()),
    *sorted((ROOT / "docs").glob("*.md")),
]

_FENCE = re.compile(r"^```(\S*)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of the line that opens it, and its text."""

    page: Path
    language: str
    title: str
    text: str


def blocks(page: Path, language: str | None = None) -> list[Block]:
    found = [Block(page, *match.groups("")) for match in _FENCE.finditer(page.read_text(encoding="utf-8"))]
    return [block for block in found if language in (None, block.language)]


def commands(page: Path) -> Iterator[str]:
    """The commands of a page's shell blocks, in their order, each on one line and without comments."""
    for block in blocks(page):
        if block.language in ("sh", "bash"):
            for line in block.text.replace("\\\n", " ").splitlines():
                for part in re.split(r"\s&&\s", line):
                    if words := shlex.split(part, comments=True):
                        yield shlex.join(words)


def links(page: Path) -> list[str]:
    """The targets of a page's links that are no addresses of the web; blocks of code hold none."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [target for target in _LINK.findall(text) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """What a link may name after `#`, by GitHub's rule."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}
