"""The paper's training as one config: stages that share keys, each with a section of its own.

Keys outside the sections hold for all stages. A section may name a recipe (`config: FILE`), which holds where neither
the file nor the command line says otherwise. Precedence: recipe < shared < section, the file < the command line.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rltpf.cli import Parser
from rltpf.config import Findings
from rltpf.errors import InputError
from rltpf.train import options as stage_options
from rltpf.train.options import Kind, Options

VARIANTS = {"rltpf": ("sft", "dpo"), "sft_verified": ("sft",), "sft_all": ("sft_all",)}
"""The stages of the method, and of its ablations: SFT on the verified answers alone, and SFT on all answers."""

_KINDS: dict[str, Kind] = {"sft": "sft", "sft_all": "sft", "dpo": "dpo"}
_DATA = {"sft": "sft", "sft_all": "unpaired", "dpo": "dpo"}
_OF_THE_JOB = {
    "sft": ("output_dir",),
    "sft_all": ("output_dir",),
    "dpo": ("output_dir", "adapter_name_or_path", "model_name_or_path"),
}
_OF_A_STAGE = ("resume_from_checkpoint", "adapter_name_or_path", "eval_dataset_name")
_RECIPE, _FILE, _COMMAND_LINE = range(3)


class _Given(NamedTuple):
    """A value as somebody wrote it; `section` is empty for what all stages share."""

    origin: int
    place: str
    section: str
    key: str
    value: Any

    def rank(self) -> tuple[int, int]:
        """What is written later wins over what comes before."""
        return self.origin, ("", "sft", "sft_all", "dpo").index(self.section)


def read_job(argv: Sequence[str]) -> list[Options]:
    """The stages to run, in their order, from `--config FILE`, `--key value` and `--section.key value`; raises
    `InputError` with every fault found."""
    args, overrides = argument_parser().parse_known_args(argv)
    faults: list[str] = []
    values = _read(args.config, faults) if args.config else {}
    environment = values.pop("env", {})
    given = _of_file(values, args.config, faults)
    for name, words in stage_options.split_words(overrides, faults):
        section, _, key = name.rpartition(".")
        if section and section not in _KINDS:
            faults.append(f"argument `{name}` is unknown: the sections are {', '.join(_KINDS)}")
            continue
        key, value = stage_options.word_value(_KINDS.get(section, "sft"), key, words)
        given.append(_Given(_COMMAND_LINE, "argument", section, key, value))
    recipes = [entry for entry in given if entry.section and entry.key == "config"]
    given = [*_of_recipes(recipes, faults), *(entry for entry in given if entry not in recipes)]
    job, settings = _checked(given, faults)
    faults += stage_options.environment_faults(environment, args.config)
    if faults:
        raise InputError(*faults)
    stages = _stages(job, settings, job.get("variant", "rltpf"))
    faults = _unfit_job(job)
    faults += [f"{section}: {fault}" for section, options in stages.items() for fault in _stage_faults(options.values)]
    if faults:
        raise InputError(*faults)
    os.environ.update({name: str(value) for name, value in environment.items()})
    return list(stages.values())


def examine(values: dict[str, Any], source: str) -> Findings:
    """What is wrong with the values of a file; `source` goes before every fault. Recipes are looked at on their own."""
    faults: list[str] = []
    values = dict(values)
    faults += stage_options.environment_faults(values.pop("env", {}), source)
    given = [entry for entry in _of_file(values, source, faults) if not (entry.section and entry.key == "config")]
    unknown = len(faults)
    job, _ = _checked(given, faults)
    left = [key for key in ("output_dir",) if key not in job]
    sections = any(section in values for section in _KINDS)
    return Findings(faults, left, 2 * (len(faults) - unknown) + (0 if sections else 1))


def argument_parser() -> argparse.ArgumentParser:
    """The parser of `python -m rltpf.train.rltpf`."""
    parser = Parser(
        prog="python -m rltpf.train.rltpf",
        description="SFT on verified answers, then DPO on verified against refuted ones from its result, as one job.",
        epilog="Any option of `rltpf train sft` and `dpo` is accepted: --seed 7 for all stages, --dpo.beta 0.2 for "
        f"one; and --variant {'|'.join(VARIANTS)}.",
    )
    parser.add_argument("--config", metavar="FILE", help="YAML such as configs/train/smollm2_rltpf.yaml")
    return parser


def _read(path: str, faults: list[str]) -> dict[str, Any]:
    values, found = stage_options.read_values(path)
    faults += found
    return values


def _of_file(values: dict[str, Any], source: str, faults: list[str]) -> list[_Given]:
    given = []
    for key, value in values.items():
        if key not in _KINDS:
            given.append(_Given(_FILE, f"{source}: key", "", key, value))
        elif isinstance(value, dict):
            given += [_Given(_FILE, f"{source}: key", key, inner, found) for inner, found in value.items()]
        else:
            faults.append(f"{source}: key `{key}` must map options of that stage to values")
    return given


def _of_recipes(recipes: list[_Given], faults: list[str]) -> list[_Given]:
    """What the recipes of the sections say, without what the job decides."""
    given = []
    for section, path in {entry.section: str(entry.value) for entry in recipes}.items():
        values = _read(path, faults)
        own = (*_OF_THE_JOB[section], *(("adapter_name_or_path",) if section == "dpo" else ()), "dataset_name")
        given += [
            _Given(_RECIPE, f"{path}: key", section, key, value)
            for key, value in values.items()
            if key not in own and key != "env"
        ]
    return given


def _checked(given: list[_Given], faults: list[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The job's own values, and those of each section, shared ones included."""
    job: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {section: {} for section in _KINDS}
    for entry in sorted(given, key=_Given.rank):
        fault, value = _check(entry)
        if fault:
            faults.append(f"{entry.place} {fault}")
        elif entry.section == "sft":
            settings["sft"][entry.key] = value
            if entry.key != "dataset_name":
                settings["sft_all"][entry.key] = value
        elif entry.section:
            settings[entry.section][entry.key] = value
        elif entry.key in ("variant", "output_dir", "dataset_name"):
            job[entry.key] = value
        else:
            for section in _KINDS:
                # The adapter that DPO goes on from has its own.
                if section != "dpo" or not (entry.key == "use_peft" or entry.key == "model_name_or_path"):
                    settings[section][entry.key] = value
    return job, settings


