"""What is wrong with a command of the documentation, found by the real parsers without running it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import pages

from rltpf import cli, config_commands
from rltpf.config import load
from rltpf.errors import InputError
from rltpf.train import job, options

_CLASSES = {command: place for command, place in config_commands._TARGETS.values() if place}


def fault(command: str) -> str:
    """Why the command cannot be what it means, in the folder where this process is; empty where nothing is wrong."""
    program, *words = itertools.dropwhile(re.compile(r"[A-Z_]+=").match, shlex.split(command))
    if program == "rltpf":
        return _rltpf(words)
    if program == "sbatch":
        return _sbatch(words)
    if program == "make":
        return _make(words)
    if program == "accelerate":
        return _accelerate(words)
    if program == "python":
        return _python(words)
    return ""


def _rltpf(words: list[str]) -> str:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            args, overrides = cli.build_parser().parse_known_args(cli._join_overrides(words))
        return _given(args, overrides)
    except SystemExit:
        return said.getvalue()
    except InputError as error:
        return str(error)


def _given(args: Any, overrides: list[str]) -> str:
    """The faults of what the command's own config makes of the words."""
    name = " ".join(filter(None, ("rltpf", args.command, getattr(args, "kind", ""), getattr(args, "action", ""))))
    if name in _CLASSES:
        if not getattr(args, "list", False):
            module, _, cls = _CLASSES[name].partition(":")
            path = args.pipeline if args.command == "submit" else args.config
            load(getattr(importlib.import_module(module), cls), path, overrides)
    elif name in ("rltpf train sft", "rltpf train dpo", "rltpf train kto", "rltpf train rltpf"):
        _train(args.kind, [*(("--config", args.config) if args.config else ()), *overrides])
    elif name == "rltpf config validate":
        files = [path for pattern in args.files for path in sorted(Path().glob(str(pattern)))]
        config_commands.validate(type(args)(files=files, target=args.target), overrides)
    else:
        cli.refuse_overrides(overrides)
    return ""


def _sbatch(words: list[str]) -> str:
    """Of the command that the job will run; the options before its file are SLURM's."""
    file, *rest = itertools.dropwhile(lambda word: word.startswith("-"), words)
    path = pages.ROOT / file
    if not path.exists():
        return f"there is no {file}"
    if path.stem == "evaluate":
        models = rest[1 : rest.index("--")]
        given = rest[rest.index("--") + 1 :]
        faults = [_rltpf(["evaluate", "--llm.model", model, "--output_dir", rest[0], *given]) for model in models]
        return "".join(dict.fromkeys(faults))
    return _rltpf([path.stem, *rest])


def _train(kind: Any, words: list[str]) -> None:
    if kind != "rltpf":
        options.read_options(kind, words)
        return
    # The job asks whether there is such a folder of data.
    if "--dataset_name" in words:
        Path(words[words.index("--dataset_name") + 1]).mkdir(parents=True, exist_ok=True)
    job.read_job(words)


def _make(words: list[str]) -> str:
    targets = re.findall(r"^([\w-]+):", (pages.ROOT / "Makefile").read_text(), re.MULTILINE)
    unknown = [word for word in words if "=" not in word and word not in targets]
    return f"the Makefile has no {unknown[0]}" if unknown else ""


def _accelerate(words: list[str]) -> str:
    launch, option, config, dash, module, *rest = words
    if (launch, option, dash) != ("launch", "--config_file", "-m"):
        return "is read as `accelerate launch --config_file FILE -m MODULE`"
    try:
        config_commands.validate(type("Args", (), {"files": [Path(config)], "target": "accelerate"})(), [])
        _train(module.removeprefix("rltpf.train."), rest)
    except InputError as error:
        return str(error)
    return ""


def _python(words: list[str]) -> str:
    if words[0] == "-m":
        return "" if importlib.util.find_spec(words[1]) else f"there is no module {words[1]}"
    return "" if (pages.ROOT / words[0]).exists() else f"there is no {words[0]}"
