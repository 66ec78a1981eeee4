"""`--dry_run`: the resolved config and the first prompt of each role, before anything is spent."""

from __future__ import annotations

from rltpf.config import dump
from rltpf.prover.cascade import library_of
from rltpf.prover.toolchains import header_of
from rltpf.selection.config import ScribeConfig, SelectConfig
from rltpf.selection.prompting import PROMPTS
from rltpf.selection.rows import Ranked

_ROLES = {"formaliser": "formalise", "judge": "place", "rewriter": "rewrite", "checker": "consistent"}


def show(config: SelectConfig | ScribeConfig, first: Ranked) -> int:
    """Print what a run would start with; the exit code."""
    print(dump(config))
    known = {
        "question": first.row["question"],
        "answer": first.candidates[0],
        "library": library_of(header_of(config.prover)),
        "fault": "",
        "block": "",
    }
    unasked = {"judge", "checker"} if isinstance(config, ScribeConfig) else set[str]()
    if isinstance(config, SelectConfig) and config.rule != "majority":
        unasked = {"checker"}
    asked = [(role, name) for role, name in _ROLES.items() if role not in unasked]
    if isinstance(config, ScribeConfig) and config.labels:
        asked = [("formaliser", "formalise"), ("rewriter", "label"), ("rewriter", "synthesise")]
    for role, name in asked:
        for message in PROMPTS.sketch(name, **known):
            print(f"--- {role}: {name}, version {PROMPTS.versions[name]} ({message.role})\n{message.content}\n")
    return 0
