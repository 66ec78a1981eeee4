"""Kinds of failed proofs (appendix J), read off the text and Lean's messages. Pure; nothing is decided by them."""

from __future__ import annotations

import re
from itertools import groupby

from eval.rewrite.lean_reply import is_locked
from rltpf.prover.lean_text import blank
from rltpf.prover.report import Report

KINDS = (
    "boundary_corruption",  # special tokens of a chat template
    "no_lean",  # no closed block with Lean text
    "target_changed",  # not our statement
    "natural_language",
    "repetition",  # one tactic many times
    "truncated",
    "time_out",
    "inappropriate_tactic",
    "other",
)
REPEATS = 5
"""Times in a row from which on a tactic is repeated."""
_PROSE_WORDS = 40  # in comments, from which on they may be what the reply was spent on

_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>|<｜[^｜\n]{1,40}｜>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>")
_STEP = re.compile(r"\n|<;>|;")
_UNFINISHED = re.compile(r"(?:<;>?|:=|:= *by|[,(\[{⟨+*/=]|\bby|\bhave|\bexact|\brw)\s*\Z")
_FUNCTION_WORD = re.compile(r"\b(?:the|is|are|we|that|this|of|to|and|so|need|because|therefore|gives)\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{2,}")
_HEARTBEATS = re.compile(r"maximum (?:number of heartbeats|recursion depth)|deterministic\) timeout")
_CUT = re.compile(r"unexpected end of (?:input|file)|unterminated")
_TACTIC_FAILED = re.compile(
    r"unsolved goals|[Tt]actic `?'?\w+'?`? failed|failed to|could not prove|made no progress|did not|"
    r"linarith failed|unknown tactic|no goals|The rfl tactic|type mismatch|[Nn]o applicable|cannot",
)


def kinds(statement: str, reply: str, text: str | None, report: Report | None, cut: bool = False) -> tuple[str, ...]:
    """All kinds that a failed proof is of, in the order of `KINDS`; `other` where it is of none.

    `text` is the reply's Lean text, None where it has none; `report` is Lean's, None where Lean was not asked; `cut`
    says that the reply reached its longest length.
    """
    source = text if text is not None else reply
    said = "\n".join(message.text for message in report.messages if message.severity == "error") if report else ""
    locked = is_locked(statement, source)
    proof = source.partition(statement)[2] if locked else source.partition(":= by")[2]
    found = {
        "boundary_corruption": _SPECIAL.search(reply) is not None,
        "no_lean": text is None,
        "target_changed": text is not None and not locked,
        "natural_language": _is_prose(proof or source),
        "repetition": repeats(proof) >= REPEATS,
        "truncated": cut or _UNFINISHED.search(blank(source)) is not None or _CUT.search(said) is not None,
        "time_out": (report is not None and report.status == "timeout") or _HEARTBEATS.search(said) is not None,
        "inappropriate_tactic": locked and _TACTIC_FAILED.search(said) is not None,
    }
    return tuple(kind for kind in KINDS if found.get(kind)) or ("other",)


def repeats(proof: str) -> int:
    """How many times in a row a proof has the same step."""
    steps = [step.strip() for step in _STEP.split(blank(proof)) if step.strip()]
    return max((len(list(group)) for _, group in groupby(steps)), default=0)


def _is_prose(proof: str) -> bool:
    """Whether a proof is for the most part words: comments that argue, or sentences where tactics belong."""
    code = blank(proof)
    in_code, in_all = len(_WORD.findall(code)), len(_WORD.findall(proof))
    if in_all - in_code >= _PROSE_WORDS and in_all - in_code > in_code:
        return True
    return any(len(_FUNCTION_WORD.findall(line)) >= 2 and len(_WORD.findall(line)) >= 6 for line in code.splitlines())
