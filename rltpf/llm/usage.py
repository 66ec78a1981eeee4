"""Accounts: what each role asked for and what it cost."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from rltpf.llm.model import Completion


@dataclass
class Account:
    """Requests answered by the model, by the transcript, and not at all; tokens of the model's answers alone."""

    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class Usage:
    """One account for each role."""

    roles: defaultdict[str, Account] = field(default_factory=lambda: defaultdict(Account))

    def count(self, role: str, completion: Completion | None) -> None:
        """Add a completion, or None for a request that failed."""
        account = self.roles[role]
        if completion is None:
            account.failed += 1
        elif completion.cached:
            account.cached += 1
        else:
            account.calls += 1
            account.prompt_tokens += completion.prompt_tokens
            account.completion_tokens += completion.completion_tokens

    @property
    def total(self) -> Account:
        rows = [asdict(account) for account in self.roles.values()]
        return Account(**{name: sum(row[name] for row in rows) for name in asdict(Account())})

    def to_json(self) -> dict[str, Any]:
        return {role: asdict(account) for role, account in sorted(self.roles.items())}
