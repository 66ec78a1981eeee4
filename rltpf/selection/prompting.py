"""What is said to the models: the templates in `prompts/`, each a system message, a line `--- user ---`, and the user
message."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rltpf.llm.model import Message

_MARK = "\n--- user ---\n"


def messages(name: str, **values: Any) -> tuple[Message, Message]:
    """The system and the user message of `NAME.jinja`; a value that the template lacks is a
    `jinja2.UndefinedError`."""
    text = _environment().get_template(f"{name}.jinja").render(values)
    # The first mark is ours, since system messages hold no model text: a mark inside a question cannot move it.
    system, _, user = text.partition(_MARK)
    return Message("system", system.strip()), Message("user", user.strip())


@cache
def _environment() -> Environment:
    # Prompts are plain text for a model, not HTML: escaping would corrupt Lean's < and &.
    loader = FileSystemLoader(Path(__file__).parent / "prompts")
    return Environment(loader=loader, undefined=StrictUndefined, autoescape=False)
