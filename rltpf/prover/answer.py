"""What whoever runs Lean replies: an answer of the judge, or the reason why there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Protocol

from rltpf.prover.report import LeanMessage

MESSAGE_CHARACTERS = 4000


class WorkerError(Exception):
    """Lean gave no verdict: `reason` is `timeout`, `crash` or `protocol`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Answer:
    """A reply of the judge, whose fields are checked: anything unexpected is a `protocol` error.

    `seconds` is time inside the judge; `facts` is what `inspect` found. Long texts of messages are cut; no verdict is
    read from them.
    """

    def __init__(self, reply: Mapping[str, Any]) -> None:
        try:
            self.ok: bool = reply["ok"]
            self.reason: str = reply["reason"]
            self.detail: str = reply["detail"]
            self.axioms: tuple[str, ...] = tuple(reply["axioms"])
            self.messages = tuple(
                LeanMessage(m["severity"], m["line"], m["column"], m["text"][:MESSAGE_CHARACTERS])
                for m in reply["messages"]
            )
            self._milliseconds = reply["milliseconds"]
            self.facts: Mapping[str, Any] = reply.get("facts", {})
            strings = (self.reason, self.detail, *self.axioms)
            well_typed = (
                type(self.ok) is bool
                and type(self.facts) is dict
                and all(type(value) is str for value in strings)
                and type(self._milliseconds) in (int, float)
                and 0 <= self._milliseconds < math.inf
            )
        except (KeyError, TypeError):
            well_typed = False
        if not well_typed or self.ok != (self.reason == "ok"):
            raise WorkerError("protocol", f"unexpected reply {json.dumps(reply)[:200]}")
        self.seconds = self._milliseconds / 1000

    def to_json(self) -> dict[str, Any]:
        """The reply that gives an equal answer."""
        return {
            "ok": self.ok,
            "reason": self.reason,
            "detail": self.detail,
            "messages": [message.to_json() for message in self.messages],
            "axioms": list(self.axioms),
            "milliseconds": self._milliseconds,
            "facts": self.facts,
        }


def parsed(block: bytes) -> Any:
    """The JSON value; raises `WorkerError` where it is none."""
    try:
        return json.loads(block)
    except (ValueError, RecursionError):
        raise WorkerError("protocol", f"the reply is no JSON: {block[:200]!r}") from None


def answer_to(nonce: str, reply: Any) -> Answer:
    """The answer in a reply that repeats the request's number; raises `WorkerError` at any other."""
    if type(reply) is not dict or reply.get("nonce") != nonce:
        raise WorkerError("protocol", f"the reply does not repeat its number: {json.dumps(reply)[:200]}")
    if "message" in reply:
        raise WorkerError("protocol", f"the judge refused the request: {str(reply['message'])[:200]}")
    return Answer(reply)


class Judging(Protocol):
    """Whatever can answer requests, one at a time: a process of this machine, or a server."""

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        """The judge's answer; raises `WorkerError` where there is none."""

    def close(self) -> None:
        """End what was started, also from another thread while it answers."""
