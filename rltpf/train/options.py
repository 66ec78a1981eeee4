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
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Optional, Union

from pydantic import TypeAdapter, ValidationError

from rltpf.cli import Parser
from rltpf.config import Findings, read_yaml
from rltpf.errors import InputError
from rltpf.train.versions import check_versions

Kind = Literal["sft", "dpo", "kto"]


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
    max_truncated: float = field(
        default=0.1, metadata={"help": "Share of the rows that max_length may cut or drop before the run is refused."}
    )
    overwrite_output_dir: bool = field(
        default=False, metadata={"help": "Start again: remove the checkpoints and the state of an earlier run."}
    )


# Where the dataclasses behind the options live: (package, file, class).
_CLASSES: dict[str, list[tuple[str, str, str]]] = {
    kind: [
        ("rltpf", "train/options.py", "AdapterArguments"),
        ("transformers", "training_args.py", "TrainingArguments"),
        ("trl", "trainer/base_config.py", "_BaseConfig"),
        ("trl", f"trainer/{kind}_config.py", f"{kind.upper()}Config"),
        ("trl", "trainer/model_config.py", "ModelConfig"),
        ("trl", "scripts/utils.py", "ScriptArguments"),
        ("trl", "scripts/utils.py", "DatasetMixtureConfig"),
    ]
    for kind in ("sft", "dpo", "kto")
}
_CLASSES["accelerate"] = [
    ("accelerate", "commands/config/config_args.py", name) for name in ("BaseConfig", "ClusterConfig")
]
_OWNERS = {
    "sft": "TRL's SFTConfig",
    "dpo": "TRL's DPOConfig",
    "kto": "TRL's KTOConfig",
    "accelerate": "accelerate's ClusterConfig",
}
_POSITIVE = (
    "learning_rate", "num_train_epochs", "per_device_train_batch_size", "gradient_accumulation_steps", "max_length",
    "lora_r",
)  # fmt: skip
_NEEDED = {
    "model_name_or_path": "--model_name_or_path",
    "output_dir": "--output_dir",
    "dataset_name": "--dataset_name with a .jsonl file, a folder or a hub id",
}


class _Names(dict[str, Any]):
    """Names that an annotation may use; the types that only TRL knows count as anything."""

    def __missing__(self, name: str) -> Any:
        builtin = {"str": str, "int": int, "float": float, "bool": bool, "dict": dict, "list": list}
        return builtin.get(name, {"Optional": Optional, "Union": Union, "Literal": Literal}.get(name, Any))


@cache
def known_options(kind: str) -> dict[str, Any]:
    """Name and type of every option of `sft`, `dpo` or `kto`, read from the source of the installed TRL and
    transformers, or of a config file of `accelerate`."""
    options: dict[str, Any] = {}
    # Another version may have other files and classes.
    check_versions()
    for package, file, name in _CLASSES[kind]:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise InputError(f"{package} is not installed: `pip install {package}`")
        try:
            tree = ast.parse((Path(spec.origin).parent / file).read_text(encoding="utf-8"))
            definition = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        except (OSError, StopIteration):
            raise InputError(
                f"{package} {version(package)} has no {name} in {file}: install the version in constraints.txt"
            ) from None
        for node in definition.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
                annotation = compile(ast.Expression(node.annotation), file, "eval")
                options[node.target.id] = eval(annotation, {}, _Names())  # source of an installed package, not input
    return options


@dataclass(frozen=True)
class Options:
    """Checked options of one run: `values` merges YAML and command line; `argv` are the words of the latter, which
    TRL's parser checks once more."""

    kind: Kind
    values: dict[str, Any]
    argv: list[str]

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def published(self) -> dict[str, Any]:
        """What repeats the run, without what belongs to one start of it or to nobody else."""
        return {key: value for key, value in self.values.items() if key not in ("overwrite_output_dir", "hub_token")}


def read_options(kind: Kind, argv: Sequence[str]) -> Options:
    """Options from `--config FILE` and `--key value` arguments; raises `InputError` with every fault found.

    The `env` block of the file is put into the environment here, before a library that reads it is imported.
    """
    parser = argument_parser(kind)
    args, overrides = parser.parse_known_args(argv)
    values, faults = read_values(args.config) if args.config else ({}, [])
    environment = values.pop("env", {})
    checked: dict[str, Any] = {}
    given = [(f"{args.config}: key", key, value) for key, value in values.items()]
    split = split_words(overrides, faults)
    given += [("argument", *word_value(kind, name, words)) for name, words in split]
    for place, key, value in given:
        fault, value = check_value(kind, key, value)
        if fault:
            faults.append(f"{place} {fault}")
        else:
            checked[key] = value
    faults += environment_faults(environment, args.config)
    if not faults:
        way = "add it to the YAML or pass" if args.config else "pass"
        faults = missing_faults(checked, way) + conflicts(checked)
    if faults:
        raise InputError(*faults)
    os.environ.update({name: str(value) for name, value in environment.items()})
    return Options(kind, checked, [word for name, words in split for word in (f"--{name}", *words)])


