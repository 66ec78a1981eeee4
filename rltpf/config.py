"""Configuration: typed sections, read from YAML, overridden on the command line.

Precedence: default < YAML < command line. Everything wrong is reported at once, before any heavy library is imported.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import types
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from rltpf.errors import InputError


class Config(BaseModel):
    """Base of every section: unknown keys are refused, values are never changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


ConfigT = TypeVar("ConfigT", bound=Config)
_Key = tuple[str, ...]

SAME_RESULTS: dict[str, Any] = {"affects_results": False}
"""`json_schema_extra` of fields that change how a run goes but not what it finds: a resumed run may change them."""


class Option(NamedTuple):
    """One key of a config, for `--help`; `default` is None where the key is required."""

    key: str
    type: str
    default: str | None
    doc: str


def load(cls: type[ConfigT], path: Path | str | None, overrides: Sequence[str] = ()) -> ConfigT:
    """The config from a YAML file and `--key.path value` arguments; raises `InputError` with a line for every fault.

    Relative paths stay relative to the current directory. Types are strict ("3" is no integer, 1 no string), except
    that an integer serves as a float and a string as a path.
    """
    values = _read(Path(path)) if path is not None else {}
    given, faults = _overrides(cls, overrides)
    for key, value in given.items():
        _put(values, key, value)
    try:
        text = json.dumps(values, default=str)
    except ValueError:
        raise InputError(f"{path or 'arguments'}: an alias stands inside its own anchor") from None
    try:
        # JSON mode is the strictness that fits YAML: lists for tuples, strings for paths, and no other conversion.
        config = cls.model_validate_json(text, strict=True)
    except ValidationError as error:
        faults += _faults(cls, error, values, set(given), path)
    if faults:
        raise InputError(*faults)
    return config


def dump(config: Config) -> str:
    """The resolved config as YAML that `load` reads back. Without secrets: API keys come from the environment alone."""
    return yaml.dump(config.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def describe(cls: type[Config]) -> list[Option]:
    """Every key of a config with type, default and docstring, nested sections as dotted keys."""
    return [
        Option(".".join(path), _type_name(field.annotation), _default(field), inspect.cleandoc(field.description or ""))
        for path, field in _fields(cls)
    ]


def result_settings(config: Config) -> dict[str, Any]:
    """Dotted key and JSON value of every setting that can change a run's results."""
    flat: dict[str, Any] = {}

    def visit(section: Config, prefix: str) -> None:
        plain = section.model_dump(mode="json")
        for name, field in type(section).model_fields.items():
            value = getattr(section, name)
            if isinstance(value, Config):
                visit(value, f"{prefix}{name}.")
            elif field.json_schema_extra != SAME_RESULTS:
                flat[prefix + name] = plain[name]

    visit(config, "")
    return flat


class _Loader(yaml.SafeLoader):
    """YAML with `1e-4` as a number, as in YAML 1.2; keys that are no text, or there already, are refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is no text", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes the texts that `_Loader` would take for numbers."""


for _side in (_Loader, _Dumper):
    _side.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+\Z"),
        list("-+0123456789."),
    )


