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
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails

from rltpf.errors import InputError


class Config(BaseModel):
    """Base of every section: unknown keys are refused, values are never changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    one_line: ClassVar[bool] = False
    """Whether `--help` has one line for such a section instead of one for each of its keys."""


ConfigT = TypeVar("ConfigT", bound=Config)
_Key = tuple[str, ...]


class Missing(ValueError):
    """Raised by a validator of a key that something else makes required; a file may leave it to the command line."""


def faults_at(faults: Sequence[tuple[_Key, str]]) -> ValidationError:
    """What a validator of a section raises where the faults are of keys inside of it."""
    return ValidationError.from_exception_data(
        "config",
        [
            InitErrorDetails(type="value_error", loc=key, input=None, ctx={"error": ValueError(what)})
            for key, what in faults
        ],
    )


SAME_RESULTS: dict[str, Any] = {"affects_results": False}
"""`json_schema_extra` of fields that change how a run goes but not what it finds: a resumed run may change them."""


_LARGEST = 10**6  # bytes of a file: what is larger is no config, but weights or data given by mistake
_MOST_VALUES = 10_000  # aliases of aliases can stand for more than any memory holds
_DEEPEST = 50


class Findings(NamedTuple):
    """What is to be said of a config file that is looked at without its command line."""

    faults: list[str]
    left: list[str]
    """Required keys that the file leaves to the command line."""
    strangeness: float
    """How little its keys look like those of this config: 1 for each that is close to a known one, 2 for others, and a
    tenth of it inside of a section, which says less than that the section is there."""


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
    values = read_yaml(Path(path)) if path is not None else {}
    given, faults = _overrides(cls, overrides)
    for key, value in given.items():
        _put(values, key, value)
    config, found = _validate(cls, values, in_file=path is not None)
    faults += [f"{_source(fault, set(given), path)}: {fault.what}" for fault in found]
    if found and path is None and not overrides:
        ways = "pass --config FILE (see configs/), or --KEY VALUE for each key (see --help)"
        faults = [f"config: nothing is given: {ways}"]
    if faults or config is None:
        raise InputError(*faults)
    return config


def examine(cls: type[Config], values: dict[str, Any], source: str) -> Findings:
    """What is wrong with the values of a file; `source` goes before every fault."""
    _, found = _validate(cls, values)
    left = [".".join(key) for fault in found if fault.kind == "missing" for key in _required(cls, fault.key)]
    wrong = [fault for fault in found if fault.kind != "missing"]
    unknown = [fault for fault in wrong if fault.kind == "extra_forbidden"]
    return Findings(
        [f"{_source(fault, set(), source)}: {fault.what}" for fault in wrong],
        left,
        sum((1 if "did you mean" in fault.what else 2) / 10 ** (len(fault.key) - 1) for fault in unknown),
    )


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; raises `InputError` where there is none, or one that can be no config."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise InputError(f"{path}: is larger than a megabyte: a config is a YAML file")
        values = _parse(data.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: a config is a YAML file") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        place = f"{path}:{error.problem_mark.line + 1}" if error.problem_mark else str(path)
        raise InputError(f"{place}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise InputError(f"{path}: is not YAML text: it holds control characters") from None
    except RecursionError:
        raise InputError(f"{path}: is not usable YAML: {_TOO_DEEP}") from None
    if values is None:
        raise InputError(f"{path}: is empty: write `key: value` lines")
    if not isinstance(values, dict):
        raise InputError(f"{path}: is {_short(values)}, and has to be a mapping: write `key: value` lines")
    if fault := _unusable(values):
        raise InputError(f"{path}: is not usable YAML: {fault}")
    return values


def dump(config: Config, defaults: bool = True) -> str:
    """The resolved config as YAML that `load` reads back. Without secrets: API keys come from the environment alone.

    Without `defaults` what is as the default is left out, which gives the same config too.
    """
    values = config.model_dump(mode="json", exclude_defaults=not defaults)
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def describe(cls: type[Config]) -> list[Option]:
    """Every key of a config with type, default and docstring, nested sections as dotted keys."""
    return [
        Option(".".join(path), _type_name(field.annotation), _default(field), inspect.cleandoc(field.description or ""))
        for path, field in _fields(cls, whole=False)
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
            # A section may leave out of its JSON what was not given.
            elif field.json_schema_extra != SAME_RESULTS and name in plain:
                flat[prefix + name] = plain[name]

    visit(config, "")
    return flat


class _Loader(yaml.SafeLoader):
    """YAML with `1e-4` as a number, as in YAML 1.2; keys that are no text, or there already, are refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, "`<<` is not supported: write the keys out", key_node.start_mark
                )
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is no text", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        # What PyYAML lets through at 2024-13-45, at `!!bool x`, and at an integer of 5000 digits.
        except (ValueError, LookupError, AttributeError):
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"{_short(node.value)} is no usable {kind}", node.start_mark
            ) from None


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


