"""Accounts: what each role asked for and what it cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from rltpf.llm.model import Completion


@dataclass
class Account:
    """Requests answered by the model, by the transcript, and not at all; tokens and cost of the model's answers alone.

    `cost` is in the currency of the prices, and None where a model without a known price has answered.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0


def _unknown(role: str, completion: Completion) -> None:
    return None


@dataclass
class Usage:
    """One account for each role; `cost_of` tells what a model's reply to a role costs."""

    cost_of: Callable[[str, Completion], float | None] = _unknown
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
            account.cost = _sum(account.cost, self.cost_of(role, completion))

    @property
    def total(self) -> Account:
        total = Account()
        # A live line asks from a thread of its own, while roles are added.
        for account in list(self.roles.values()):
            total.calls += account.calls
            total.cached += account.cached
            total.failed += account.failed
            total.prompt_tokens += account.prompt_tokens
            total.completion_tokens += account.completion_tokens
            total.cost = _sum(total.cost, account.cost)
        return total

    def to_json(self) -> dict[str, Any]:
        return {role: asdict(account) for role, account in sorted(self.roles.items())}


def _sum(first: float | None, second: float | None) -> float | None:
    """The sum, which is not known where a part is not."""
    return None if first is None or second is None else first + second
