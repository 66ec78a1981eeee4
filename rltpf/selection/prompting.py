"""The prompts of selection (see `rltpf.prompting`)."""

from __future__ import annotations

from pathlib import Path

from rltpf.prompting import Prompts

PROMPTS = Prompts(Path(__file__).parent / "prompts")
messages = PROMPTS.messages