_TOO_DEEP = f"it nests more than {_DEEPEST} deep, or an alias stands inside its own anchor"


def _unusable(value: Any) -> str:
    """Why a YAML value can be no value of a config, whichever; empty where it can."""
    nodes = [(value, 0)]
    seen = 0
    while nodes:
        node, depth = nodes.pop()
        seen += 1
        if depth > _DEEPEST:
            return _TOO_DEEP
        if seen > _MOST_VALUES:
            return f"it holds more than {_MOST_VALUES} values, with those that aliases stand for"
        if isinstance(node, dict):
            nodes += [(inner, depth + 1) for item in node.items() for inner in item]
        elif isinstance(node, list):
            nodes += [(inner, depth + 1) for inner in node]
        # Neither can be in the name of a file, and half a character cannot be in UTF-8 at all.
        elif isinstance(node, str) and re.search("[\0\ud800-\udfff]", node):
            return f"{_short(node)} holds a zero byte or half a character"
        # Those who take the numbers, torch and servers among them, overflow.
        elif isinstance(node, int) and not -(2**63) <= node < 2**63:
            return f"{_short(node)} has more than 64 bits"
    return ""


def _validate(cls: type[ConfigT], values: dict[str, Any], in_file: bool = True) -> tuple[ConfigT | None, list[_Fault]]:
    """The config, and what is wrong with these values; `in_file` says whether there is a file to mend."""
    empty = [_Fault(key, "empty_path", "has to be a path, and is empty") for key in _empty_paths(cls, values)]
    try:
        # JSON mode is the strictness that fits YAML: lists for tuples, strings for paths, and no other conversion.
        return cls.model_validate_json(json.dumps(values, default=str), strict=True), empty
    except ValidationError as error:
        return None, _faults(cls, error, values, in_file) + empty


def _empty_paths(cls: type[Config], values: dict[str, Any]) -> Iterator[_Key]:
    """The keys with an empty path, which Python takes for the current folder."""
    for key, field in _fields(cls):
        node: Any = values
        for name in key:
            node = node.get(name) if isinstance(node, dict) else None
        if node == "" and Path in _branches(field.annotation):
            yield key


def _overrides(cls: type[Config], words: Sequence[str]) -> tuple[dict[_Key, Any], list[str]]:
    """`--a.b 1 --c=x --flag` as {("a", "b"): 1, ("c",): "x", ("flag",): True}, and faults."""
    given: dict[_Key, Any] = {}
    seen: set[_Key] = set()
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
        if key in seen:
            faults.append(f"--{name}: is given twice")
        seen.add(key)
        if not equals and (not rest or rest[0].startswith("--")):
            if _keys(cls, key):
                faults.append(f"--{name}: is a section: write --{name}.KEY VALUE")
            elif key in known and bool not in _branches(known[key].annotation):
                faults.append(f"--{name}: has no value: write --{name} VALUE")
            else:
                given[key] = True
            continue
        if not equals:
            text = rest.pop(0)
        try:
            value = _parse_value(text, known.get(key))
        except (yaml.YAMLError, RecursionError):
            faults.append(f"--{name}: {_short(text)} is not a YAML value")
            continue
        if fault := _unusable(value):
            faults.append(f"--{name}: is not usable: {fault}")
        else:
            given[key] = value
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


class _Fault(NamedTuple):
    key: _Key
    kind: str
    what: str


def _faults(cls: type[Config], error: ValidationError, values: dict[str, Any], in_file: bool) -> list[_Fault]:
    found: dict[_Key, _Fault] = {}
    listed: set[_Key] = set()  # sections whose keys a line has told
    for entry in error.errors():
        # Pydantic appends the branch of a union to the place: follow the data only as far as it goes.
        place: list[str] = []
        node: Any = values
        for part in entry["loc"]:
            inside = part in node if isinstance(node, dict) else isinstance(node, list) and isinstance(part, int)
            if inside or part in _keys(cls, tuple(place)):
                place.append(str(part))
                node = node[part] if inside else None
        key = tuple(place)
        left = isinstance(entry.get("ctx", {}).get("error"), Missing)
        what = _explain(cls, key, dict(entry), node, in_file)
        if entry["type"] == "extra_forbidden" and not what:
            known = "listed above" if key[:-1] in listed else ", ".join(_keys(cls, key[:-1]))
            listed.add(key[:-1])
            what = f"unknown key (known: {known})"
        found.setdefault(key, _Fault(key, "missing" if left else entry["type"], what))
    return list(found.values())