def examine(kind: str, values: dict[str, Any], source: str) -> Findings:
    """What is wrong with the values of a file for training or for accelerate; `source` goes before every fault."""
    faults, checked, strangeness = [], {}, 0
    training = kind != "accelerate"
    for key, value in values.items():
        if key == "env" and training:
            faults += environment_faults(value, source)
            continue
        fault, checked[key] = check_value(kind, key, value)
        if fault:
            faults.append(f"{source}: key {fault}")
        if key not in known_options(kind):
            strangeness += 1 if "did you mean" in fault else 2
    if training and not faults:
        faults = [f"{source}: {fault}" for fault in conflicts(checked)]
    return Findings(faults, _missing(values) if training else [], strangeness)


def argument_parser(kind: Kind) -> argparse.ArgumentParser:
    """The parser of `python -m rltpf.train.sft`, `.dpo` and `.kto`; all other arguments are TRL's."""
    parser = Parser(
        prog=f"python -m rltpf.train.{kind}",
        description=f"Train with TRL's {kind.upper()}Trainer.",
        epilog=f"Any option of TRL's {kind.upper()}Config, ModelConfig and ScriptArguments overrides the file, such as "
        "--learning_rate 1e-4; and --adapter_name_or_path, --eval_dataset_name, --max_truncated, "
        "--overwrite_output_dir.",
    )
    parser.add_argument("--config", metavar="FILE", help="YAML in TRL's flat format, such as configs/train/*.yaml")
    return parser


def read_values(path: str) -> tuple[dict[str, Any], list[str]]:
    """The mapping in a YAML file, or what is wrong with the file."""
    try:
        return read_yaml(Path(path)), []
    except InputError as error:
        return {}, list(error.faults)


def split_words(overrides: Sequence[str], faults: list[str]) -> list[tuple[str, list[str]]]:
    """`--a 1 --b=x y --c` as [("a", ["1"]), ("b", ["x", "y"]), ("c", [])]; stray words become faults."""
    found: list[tuple[str, list[str]]] = []
    for word in overrides:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            key = name.replace("-", "_")
            if key in (earlier for earlier, _ in found):
                faults.append(f"argument `{key}` is given twice")
            found.append((key, [value] if equals else []))
        elif found:
            found[-1][1].append(word)
        else:
            faults.append(f"argument `{word}` belongs to no option: write --key value")
    return found


def word_value(kind: Kind, name: str, words: list[str]) -> tuple[str, Any]:
    """Key and value of one argument: a flag without words is true, `--no_flag` false, several words are a list."""
    if not words and name.startswith("no_") and known_options(kind).get(name[3:]) in (bool, bool | None):
        return name[3:], False
    return name, words[0] if len(words) == 1 else words or True


def check_value(kind: str, key: str, value: Any) -> tuple[str, Any]:
    """A fault (or "") and the value as its type; one value stands for a list of one, as in TRL."""
    options = known_options(kind)
    if key not in options:
        close = difflib.get_close_matches(key, options, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"{_OWNERS[kind]} has no such option"
        return f"`{key}` is unknown: {hint}", None
    adapter = TypeAdapter(options[key])
    try:
        # A boolean is no number: that is a flag's value, where there is none.
        checked = adapter.validate_python(value, strict=isinstance(value, bool))
        return f"`{key}`: nan does not fit: it is no number" if checked != checked else "", checked
    except ValidationError as error:
        try:
            return "", adapter.validate_python([value])
        except ValidationError:
            return f"`{key}`: {value!r} does not fit: {error.errors()[0]['msg'].lower()}", None


def environment_faults(environment: Any, source: str) -> list[str]:
    """What is wrong with the `env` block of a file."""
    return [] if isinstance(environment, dict) else [f"{source}: key `env` must map names to values"]


def missing_faults(values: dict[str, Any], way: str = "pass") -> list[str]:
    """A line for everything that a run needs and these values lack."""
    return [f"`{key}` is missing: {way} {_NEEDED[key]}" for key in _missing(values)]


def _missing(values: dict[str, Any]) -> list[str]:
    """What a run needs and these values lack."""
    return [key for key in _NEEDED if not values.get(key) and not (key == "dataset_name" and values.get("datasets"))]


def conflicts(values: dict[str, Any]) -> list[str]:
    """Options that are sound each, and of no use together."""
    faults = []
    if values.get("dataset_streaming") or values.get("streaming"):
        faults.append("streaming is not supported: the rows are checked before the training starts")
    if values.get("adapter_name_or_path") and values.get("use_peft"):
        faults.append(
            "`adapter_name_or_path` goes on training that adapter and `use_peft` makes a new one: "
            "give one of the two (--use_peft false)"
        )
    if values.get("save_only_model"):
        faults.append(
            "`save_only_model` leaves out of a checkpoint what a stopped training needs to go on: drop it, the trained "
            "model is saved in the end without optimizer"
        )
    if not 0 <= values.get("max_truncated", 0) <= 1:
        faults.append(f"`max_truncated` is {values['max_truncated']}: it is a share of the rows, from 0 to 1")
    faults += [
        f"`{key}` is {values[key]}: nothing would be learned"
        for key in _POSITIVE
        if values.get(key) is not None and values[key] <= 0
    ]
    return faults
