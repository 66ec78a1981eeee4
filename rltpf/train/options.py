"""Training options, checked before torch is imported: the names are read from TRL's source, not from TRL.

Importing TRL's configuration classes takes about six seconds, parsing the files that define them a tenth of one. So a
typing mistake in a YAML or on the command line is reported at once, all faults together, and every option of the
installed TRL works without a list to maintain.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Optional

import yaml
from pydantic import TypeAdapter, ValidationError

from rltpf.errors import InputError

Kind = Literal["sft", "dpo"]


@dataclass
class AdapterArguments:
    """What we add to TRL's options."""

    adapter_name_or_path: str | None = field(
        default=None,
        metadata={"help": "Folder of a LoRA adapter to start from. DPO takes a frozen copy of it as the reference."},
    )
    eval_dataset_name: str | None = field(
        default=None, metadata={"help": "Data set to evaluate on; the test split of dataset_name when not given."}
    )
    overwrite_output_dir: bool = field(
        default=False, metadata={"help": "Start again: remove the checkpoints and the state of an earlier run."}
    )


# Where the dataclasses behind the options live: (package, file, class).
_CLASSES: dict[Kind, list[tuple[str, str, str]]] = {
    kind: [
        ("transformers", "training_args.py", "TrainingArguments"),
        ("trl", "trainer/base_config.py", "_BaseConfig"),
        ("trl", f"trainer/{kind}_config.py", f"{kind.upper()}Config"),
        ("trl", "trainer/model_config.py", "ModelConfig"),
        ("trl", "scripts/utils.py", "ScriptArguments"),
        ("trl", "scripts/utils.py", "DatasetMixtureConfig"),
    ]
    for kind in ("sft", "dpo")
}


class _Names(dict[str, Any]):
    """Names that an annotation may use; the types that only TRL knows count as anything."""

    def __missing__(self, name: str) -> Any:
        builtin = {"str": str, "int": int, "float": float, "bool": bool, "dict": dict, "list": list}
        return builtin.get(name, {"Optional": Optional, "Literal": Literal}.get(name, Any))


@cache
def known_options(kind: Kind) -> dict[str, Any]:
    """Name and type of every option of `kind`, read from the source of the installed TRL and transformers."""
    options: dict[str, Any] = {"adapter_name_or_path": str | None, "eval_dataset_name": str | None}
    options["overwrite_output_dir"] = bool
    for package, file, name in _CLASSES[kind]:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise InputError(f"{package} is not installed: `pip install {package}`")
        tree = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8"))
        definition = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        for node in definition.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
                annotation = compile(ast.Expression(node.annotation), file, "eval")
                options[node.target.id] = eval(annotation, {}, _Names())  # source of an installed package, not input
    return options


@dataclass(frozen=True)
class Options:
    """Checked options of one run: `values` merges YAML and command line; `argv` is what TrlParser is given."""

    kind: Kind
    values: dict[str, Any]
    argv: list[str]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)


def read_options(kind: Kind, argv: Sequence[str]) -> Options:
    """Options from `--config FILE` and `--key value` arguments; raises `InputError` with every fault found.

    The `env` block of the file is put into the environment here, before a library that reads it is imported.
    """
    parser = argument_parser(kind)
    args, overrides = parser.parse_known_args(argv)
    values, faults = _read_yaml(args.config) if args.config else ({}, [])
    environment = values.pop("env", {})
    checked: dict[str, Any] = {}
    given = [(f"{args.config}: key", key, value) for key, value in values.items()]
    split = _split(overrides, faults)
    given += [("argument", *_value(kind, name, words)) for name, words in split]
    for place, key, value in given:
        fault, value = _check(kind, key, value)
        if fault:
            faults.append(f"{place} {fault}")
        else:
            checked[key] = value
    if not isinstance(environment, dict):
        faults.append(f"{args.config}: key `env` must map names to values")
    faults += [] if faults else _required(checked)
    if faults:
        raise InputError(*faults)
    os.environ.update({name: str(value) for name, value in environment.items()})
    words = [word for name, words in split for word in (f"--{name}", *words)]
    return Options(kind, checked, [*(["--config", args.config] if args.config else []), *words])


