"""What a run says on stderr before it spends anything: its settings and its first prompt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rltpf.config import Config, dump

if TYPE_CHECKING:
    from rltpf.llm.model import Message
    from rltpf.runs import RunDirectory

_MOST_LINES = 20  # of a message


def show_opening(run: RunDirectory, config: Config, title: str, messages: Sequence[Message]) -> None:
    """Print the settings that are not the defaults, and the first prompt; `--dry_run` shows all of both."""
    print(f"{dump(config, defaults=False)}# with the defaults: {run.config}", file=sys.stderr)
    for message in messages:
        lines = message.content.splitlines()
        shown = lines[:_MOST_LINES]
        if len(lines) > _MOST_LINES:
            shown.append(f"[{len(lines) - _MOST_LINES} more lines: see --dry_run]")
        print(f"--- first prompt, {title} ({message.role})", *shown, sep="\n", file=sys.stderr)
    print("---", file=sys.stderr, flush=True)
