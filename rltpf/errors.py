"""Errors that end a command with one clear line."""

from __future__ import annotations

import errno
from collections.abc import Sequence

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class InputError(Exception):
    """Wrong arguments or input: one line a fault, each naming the fact, the place and the way out. The command exits
    with 2."""

    def __init__(self, *faults: str) -> None:
        super().__init__("\n".join(faults))
        self.faults: Sequence[str] = faults


class RunError(Exception):
    """The run cannot go on, and what it finished is kept: says why in one line. The command exits with 1."""


def complaint(error: OSError) -> str:
    """The line for what the system refused: place, what, and for a full disk the way out."""
    place = f"{error.filename}: " if error.filename else ""
    way_out = ": make room and start the same command again" if error.errno in _NO_ROOM else ""
    return f"{place}{error.strerror or error}{way_out}"