def argument_parser(kind: Kind) -> argparse.ArgumentParser:
    """The parser of `python -m rltpf.train.sft` and `.dpo`; all other arguments are TRL's."""
    parser = argparse.ArgumentParser(
        prog=f"python -m rltpf.train.{kind}",
        allow_abbrev=False,
        description=f"Train with TRL's {kind.upper()}Trainer.",
        epilog=f"Any option of TRL's {kind.upper()}Config, ModelConfig and ScriptArguments overrides the file, such as "
        "--learning_rate 1e-4; and --adapter_name_or_path, --eval_dataset_name, --overwrite_output_dir.",
    )
    parser.add_argument("--config", metavar="FILE", help="YAML in TRL's flat format, such as configs/train/*.yaml")
    return parser


def _read_yaml(path: str) -> tuple[dict[str, Any], list[str]]:
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        return {}, [f"{path}: {error.strerror or error}; --config takes a YAML file such as configs/train/*.yaml"]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return {}, [f"{path}: not YAML: {' '.join(str(error).split())}"]
    except RecursionError:
        return {}, [f"{path}: not usable YAML: it nests too deep"]
    if not isinstance(values, dict):
        return {}, [f"{path}: holds no `key: value` pairs"]
    return {str(key): value for key, value in values.items()}, []


def _split(overrides: Sequence[str], faults: list[str]) -> list[tuple[str, list[str]]]:
    """`--a 1 --b=x y --c` as [("a", ["1"]), ("b", ["x", "y"]), ("c", [])]; stray words become faults."""
    found: list[tuple[str, list[str]]] = []
    for word in overrides:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found.append((name.replace("-", "_"), [value] if equals else []))
        elif found:
            found[-1][1].append(word)
        else:
            faults.append(f"argument `{word}` belongs to no option: write --key value")
    return found


def _value(kind: Kind, name: str, words: list[str]) -> tuple[str, Any]:
    """Key and value of one argument: a flag without words is true, `--no_flag` false, several words are a list."""
    if not words and name.startswith("no_") and known_options(kind).get(name[3:]) in (bool, bool | None):
        return name[3:], False
    return name, words[0] if len(words) == 1 else words or True


def _check(kind: Kind, key: str, value: Any) -> tuple[str, Any]:
    """A fault (or "") and the value as its type; one value stands for a list of one, as in TRL."""
    options = known_options(kind)
    if key not in options:
        close = difflib.get_close_matches(key, options, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"TRL's {kind.upper()}Config has no such option"
        return f"`{key}` is unknown: {hint}", None
    adapter = TypeAdapter(options[key])
    try:
        return "", adapter.validate_python(value)
    except ValidationError as error:
        try:
            return "", adapter.validate_python([value])
        except ValidationError:
            return f"`{key}`: {value!r} does not fit: {error.errors()[0]['msg'].lower()}", None


def _required(values: dict[str, Any]) -> list[str]:
    faults = [
        f"`{key}` is missing: add it to the YAML or pass --{key}"
        for key in ("model_name_or_path", "output_dir")
        if not values.get(key)
    ]
    if not values.get("dataset_name") and not values.get("datasets"):
        faults.append("`dataset_name` is missing: pass --dataset_name with a .jsonl file, a folder or a hub id")
    if values.get("dataset_streaming") or values.get("streaming"):
        faults.append("streaming is not supported: the rows are checked before the training starts")
    if values.get("adapter_name_or_path") and values.get("use_peft"):
        faults.append(
            "`adapter_name_or_path` goes on training that adapter and `use_peft` makes a new one: "
            "give one of the two (--use_peft false)"
        )
    if values.get("learning_rate", 1.0) <= 0:
        faults.append(f"`learning_rate` is {values['learning_rate']}: nothing would be learned")
    return faults
