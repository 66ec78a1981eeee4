"""Lean source as text: what is code, what is a comment or a string, and the code block of a model's reply.

Lean's lexer depends on its token table, so text alone cannot always tell where a comment or string begins: `x <--y` is
`x <- -y`, and `a \\/-b -/` holds no comment. `scan` therefore knows only the unambiguous forms and reports all others
as problems; Lean divides a text without problems as `scan` does, up to its first syntax error, where the judge stops.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Lean's identifier letters outside ASCII are most of Greek (not λ, Π, Σ), letter-like symbols and subscripts. Knowing
# fewer of them than Lean only splits words further, which is the safe side: `ℝsorry` then holds the word `sorry`.
_GREEK = "α-κμ-ωΑ-ΟΡΤ-Ω"
_SUBSCRIPTS = "₀-₉ₐ-ₜᵢ-ᵪⱼ"
_IDENTIFIER = f"[A-Za-z_{_GREEK}][A-Za-z0-9_'!?{_GREEK}{_SUBSCRIPTS}]*"
_WORD = re.compile(f"[A-Za-z_][A-Za-z0-9_'!?{_SUBSCRIPTS}]*")
_NUMERAL = r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?"
_LITERAL = re.compile(rf"{_IDENTIFIER}|(?P<number>{_NUMERAL})(?P<tail>[A-Za-z_']?)")

_OPENER = re.compile(r'--|/-[-!]?|"')
_BLOCK_EDGE = re.compile(r"/-|-/")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_STRING_PREFIX = re.compile(r"[\s(\[{⟨,](?:s!|(?P<raw>r#*))?$")
_ESCAPE = r"""\\(?:[\\"'rnt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"""
_CHARACTER = rf"'(?:[^\\'\n]|{_ESCAPE})'"
# A `'` is surely part of an identifier or of a character literal; or else it is part of a symbol: `''` or `∑'`.
_CLEAR_QUOTES = re.compile(rf"{_IDENTIFIER}|(?:^|(?<=[\s(\[{{⟨,])){_CHARACTER}")
_QUOTES = re.compile(rf"{_CLEAR_QUOTES.pattern}|''|(?<=[^\s(\[{{⟨,])'")
# No token begins with one of these and goes on with the signs of a comment.
_BEFORE_COMMENT = re.compile(r"(?:[\w\s()\[\]{}⟨⟩·,;:]|:=|=>|;>)$")
# Nothing in it that may begin a comment or a string, so that Lean's string ends where the scan's does.
_HOLE = re.compile(r"\{[\w. +*]*\}")

_FENCE = re.compile(r"[ \t]*(`{3,})[ \t]*([^`\s]*)[^`]*")


class LeanBlockError(ValueError):
    """A reply without a closed Lean block."""


@dataclass(frozen=True)
class Scan:
    """A source split up. `code` has its length and newlines, with comments and strings as spaces.

    `strings` are the contents of the string literals and `docs` those of the documentation comments. `problems` says in
    words what Lean may read otherwise than this scan; with any of them, `code` must not be relied upon.
    """

    code: str
    strings: tuple[str, ...]
    docs: tuple[str, ...]
    problems: tuple[str, ...]


def scan(source: str) -> Scan:
    """Splits Lean source into code, strings and comments; block comments nest."""
    parts: list[str] = []
    strings: list[str] = []
    docs: list[str] = []
    problems: list[str] = []
    position = 0
    while opener := _OPENER.search(source, position):
        start, kind = opener.start(), opener.group()
        before = source[position:start]
        parts.append(before)
        # The quote may begin a character literal, such as `'"'`, or end a symbol; the prefixes `r#` and `s!` count.
        if "'" in _CLEAR_QUOTES.sub("", before[-80:]).rstrip("#")[-5:]:
            problems.append("a string or comment so close after `'` is ambiguous")
        if kind == '"':
            position, content = _string(source, start, problems)
            strings.append(content)
            parts.append(f'"{_holes(content)}{source[start + 1 + len(content) : position]}')
            continue
        if start and not _BEFORE_COMMENT.search(source[max(0, start - 2) : start]) and not before.endswith("'"):
            problems.append(f"a comment right after `{source[start - 1]}` is ambiguous")
        if kind == "--":
            newline = source.find("\n", start)
            position = newline if newline >= 0 else len(source)
        else:
            position, content = _block(source, opener.end(), problems)
            if kind != "/-":
                docs.append(content)
        parts.append(_spaces(source[start:position]))
    parts.append(source[position:])
    code = "".join(parts)
    if "'" in _QUOTES.sub("", code):
        problems.append("a `'` that closes nothing is ambiguous")
    problems += [f"the number `{m['number']}` runs into a word" for m in _LITERAL.finditer(code) if m["tail"]]
    return Scan(code, tuple(strings), tuple(docs), tuple(dict.fromkeys(problems)))


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _holes(content: str) -> str:
    """The contents of a string as spaces, but for what is in braces: an interpolated string has code there."""
    kept, position = "", 0
    for hole in _HOLE.finditer(content):
        kept += _spaces(content[position : hole.start()]) + hole.group()
        position = hole.end()
    return kept + _spaces(content[position:])


def _string(source: str, start: int, problems: list[str]) -> tuple[int, str]:
    """The end and the contents of the string whose opening quote is at `start`."""
    window = source[max(0, start - 70) : start]
    prefix = _STRING_PREFIX.search(window if start > 70 else f" {window}")
    if prefix is None:
        problems.append(f"a string right after `{source[start - 1]}` is ambiguous")
    if prefix and prefix["raw"]:
        closer = '"' + prefix["raw"][1:]
        end = source.find(closer, start + 1)
        if end >= 0:
            return end + len(closer), source[start + 1 : end]
    elif match := _STRING.match(source, start):
        content = match.group(1)
        if "\\" in re.sub(_ESCAPE, "", content):
            problems.append("a string has an invalid escape")
        if "{" in _HOLE.sub("", content):
            problems.append("a string with `{` may end within code")
        return match.end(), content
    problems.append("a string is not closed")
    return len(source), source[start + 1 :]


def _block(source: str, position: int, problems: list[str]) -> tuple[int, str]:
    """The end of the block comment whose contents begin at `position`, and the contents."""
    if source.startswith("/", position):
        problems.append("`/-/` and `/--/` are ambiguous")
    depth, edge = 1, position
    while match := _BLOCK_EDGE.search(source, edge):
        edge = match.end()
        depth += 1 if match.group() == "/-" else -1
        if depth == 0:
            return edge, source[position : match.start()]
    problems.append("a comment is not closed")
    return len(source), source[position:]


def blank(source: str) -> str:
    """The source with comments and the contents of strings as spaces; length and newlines stay."""
    return scan(source).code


def words(code: str) -> list[str]:
    """The identifier components of blanked code, in order: `Nat.gcd x₁` gives `Nat`, `gcd`, `x₁`."""
    return _WORD.findall(code)


def numerals(source: str) -> list[str]:
    """The numeric literals as written, outside comments, strings and identifiers: `h17 + 0.25` gives `0.25`."""
    return [m["number"] for m in _LITERAL.finditer(blank(source)) if m["number"]]


def extract_lean(reply: str) -> str:
    """The contents of the last ```` ```lean ```` or ```` ```lean4 ```` block of a model's reply, byte for byte.

    Raises `LeanBlockError` (a `ValueError`) if there is none or if the last one is not closed.
    """
    block: str | None = None
    opening: tuple[int, bool] | None = None
    lines: list[str] = []
    for line in reply.split("\n"):
        fence = _FENCE.fullmatch(line)
        if opening is None:
            if fence:
                opening, lines = (len(fence[1]), fence[2].lower() in ("lean", "lean4")), []
        elif fence and not fence[2] and len(fence[1]) >= opening[0]:
            if opening[1]:
                block = "".join(f"{part}\n" for part in lines)
            opening = None
        else:
            lines.append(line)
    if opening is not None and opening[1]:
        raise LeanBlockError("The last ```lean block of the reply is not closed.")
    if block is None:
        raise LeanBlockError("The reply has no ```lean block.")
    return block