def _source(fault: _Fault, given: set[_Key], path: Path | str | None) -> str:
    """Where a value comes from, and its key."""
    key, name = fault.key, ".".join(fault.key)
    # An option for a key inside what is no section makes a section of it.
    inside = fault.kind != "value_error"
    if any(key[: len(option)] == option or (inside and key == option[: len(key)]) for option in given):
        return f"--{name}"
    return ": ".join(filter(None, (str(path or ""), name))) or "config"


def _explain(cls: type[Config], place: _Key, entry: dict[str, Any], value: Any, in_file: bool) -> str:
    """What is wrong; empty for an unknown key that is like none of those that are known."""
    kind, name = entry["type"], ".".join(place)
    if kind == "missing" and _keys(cls, place):
        way = "add this section to the YAML" if in_file else f"pass --{name}.KEY VALUE"
        return f"is missing: {way} (keys: {', '.join(_keys(cls, place))})"
    if kind == "missing":
        # No option reaches into a list.
        ways = ["add it to the YAML"] * in_file + [f"pass --{name}"] * (not any(map(str.isdigit, place)))
        return f"is missing: {' or '.join(ways)}"
    if kind == "extra_forbidden":
        siblings = _keys(cls, place[:-1])
        close = difflib.get_close_matches(place[-1], siblings, n=1)
        # A key of another section is the second most frequent slip.
        moved = [".".join(key) for key, _ in _fields(cls) if key[-1] == place[-1]]
        hint = f"did you mean '{close[0]}'?" if close else f"did you mean '{moved[0]}'?" if moved else ""
        return hint and f"unknown key ({hint})"
    if kind == "value_error":
        return str(entry["ctx"]["error"])
    message = {"model_type": "Input should be a section of keys", "tuple_type": "Input should be a list"}.get(
        kind, entry["msg"]
    )
    what = f"{message.partition(' ')[2]}, and is {_short(value)}"
    if kind == "string_type" and isinstance(value, bool | int | float):
        what += " (in quotes it is text)"
    if kind == "literal_error" and isinstance(value, str):
        choices = re.findall(r"'([^']*)'", entry["ctx"]["expected"])
        if close := difflib.get_close_matches(value, choices, n=1):
            what += f" (did you mean '{close[0]}'?)"
    return what


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = "empty" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _branches(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _section(annotation: Any) -> type[Config] | None:
    for branch in _branches(annotation):
        if isinstance(branch, type) and issubclass(branch, Config):
            return branch
    return None


def _fields(cls: type[Config], prefix: _Key = (), whole: bool = True) -> Iterator[tuple[_Key, FieldInfo]]:
    """Leaves of the tree of sections; where it is not the whole tree, sections of `one_line` are leaves."""
    for name, field in cls.model_fields.items():
        section = _section(field.annotation)
        if section is not None and (whole or not section.one_line):
            yield from _fields(section, (*prefix, name), whole)
        else:
            yield (*prefix, name), field


def _required(cls: type[Config], place: _Key) -> Iterator[_Key]:
    """The required keys at `place`: itself, or those of the section there."""
    fields = _keys(cls, place)
    if not fields:
        yield place
    for name, field in fields.items():
        if field.is_required():
            yield from _required(cls, (*place, name))


def _keys(cls: type[Config], place: _Key) -> dict[str, FieldInfo]:
    """The keys of the section at `place`; none where the data went into something that is not a section."""
    annotation: Any = cls
    for name in place:
        annotation = _inner(annotation, name)
    section = _section(annotation)
    return section.model_fields if section else {}


def _inner(annotation: Any, name: str) -> Any:
    """The type of the key `name` of a section, or of an element of a list; None where there is none."""
    if section := _section(annotation):
        field = section.model_fields.get(name)
        return field.annotation if field else None
    lists = [branch for branch in _branches(annotation) if get_origin(branch) in (list, tuple)]
    return get_args(lists[0])[0] if lists and name.isdigit() else None


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) in (Union, types.UnionType):
        return "|".join(_type_name(branch) for branch in _branches(annotation) if branch is not types.NoneType)
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return "section"
    return getattr(annotation, "__name__", str(annotation)).lower()


def _default(field: FieldInfo) -> str | None:
    if field.is_required():
        return None
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else str(value)
