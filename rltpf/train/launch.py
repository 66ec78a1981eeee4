"""Running a training script: errors become one line each and an exit code, said once and not by every process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rltpf.errors import InputError, RunError
from rltpf.train.folder import say


def run(main: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """`main(argv)`: its own code, 2 for faults of the input, 1 when the training failed, 130 when interrupted."""
    try:
        return main(argv)
    except InputError as error:
        for fault in error.faults:
            say(f"error: {fault}")
        return 2
    except RunError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from the newest checkpoint")
        return 130
