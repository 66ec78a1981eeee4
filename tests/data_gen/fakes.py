"""Stand-ins for model and Lean, for what hangs on neither."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rltpf.llm.model import Completion, Request
from rltpf.llm.usage import Usage
from rltpf.prover.report import LeanMessage, Report

Reply = Callable[[Request], Any] | Any

SYMBOLS = {
    "variables": [{"name": "answer", "type": "Rat", "unit": "eggs", "meaning": "eggs left"}],
    "premises": ["answer = 16 - 3"],
    "target": "answer",
}
TELESCOPE = "(eggs eaten answer : Rat) (h_eggs : eggs = 16) (h_eaten : eaten = 3) (h_answer : answer = eggs - eaten)"


class RoleModel:
    """Replies by the prompt that a request is of (`s1`, `s2`, ...): a reply, a function of the request, or a list that
    is used up. What is no text is sent as JSON."""

    name = "roles"

    def __init__(self, **replies: Reply) -> None:
        self.replies: dict[str, Reply] = {
            "s1": SYMBOLS,
            "s2": f"```lean\n{TELESCOPE}\n```",
            "s3": "There are 16 eggs and 3 are eaten. How many are left?",
            "s4": {"reasons": "the same", "aligned": "yes"},
            **replies,
        }
        self.requests: list[tuple[str, Request]] = []
        self.usage = Usage()

    def asked(self, prompt: str) -> list[Request]:
        return [request for name, request in self.requests if name == prompt]

    async def complete(self, request: Request) -> Completion:
        prompt = _prompt_of(request)
        self.requests.append((prompt, request))
        reply = self.replies[prompt]
        if isinstance(reply, list):
            reply = reply.pop(0)
        if callable(reply):
            reply = reply(request)
        return Completion(reply if isinstance(reply, str) else json.dumps(reply))

    async def close(self) -> None:
        pass


def _prompt_of(request: Request) -> str:
    if request.role == "formaliser":
        properties = (request.schema or {}).get("properties", {})
        return "formalise" if "steps" in properties else "s1" if properties else "s2"
    return {"generator": "s0", "back_translator": "s3", "judge": "s4", "solver": "answer"}[request.role]


class AgreeableProver:
    """Reads everything but the statements that hold one of `unreadable`, proves every claim, and `False` from none."""

    toolchain_id = "agreeable"
    library = "core"

    def __init__(self, unreadable: Mapping[str, str] | None = None) -> None:
        self._unreadable = unreadable or {}

    async def elaborates(self, statement: str) -> Report:
        for part, complaint in self._unreadable.items():
            if part in statement:
                return Report(
                    "rejected", "elaboration_error", messages=(LeanMessage("error", 2, 4, complaint),), seconds=0.5
                )
        return Report("verified", "ok", seconds=0.5)

    async def close_goal(self, statement: str, goal: str) -> Report:
        return Report("rejected", "unproved") if goal == "absurdity" else Report("verified", "ok", closed_by="rfl")

    async def check(self, statement: str, submission: str) -> Report:
        return Report("verified", "ok")

    async def close(self) -> None:
        pass


def write_rows(path: Path, *rows: tuple[str, str]) -> Path:
    """A JSONL file of solved problems."""
    path.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in rows))
    return path