def _parse(text: str) -> Any:
    return yaml.load(text, _Loader)  # _Loader is a SafeLoader


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = _parse(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: --config takes a YAML file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        place = f"{path}:{error.problem_mark.line + 1}" if error.problem_mark else str(path)
        raise InputError(f"{place}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise InputError(f"{path}: is not YAML text: it holds control characters") from None
    except RecursionError:
        raise InputError(f"{path}: is not usable YAML: it nests too deep") from None
    if values is None:
        raise InputError(f"{path}: is empty: write `key: value` lines")
    if not isinstance(values, dict):
        raise InputError(f"{path}: is a {type(values).__name__}, and has to be a mapping: write `key: value` lines")
    return values


def _overrides(cls: type[Config], words: Sequence[str]) -> tuple[dict[_Key, Any], list[str]]:
    """`--a.b 1 --c=x --flag` as {("a", "b"): 1, ("c",): "x", ("flag",): True}, and faults."""
    given: dict[_Key, Any] = {}
    faults = []
    known = dict(_fields(cls))
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            faults.append(f"argument {word!r}: belongs to no option: write --key value")
            continue
        name, equals, text = word[2:].partition("=")
        key = tuple(name.replace("-", "_").split("."))
        if not equals and (not rest or rest[0].startswith("--")):
            given[key] = True
            continue
        if not equals:
            text = rest.pop(0)
        try:
            given[key] = _parse_value(text, known.get(key))
        except yaml.YAMLError:
            faults.append(f"--{name}: {text!r} is not a YAML value")
    return given, faults


def _parse_value(text: str, field: FieldInfo | None) -> Any:
    """A YAML value; for a key that holds text, words that only look like a number or a boolean stay words."""
    texts = [t for t in _branches(field.annotation) if t in (str, Path) or get_origin(t) is Literal] if field else []
    try:
        value = _parse(text)
    except yaml.YAMLError:
        if texts:
            return text
        raise
    return text if texts and value is not None and not isinstance(value, str) else value


def _put(values: dict[str, Any], key: _Key, value: Any) -> None:
    """Set a dotted key, making sections on the way; what is not a section gives way and is replaced."""
    *sections, last = key
    for name in sections:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[last] = value


def _faults(
    cls: type[Config], error: ValidationError, values: dict[str, Any], given: set[_Key], path: Path | str | None
) -> list[str]:
    found: dict[_Key, str] = {}
    for entry in error.errors():
        # Pydantic appends the branch of a union to the place: follow the data only as far as it goes.
        place: list[str] = []
        node: Any = values
        for part in entry["loc"]:
            inside = part in node if isinstance(node, dict) else isinstance(node, list)
            if inside or entry["type"] == "missing":
                place.append(str(part))
                node = node[part] if inside else None
        found.setdefault(tuple(place), _explain(cls, tuple(place), dict(entry), node))
    lines = []
    for key, what in found.items():
        name = ".".join(key)
        overridden = any(key[: len(option)] == option for option in given)
        source = f"--{name}" if overridden else f"{path}: {name}" if path is not None else name
        lines.append(f"{source}: {what}" if key else f"{path or 'config'}: {what}")
    return lines


def _explain(cls: type[Config], place: _Key, entry: dict[str, Any], value: Any) -> str:
    kind = entry["type"]
    if kind == "missing" and _keys(cls, place):
        return f"is missing: add this section to the YAML (keys: {', '.join(_keys(cls, place))})"
    if kind == "missing":
        return f"is missing: add it to the YAML or pass --{'.'.join(place)}"
    if kind == "extra_forbidden":
        siblings = _keys(cls, place[:-1])
        close = difflib.get_close_matches(place[-1], siblings, n=1)
        # A key of another section is the second most frequent slip.
        moved = [".".join(key) for key, _ in _fields(cls) if key[-1] == place[-1]]
        hint = f"did you mean '{close[0]}'?" if close else f"did you mean '{moved[0]}'?" if moved else ""
        return f"unknown key ({hint or 'known: ' + ', '.join(siblings)})"
    if kind == "value_error":
        return str(entry["ctx"]["error"])
    message = "Input should be a section of keys" if kind == "model_type" else entry["msg"]
    what = f"{message.replace('Input should', 'should', 1)}, and is {_short(value)}"
    if kind == "literal_error" and isinstance(value, str):
        choices = re.findall(r"'([^']*)'", entry["ctx"]["expected"])
        if close := difflib.get_close_matches(value, choices, n=1):
            what += f" (did you mean '{close[0]}'?)"
    return what


def _short(value: Any) -> str:
    text = "a mapping" if isinstance(value, dict) else "empty" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _branches(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _section(field: FieldInfo) -> type[Config] | None:
    for branch in _branches(field.annotation):
        if isinstance(branch, type) and issubclass(branch, Config):
            return branch
    return None


def _fields(cls: type[Config], prefix: _Key = ()) -> Iterator[tuple[_Key, FieldInfo]]:
    """Leaves of the tree of sections."""
    for name, field in cls.model_fields.items():
        section = _section(field)
        if section is not None:
            yield from _fields(section, (*prefix, name))
        else:
            yield (*prefix, name), field


def _keys(cls: type[Config], place: _Key) -> list[str]:
    """The keys of the section at `place`; none where the data went into something that is not a section."""
    section: type[Config] | None = cls
    for name in place:
        field = section.model_fields.get(name) if section else None
        section = _section(field) if field else None
    return list(section.model_fields) if section else []


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    names = [_type_name(branch) if get_origin(branch) is Literal else getattr(branch, "__name__", str(branch))
             for branch in _branches(annotation)]  # fmt: skip
    return "|".join(name for name in names if name != "NoneType").lower()


def _default(field: FieldInfo) -> str | None:
    if field.is_required():
        return None
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else str(value)
