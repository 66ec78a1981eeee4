"""What a model is told of a Lean text that failed, trimmed for a repair prompt; no verdict is read from it."""

from __future__ import annotations

from rltpf.prover.report import LeanMessage, Report

MAX_ERRORS = 8
LINES_BEFORE, LINES_AFTER = 2, 1
MESSAGE_CHARACTERS = 1000
LINE_CHARACTERS = 160
MAX_CHARACTERS = 14_000
"""Bound of a complaint about a text of fewer than a thousand million characters."""

NO_ANSWER = "Lean found neither a proof of the claim nor one of its negation."


def complaint(text: str, report: Report) -> str:
    """The first errors of a report on `text`, each with its place, its goal and the lines around it.

    A place is `line:column` in `text`, from 1 and from 0 as in `LeanMessage`; one outside of `text` is moved to its
    nearest end. Without errors it is the report's `detail`, and without that a sentence. At most `MAX_CHARACTERS`
    characters.
    """
    # Lean repeats an error for every name of a binder.
    errors = list(dict.fromkeys(message for message in report.messages if message.severity == "error"))
    if not errors:
        return _trimmed(report.detail) or NO_ANSWER
    lines = text.split("\n")  # As Lean counts them; `splitlines` ends lines at other characters too.
    parts = [_with_context(error, lines) for error in errors[:MAX_ERRORS]]
    if more := errors[MAX_ERRORS:]:
        parts.append(f"More errors: {len(more)}.")
    return "\n\n".join(parts)


def _with_context(error: LeanMessage, lines: list[str]) -> str:
    line = min(max(error.line, 1), len(lines))
    column = min(max(error.column, 0), len(lines[line - 1]))
    first, last = max(line - LINES_BEFORE, 1), min(line + LINES_AFTER, len(lines))
    rows = [f"{line}:{column}: error: {_trimmed(error.text)}"]
    for number in range(first, last + 1):
        mark, place = (">", column) if number == line else (" ", 0)
        rows.append(f"{mark} {number:>{len(str(last))}} | {_around(place, lines[number - 1])}")
    return "\n".join(rows)


def _trimmed(message: str) -> str:
    """At most `MESSAGE_CHARACTERS` of a message; its first goal, from `⊢` on, has half of them if it needs them."""
    text = message.strip()
    place = text.find("⊢")
    if len(text) <= MESSAGE_CHARACTERS or place < 0:
        return _cut(text, MESSAGE_CHARACTERS)
    goal = text[place:]
    before = _cut(text[:place].rstrip(), MESSAGE_CHARACTERS - 1 - min(len(goal), MESSAGE_CHARACTERS // 2))
    return f"{before}\n{_cut(goal, MESSAGE_CHARACTERS - 1 - len(before))}"


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _around(column: int, line: str) -> str:
    """`LINE_CHARACTERS` of a line, the column among them: a model may well write everything in one line."""
    start = max(min(column - LINE_CHARACTERS // 2, len(line) - LINE_CHARACTERS), 0)
    end = start + LINE_CHARACTERS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
