"""Prompts: Jinja templates, each the system message, a line `--- user ---`, and the user message."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rltpf.llm.model import Message

USER_MARK = "\n--- user ---\n"


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent / "prompts")
    # Prompts are plain text for a model, not HTML: escaping would corrupt Lean's < and &.
    return Environment(loader=loader, undefined=StrictUndefined, autoescape=False)


def messages(name: str, **values: Any) -> tuple[Message, Message]:
    """The system and the user message of `prompts/NAME.jinja`; a value that the template lacks is a
    `jinja2.UndefinedError`."""
    text = _environment().get_template(f"{name}.jinja").render(values)
    # The first mark is ours, since system messages hold no model text: a mark inside a question cannot move it.
    system, _, user = text.partition(USER_MARK)
    return Message("system", system.strip()), Message("user", user.strip())
