"""Files of prompts: which there are, what each is made of, and what is wrong with those of a user."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, StrictUndefined, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from rltpf.errors import InputError
from rltpf.prover.cascade import Library
from rltpf.records import content_id

USER_MARK = "\n--- user ---\n"
_EXAMPLES = "examples"
_COUNTS = ("entries", "number", "repair", "repairs")
"""The values that are integers; all others are texts."""


class Templates:
    """Templates by file name. What they know as `examples.jinja` is the file of examples for the prover's library,
    where there are any."""

    def __init__(self, sources: Mapping[str, str], library: Library) -> None:
        examples = f"{_EXAMPLES}_{library}.jinja"
        self.sources = {**sources, **({f"{_EXAMPLES}.jinja": sources[examples]} if examples in sources else {})}
        # Prompts are plain text for a model, not HTML: escaping would corrupt Lean's < and &. Sandboxed, since a folder
        # of prompts may be somebody else's.
        self._environment = SandboxedEnvironment(
            loader=DictLoader(self.sources), undefined=StrictUndefined, autoescape=False
        )

    @property
    def prompts(self) -> list[str]:
        """The files that are whole prompts."""
        return [name for name in sorted(self.sources) if not name.startswith(_EXAMPLES)]

    def render(self, name: str, values: Mapping[str, Any]) -> tuple[str, str]:
        """The system and the user part of a prompt; a value that the template lacks is a `jinja2.UndefinedError`."""
        text = self._environment.get_template(name).render(values)
        # The first mark is ours, since system messages hold no model text: a mark inside a question cannot move it.
        system, _, user = text.partition(USER_MARK)
        return system.strip(), user.strip()

    def values(self, name: str) -> set[str]:
        """The names of the values that a template takes."""
        taken = {value for part in self._closure(name) for value in meta.find_undeclared_variables(self._tree(part))}
        return taken - self._environment.globals.keys()

    def version(self, name: str) -> str:
        """Eight digits for the text of a template and of all that it builds on."""
        return content_id([[part, self.sources[part]] for part in sorted(self._closure(name))])[:8]

    def check(self, folder: Path, standard: Templates) -> None:
        """Raises `InputError` with a line for every template that cannot be used where those of `standard` are; the
        templates are those of `folder`, where it has them."""
        places = {name: folder / name if (folder / name).exists() else f"{folder}: {name}" for name in self.sources}
        if faults := [f"{places[name]}{fault}" for name in self.sources for fault in self._form_faults(name)]:
            raise InputError(*faults)
        broken: set[str] = set()
        # What others build on comes first: its fault is theirs too, and is told once.
        for name in sorted(self.prompts, key=lambda name: len(self._closure(name))):
            if not broken & self._closure(name) and (fault := self._fault(name, standard.values(name))):
                broken.add(name)
                faults.append(f"{places[name]}: {fault}")
        if faults:
            raise InputError(*faults)

    def _form_faults(self, name: str) -> list[str]:
        try:
            self._environment.compile(self.sources[name], name)
        except TemplateSyntaxError as error:
            return [f":{error.lineno}: {_line(error)}"]
        return [
            ": has to name the template that it builds on in quotes"
            if reference is None
            else f": builds on {reference}, which is no prompt"
            for reference in self._references(name)
            if reference not in self.sources
        ]

    def _fault(self, name: str, known: set[str]) -> str:
        if unknown := sorted(self.values(name) - known):
            return f"there is no value {unknown[0]!r} for it (known: {', '.join(sorted(known))})"
        for parent, block in self._lost_blocks(name):
            return f"fills the block {block!r}, which {parent} does not have"
        try:
            parts = self.render(name, placeholders(known))
        # A template can fail as any program can.
        except Exception as error:
            return _line(error)
        return "" if all(parts) else f"needs text on both sides of a line `{USER_MARK.strip()}`"

    def _lost_blocks(self, name: str) -> list[tuple[str, str]]:
        """Blocks that would be shown nowhere, each with the parent that has no place for it."""
        tree = self._tree(name)
        filled = [node.name for node in tree.body if isinstance(node, nodes.Block)]
        parents = [extends.template.as_const() for extends in tree.find_all(nodes.Extends)]
        return [(parent, block) for parent in parents for block in filled if block not in self._blocks(parent)]

    def _blocks(self, name: str) -> set[str]:
        return {block.name for part in self._closure(name) for block in self._tree(part).find_all(nodes.Block)}

    def _closure(self, name: str) -> set[str]:
        """A template and all that it builds on."""
        found: set[str] = set()
        ahead = {name}
        while ahead:
            found |= ahead
            ahead = {part for known in ahead for part in self._references(known) if part is not None} - found
        return found

    def _references(self, name: str) -> list[str | None]:
        """The templates that one extends, includes or imports; None where their names are computed."""
        return list(meta.find_referenced_templates(self._tree(name)))

    def _tree(self, name: str) -> nodes.Template:
        return self._environment.parse(self.sources[name], name)


def placeholders(names: Iterable[str]) -> dict[str, Any]:
    """A value for each of these names, for a prompt that is only looked at."""
    return {name: 3 if name in _COUNTS else f"<{name}>" for name in names}


def read_templates(home: Path, folder: Path | None = None) -> dict[str, str]:
    """The text of every file of prompts by its name, those of `folder` in the place of those in `home`.

    Raises `InputError` with a line for every file of the folder that is none of them.
    """
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(home.glob("*.jinja"))}
    if folder is None:
        return sources
    known = ", ".join(sources)
    try:
        paths = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    except OSError as error:
        raise InputError(f"prompts: {folder}: {error.strerror}: name a folder of templates") from None
    if not paths:
        raise InputError(f"prompts: {folder}: holds no templates (known: {known})")
    faults = []
    for path in paths:
        try:
            if path.name in sources:
                sources[path.name] = path.read_text(encoding="utf-8")
            else:
                # The endings alone would make any two of them alike.
                close = difflib.get_close_matches(path.stem, [name.removesuffix(".jinja") for name in sources], n=1)
                hint = f"did you mean {close[0]}.jinja?" if close else f"known: {known}"
                faults.append(f"{path}: is no prompt ({hint})")
        except OSError as error:
            faults.append(f"{path}: {error.strerror}")
        except UnicodeDecodeError:
            faults.append(f"{path}: is not UTF-8 text")
    if faults:
        raise InputError(*faults)
    return sources


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
