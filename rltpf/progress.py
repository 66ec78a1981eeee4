"""How far a stage is: a live line on a terminal, a plain line now and then elsewhere, always on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.status import Status
    from rich.text import Text

    from rltpf.llm.usage import Usage

PLAIN_INTERVAL = 15.0


class Progress:
    """Counts of done and failed items, rate, time to go, model calls, tokens and what they cost.

    A context manager around the stage. `total` is None where the number of items is not known; `done` counts those that
    an earlier start finished.
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        done: int = 0,
        usage: Usage | None = None,
        stream: TextIO | None = None,
    ) -> None:
        self.done = done
        self.failed = 0
        self._title = title
        self._total = total
        self._before = done
        self._usage = usage
        self._stream = stream if stream is not None else sys.stderr
        self._live: Status | None = None
        self._began = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        self._began = self._shown = time.monotonic()
        if self._before:
            left = "" if self._total is None else f", {self._total - self._before} left"
            print(f"{self._title}: resuming: {self._before} done{left}", file=self._stream)
        if self._stream.isatty():
            from rich.console import Console
            from rich.status import Status

            # Drawn anew with every turn of the spinner: the clock goes on while all wait for one reply.
            self._live = Status(self, console=Console(file=self._stream))
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
        print(self.line(), file=self._stream, flush=True)

    def advance(self, failed: bool = False) -> None:
        """One more item is finished."""
        self.done += 1
        self.failed += failed
        now = time.monotonic()
        if self._live is None and now - self._shown >= PLAIN_INTERVAL:
            self._shown = now
            print(self.line(), file=self._stream, flush=True)

    def __rich__(self) -> Text:
        from rich.text import Text

        return Text(self.line())

    def line(self) -> str:
        """All that is known, in one line."""
        new, seconds = self.done - self._before, time.monotonic() - self._began
        rate = new / seconds if seconds > 0 else 0.0
        parts = [f"{self.done}/{self._total} done" if self._total is not None else f"{self.done} done"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if new:
            parts.append(f"{rate:.3g}/s")
        if new and self._total is not None and self.done < self._total:
            parts.append(f"{_clock((self._total - self.done) / rate)} to go")
        else:
            parts.append(_clock(seconds))
        if self._usage is not None:
            total = self._usage.total
            parts.append(f"{total.calls} calls ({total.cached} cached)")
            parts.append(f"{total.prompt_tokens + total.completion_tokens:,} tokens")
            if total.cost:
                parts.append(f"cost {total.cost:,.4f}")
        return f"{self._title}: " + ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