def _check(entry: _Given) -> tuple[str, Any]:
    """A fault (or "") and the value as its type."""
    key = entry.key
    if entry.section:
        if key in _OF_THE_JOB[entry.section]:
            return f"`{entry.section}.{key}`: the job decides it, leave it out", None
        fault, value = stage_options.check_value(_KINDS[entry.section], key, entry.value)
        named = fault.replace("`", f"`{entry.section}.", 1)
        return named.replace("did you mean `", f"did you mean `{entry.section}."), value
    if key == "variant":
        if entry.value in VARIANTS:
            return "", entry.value
        return f"`variant`: {entry.value!r} is none of {', '.join(VARIANTS)}", None
    if key in _OF_A_STAGE:
        return f"`{key}` is of one stage: write it into its section, such as `sft.{key}`", None
    known = [kind for kind in ("sft", "dpo") if key in stage_options.known_options(kind)]
    if len(known) == 1:
        return f"`{key}` is an option of {known[0].upper()} alone: write it into the section `{known[0]}`", None
    if not known:
        names = {*stage_options.known_options("sft"), *stage_options.known_options("dpo"), "variant", *_KINDS}
        close = difflib.get_close_matches(key, sorted(names), n=1)
        return f"`{key}` is unknown: " + (f"did you mean `{close[0]}`?" if close else "no stage has it"), None
    return stage_options.check_value("sft", key, entry.value)


def _unfit_job(job: dict[str, Any]) -> list[str]:
    if "output_dir" not in job:
        return ["`output_dir` is missing: pass --output_dir"]
    name = job.get("dataset_name")
    if name is not None and not Path(name).is_dir():
        return [
            f"dataset_name {name}: is no folder: give the output_dir of `rltpf generate`, or a data set to each stage "
            "(--sft.dataset_name, --dpo.dataset_name)"
        ]
    return []


def _stages(job: dict[str, Any], settings: dict[str, dict[str, Any]], variant: str) -> dict[str, Options]:
    folder = Path(job.get("output_dir", ""))
    for section, values in settings.items():
        values["output_dir"] = str(folder / section)
        if "dataset_name" in job:
            values.setdefault("dataset_name", str(_data_set(Path(job["dataset_name"]), _DATA[section])))
    sft, dpo = settings["sft"], settings["dpo"]
    if sft.get("use_peft") or sft.get("adapter_name_or_path"):
        dpo["model_name_or_path"] = sft.get("model_name_or_path")
        dpo["adapter_name_or_path"] = sft["output_dir"]
    else:
        dpo["model_name_or_path"] = sft["output_dir"]
    return {section: Options(_KINDS[section], settings[section], []) for section in VARIANTS[variant]}


def _data_set(folder: Path, name: str) -> Path:
    """In the output of `rltpf generate` a file, and in its folder `dataset` a folder."""
    return folder / name if (folder / "dataset_dict.json").is_file() else folder / f"{name}.jsonl"


def _stage_faults(values: dict[str, Any]) -> list[str]:
    return stage_options.missing_faults(values) or stage_options.conflicts(values)
