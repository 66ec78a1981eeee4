"""Literal extraction: an answer is copied out of the verified Lean text, or there is none (appendix D). Pure functions.

The extractor's word is not taken for it. Each part of the answer has to be in the text as it stands, byte for byte and
as whole tokens, outside comments, strings and whatever only prints. What was computed, simplified or written in another
way is not there; what is there by chance, the claim decides (see `final`).
"""

from __future__ import annotations

from eval.rewrite.tokens import is_balanced, proving_text, split, tokens

UNKNOWN = "unknown"


def parts(answer: str) -> list[str]:
    """The parts of an answer between its commas; those in brackets part nothing."""
    return [answer[part[0].start : part[-1].end] if part else "" for part in split(tokens(answer), ",")]


def refusal(answer: str, evidence: str, lean: str) -> str:
    """Why an answer is no copy from a Lean text, in words; empty where it is one."""
    if answer.strip() in ("", UNKNOWN):
        return "the proof text holds no answer"
    text = proving_text(lean)
    if text is None:
        return "what is code and what is comment in the proof text is ambiguous"
    if not evidence.strip() or evidence.strip() not in lean:
        return "the evidence is not in the proof text"
    for part in parts(answer):
        if not occurs(part, text):
            return f"`{part}` does not occur in the proof text"
    return ""


def occurs(part: str, text: str) -> bool:
    """Whether a part is in a text without comments, byte for byte, beginning and ending where tokens do."""
    own = tokens(part)
    if not own or not is_balanced(own):
        return False
    found = tokens(text)
    starts, ends = {token.start for token in found}, {token.end for token in found}
    position = text.find(part)
    while position >= 0:
        if position in starts and position + len(part) in ends:
            return True
        position = text.find(part, position + 1)
    return False
