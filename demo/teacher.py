"""The demo's teacher: authored replies of a capable but fallible model, found by what a request asks for.

It stands in for a GPT-4-class model where there is none. It knows nothing of Lean's verdicts: it only answers, as a
server would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from data_gen.prompting import OWN

_REPAIR = re.compile(r"This is repair (\d+) of")


class Teacher:
    """Answers the prompts of `data_gen` from `demo/teacher/*.yaml`; raises `LookupError` for anything that was not
    authored."""

    def __init__(self, parts: Iterable[Path]) -> None:
        self.entries: list[dict[str, Any]] = [entry for part in parts for entry in yaml.safe_load(part.read_text())]
        placeholder = dict.fromkeys(("question", "symbols", "telescope", "retelling", "answer", "entries"), "")
        names = ("s1", "s2", "s3", "s4", "answer", "formalise")
        self._prompts = {OWN.messages(name, **placeholder)[0].content: name for name in names}

    def reply(self, system: str, user: str, seed: int) -> str:
        """The reply to one prompt; answers are sampled by the parity of the seed."""
        prompt = self._prompts[system]
        repair = _REPAIR.search(user)
        turn = int(repair.group(1)) if repair else 0
        if prompt == "s3":
            return next(e["s3"] for e in self.entries if "s3" in e and e["s2"][-1].strip() in user)
        entry = next((e for e in self.entries if e["question"].strip() in user), None)
        if entry is None:
            raise LookupError(f"no entry for {user[:80]!r}")
        if prompt == "s2":
            telescope = entry["s2"][turn]
            return telescope if "```" in telescope else f"```lean\n{telescope.strip()}\n```"
        if prompt == "answer":
            return str(entry["answers"][seed % len(entry["answers"])]["text"])
        if prompt == "formalise":
            answer = next(a for a in entry["answers"] if a["text"].strip() in user)
            if turn >= len(answer["formalisations"]):
                raise LookupError(f"no repair {turn} was authored for the answer {answer['text'][:60]!r}")
            return _formalisation(answer["formalisations"][turn])
        return _json(entry[prompt])


def _formalisation(steps: Any) -> str:
    if isinstance(steps, str):
        return steps
    return _json(
        {
            "steps": [
                {
                    "definitions": [{"type": "Rat", **d} for d in step.get("definitions", [])],
                    "claim": step.get("claim"),
                    "proof": step.get("proof"),
                }
                for step in steps
            ]
        }
    )


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
