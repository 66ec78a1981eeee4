"""Errors that end a command with one clear line."""

from __future__ import annotations

from collections.abc import Sequence


class InputError(Exception):
    """Wrong arguments or input: one line a fault, each naming the fact, the place and the way out. The command exits
    with 2."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults: Sequence[str] = faults


class RunError(Exception):
    """The run cannot go on, and what it finished is kept: says why in one line. The command exits with 1."""
