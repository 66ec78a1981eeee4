"""Lean's errors as a model is told of them. Shortened for its prompt; no verdict is read from this text."""

from __future__ import annotations

from collections.abc import Sequence

from rltpf.prover.report import LeanMessage

MAX_ERRORS = 8
CONTEXT_LINES = 2
TEXT_CHARACTERS = 1000
GOAL = "⊢"


def complaint(text: str, messages: Sequence[LeanMessage]) -> str:
    """At most `MAX_ERRORS` errors of `text`, each above its line and the two lines before and after; empty without any.

    A message is cut to `TEXT_CHARACTERS`, of which half go to its first goal where that would be cut off.
    """
    lines = text.replace("\r\n", "\n").split("\n")  # as Lean counts them: `splitlines` knows more line ends
    errors = [message for message in messages if message.severity == "error"]
    parts = [_part(lines, message) for message in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        parts.append(f"... and {len(errors) - MAX_ERRORS} more errors")
    return "\n\n".join(parts)


def _part(lines: Sequence[str], message: LeanMessage) -> str:
    first = max(1, message.line - CONTEXT_LINES)
    last = min(len(lines), message.line + CONTEXT_LINES)
    context = [
        f"{'>' if number == message.line else ' '}{number:>4} | {lines[number - 1]}"
        for number in range(first, last + 1)
    ]
    return "\n".join([f"line {message.line}, column {message.column}: {_cut(message.text.strip())}", *context])


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS:
        return text
    goal = text.find(GOAL)
    half = TEXT_CHARACTERS // 2
    if goal < TEXT_CHARACTERS - half:
        return f"{text[:TEXT_CHARACTERS]} …"
    end = goal + half
    return f"{text[:half]} …\n{text[goal:end]}" + (" …" if end < len(text) else "")
