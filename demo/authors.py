"""The models of the rewriting demo: authored replies of capable but fallible models, found by what a request asks for.

They know nothing of Lean's verdicts: they only answer, as a server would.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import yaml

from eval.rewrite.prompting import build_prompts
from rltpf.llm.structured import RESEED

SEED = 42
"""The seed of the demo's config: the number of a sample is what a request's seed is beyond it."""


class Authors:
    """Answers the prompts of `eval.rewrite` from an authored file; raises `LookupError` for anything that was not
    authored."""

    def __init__(self, path: Path) -> None:
        self.entries: list[dict[str, Any]] = yaml.safe_load(path.read_text())
        prompts = build_prompts()
        names = ("rewrite", "screen", "formalise", "check", "prove", "extract", "classify")
        self._prompts = {prompts.sketch(name)[0].content: name for name in names}

    def reply(self, system: str, user: str, seed: int) -> str:
        """The reply to one prompt."""
        prompt = self._prompts[system]
        number = (seed - SEED) % RESEED
        if prompt == "rewrite":
            entry = next((e for e in self.entries if user.startswith(f"Problem:\n{e['question']}")), None)
            if entry is None:
                raise LookupError(f"no entry for {user[:80]!r}")
            return json.dumps({"rewritten_question": entry["rewrites"][number]["text"]}, ensure_ascii=False)
        rewrite = self._rewrite(user)
        if prompt == "formalise":
            return f"```lean\n{rewrite['statements'][number].strip()}\n```"
        if prompt == "prove":
            return _proof(rewrite, number)
        replies = {
            "screen": rewrite.get("screen", {"category": "applied", "analysis": "One answer.", "verdict": "yes"}),
            "check": rewrite.get("checks", [{"judgment": "Consistent", "explanation": "The same."}])[0],
            "extract": _extraction(rewrite),
            "classify": {"answer": rewrite.get("answer"), "status": "final", "explanation": "What is asked for."},
        }
        return json.dumps(replies[prompt], ensure_ascii=False)

    def _rewrite(self, user: str) -> dict[str, Any]:
        """The rewrite whose text, or one of whose statements, a prompt holds."""
        for entry in self.entries:
            for rewrite in entry["rewrites"]:
                if any(text.strip() in user for text in (rewrite["text"], *rewrite.get("statements", ()))):
                    return rewrite
        raise LookupError(f"no rewrite for {user[:80]!r}")


def _proof(rewrite: dict[str, Any], number: int) -> str:
    proofs = rewrite.get("proofs", ())
    if number < len(proofs):
        return str(proofs[number])
    tactics = textwrap.indent(rewrite["tactics"].strip(), "  ")
    return f"```lean\n{rewrite['statements'][-1].strip()} := by\n{tactics}\n```"


def _extraction(rewrite: dict[str, Any]) -> dict[str, str]:
    answer = rewrite.get("answer", "unknown")
    evidence = rewrite["statements"][-1].strip().splitlines()[-1].strip() if "statements" in rewrite else ""
    return {"answer": answer, "evidence": "unknown" if answer == "unknown" else evidence}
