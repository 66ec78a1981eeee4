"""Replies from a recorded transcript, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from rltpf.errors import InputError
from rltpf.journal import scan
from rltpf.llm.model import Completion, NotRecorded, Request
from rltpf.llm.transcript import request_key
from rltpf.records import canonical_json

_EXCERPT = 60


class _Recorded(NamedTuple):
    line: int
    model: str
    request: Request
    completion: Completion


class ReplayModel:
    """Answers the requests of a transcript and no others; the key is made from the recorded request, not read."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self._recorded: dict[str, _Recorded] = {}
        try:
            for line in scan(path):
                recorded = _read(path, line.number, line.row)
                self._recorded.setdefault(request_key(recorded.model, recorded.request), recorded)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}: llm.transcript names the transcript to replay") from None
        models = sorted({recorded.model for recorded in self._recorded.values()})
        if name not in models:
            recorded_models = ", ".join(models) or "nothing"
            raise InputError(f"{path}: is a transcript of {recorded_models}, not of llm.model {name}")

    async def complete(self, request: Request) -> Completion:
        """The recorded reply; raises `NotRecorded`, which tells the difference to the nearest recorded request."""
        recorded = self._recorded.get(request_key(self.name, request))
        if recorded is None:
            difference = self._difference(request)
            raise NotRecorded(
                f"{self._path}: a replay knows only the recorded questions, and has no reply to this {request.role} "
                f"request: {difference}; take the recorded questions and settings, or a backend that answers"
            )
        return recorded.completion

    async def close(self) -> None:
        self._recorded.clear()

    def _difference(self, request: Request) -> str:
        nearest = max(
            (recorded for recorded in self._recorded.values() if recorded.model == self.name),
            key=lambda recorded: _likeness(recorded.request, request),
        )
        role = "" if nearest.request.role == request.role else f", asked by {nearest.request.role},"
        return f"the nearest one, line {nearest.line}{role} {_explain(nearest.request, request)}"


def _read(path: Path, number: int, row: dict[str, Any]) -> _Recorded:
    try:
        completion = Completion.from_json(row["completion"])
        return _Recorded(number, str(row["model"]), Request.from_json(row["request"]), completion)
    except (KeyError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise InputError(f"{path}:{number}: is no recorded exchange: {what}") from None


def _likeness(recorded: Request, asked: Request) -> tuple[bool, int, int]:
    """To be maximised: the same role, then as many equal messages, then as long an equal beginning."""
    same = _common(recorded.messages, asked.messages)
    rest = [request.messages[same].content if same < len(request.messages) else "" for request in (recorded, asked)]
    return recorded.role == asked.role, same, _common(*rest)


def _common(first: Sequence[Any], second: Sequence[Any]) -> int:
    """How many items two sequences have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _explain(recorded: Request, asked: Request) -> str:
    same = _common(recorded.messages, asked.messages)
    if same < max(len(recorded.messages), len(asked.messages)):
        if same >= len(recorded.messages) or same >= len(asked.messages):
            return f"has {len(recorded.messages)} messages, and this one {len(asked.messages)}"
        old, new = recorded.messages[same], asked.messages[same]
        if old.role != new.role:
            return f"has a message of {old.role} as number {same + 1}, and this one of {new.role}"
        at = _common(old.content, new.content)
        return (
            f"differs first in message {same + 1} ({new.role}) at character {at + 1}: "
            f"recorded {_excerpt(old.content, at)}, asked {_excerpt(new.content, at)}"
        )
    old_rest, new_rest = recorded.to_json(), asked.to_json()
    parts = [
        f"{name} (recorded {canonical_json(old_rest[name])}, asked {canonical_json(new_rest[name])})"
        for name in ("sampling", "schema", "attempt")
        if old_rest[name] != new_rest[name]
    ]
    return "has the same messages and differs in " + ", ".join(parts)


def _excerpt(text: str, at: int) -> str:
    start = max(0, at - _EXCERPT // 3)
    return repr(text[start : start + _EXCERPT])
