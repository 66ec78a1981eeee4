"""Prompts: what is said to a model, from templates that a run may replace.

A template is the system message, a line `--- user ---`, and the user message. A run may bring a folder whose files take
the place of a stage's own with the same names. What a prompt says is in the messages of its requests, and the messages
are in the key of transcript and cache, so no reply is ever taken for that to another prompt. The journals go by the
problem alone: for them `prompts_version` is a setting of the run, and only the same prompts go on with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.llm.model import Message
from rltpf.prover.cascade import Library
from rltpf.records import content_id
from rltpf.templates import Templates, placeholders, read_templates


class Prompts:
    """The prompts in `home`, those of `folder` in their place, with the examples for the prover's library.

    Raises `InputError` with a line for every file of the folder that cannot be used.
    """

    def __init__(self, home: Path, folder: Path | None = None, library: Library = "core") -> None:
        self._templates = Templates(read_templates(home, folder), library)
        if folder is not None:
            self._templates.check(folder, Templates(read_templates(home), library))

    def messages(self, name: str, **values: Any) -> tuple[Message, Message]:
        """The system and the user message of `NAME.jinja`; a value that the template lacks is a
        `jinja2.UndefinedError`."""
        system, user = self._templates.render(f"{name}.jinja", values)
        return Message("system", system), Message("user", user)

    def sketch(self, name: str, **values: Any) -> tuple[Message, Message]:
        """The messages with names in the place of the values that are not known yet."""
        return self.messages(name, **{**placeholders(self._templates.values(f"{name}.jinja")), **values})

    @property
    def versions(self) -> dict[str, str]:
        """Eight digits for each prompt, that change with the text of its template and of all that this builds on."""
        return {name.removesuffix(".jinja"): self._templates.version(name) for name in self._templates.prompts}


def known_version(home: Path, folder: Path | None, version: str | None) -> str:
    """The version of the prompts; raises `InputError` where `version` asks for another one."""
    found = content_id(sorted(read_templates(home, folder).items()))
    if version not in (None, found):
        raise InputError(
            f"prompts_version: is {version}, and the prompts have the version {found}: "
            "bring the other prompts back, or leave the key out"
        )
    return found
