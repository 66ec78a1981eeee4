"""Lean text in a model's reply: the block, the statement, and whether a proof text is of our statement. Pure.

Nothing is mended. What formalisers and provers are trained to write around a statement is read for what it says: their
imports stand for the header, which is ours, and `:= by sorry` for the proof that is still missing.
"""

from __future__ import annotations

import re

from rltpf.prover.lean_text import extract_lean

_IMPORTS = re.compile(r"\A(?:[ \t]*(?:import [\w.]+)?[ \t]*\n)*")
_OPEN_END = re.compile(r"\s*:=\s*(?:by\s+sorry|sorry|by)?\s*\Z")
_PROOF_BEGINS = re.compile(r"\s*:=")


def lean_text(reply: str) -> str:
    """The Lean text of a reply without its imports; raises `ValueError` where there is none."""
    text = _IMPORTS.sub("", extract_lean(reply)).rstrip()
    if not text:
        raise ValueError("The ```lean block of the reply is empty.")
    return text


def statement_of(text: str) -> str:
    """A statement, definitions and a theorem header, without the place for its proof."""
    return _OPEN_END.sub("", text).rstrip()


def is_locked(statement: str, text: str) -> bool:
    """Whether a proof text has the statement in it byte for byte, with a proof after it."""
    before, found, after = text.partition(statement)
    return bool(found) and (not before or before.endswith("\n")) and _PROOF_BEGINS.match(after) is not None
