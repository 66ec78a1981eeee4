"""Records: frozen dataclasses that travel between stages as JSON objects, one a line.

Every record has a stable `id` made from its content, so that rows keep their identity across shards, resumes and
re-orderings. A record that failed keeps its place and carries a `Failure` instead of vanishing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cache
from typing import Any, Self

from pydantic import ConfigDict, TypeAdapter, with_config


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def content_id(*parts: Any) -> str:
    """Sixteen hexadecimal digits that depend on the parts' content alone."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:16]


@cache
def _adapter(cls: type) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(cls))


class Record:
    """Mixin of every frozen dataclass here: `to_json` and its inverse `from_json`."""

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return dataclasses.asdict(self)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        """The record that `to_json` gave; raises `pydantic.ValidationError` on missing, unknown or mistyped fields."""
        return _adapter(cls).validate_json(json.dumps(row), strict=True)  # type: ignore[arg-type]  # mypy: a type is hashable


@dataclasses.dataclass(frozen=True)
class Failure(Record):
    """Why an item ended: the stage it ended in, a reason code to count by, and the detail for a reader."""

    stage: str
    reason: str
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class Problem(Record):
    """A solved seed problem as a data set gives it; `answer` is the gold solution, `extra` keeps the other columns."""

    id: str
    question: str
    answer: str
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)
