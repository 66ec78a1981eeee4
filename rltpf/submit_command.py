"""`rltpf submit` on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Add `submit` to the subparsers of the command line."""
    parser = subparsers.add_parser(
        "submit",
        help="a whole experiment as jobs of SLURM that wait for each other",
        description="Submits generate, merge, train, evaluate and report, each after the one before it, with the files "
        "of slurm/; a finished stage is skipped. Start it from the folder that the paths of PIPELINE are relative to.",
        epilog="example: rltpf submit mine.yaml --dry_run",
    )
    parser.add_argument("pipeline", metavar="PIPELINE", help="YAML file, see configs/pipelines/")
    parser.add_argument("--dry_run", action="store_true", help="print commands and sbatch files, and submit nothing")
    parser.config = "rltpf.submit:PipelineConfig"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Submit the jobs; raises `RunError` where sbatch refuses one."""
    import functools
    import os
    import shutil

    from rltpf import config
    from rltpf.errors import InputError
    from rltpf.submit import PipelineConfig, check, jobs, preview, submit

    settings = config.load(PipelineConfig, args.pipeline, overrides)
    used = (settings.generate.config, settings.train.config, settings.evaluate.config)
    if missing := [f"{path}: not found, and {args.pipeline} names it" for path in used if not path.is_file()]:
        raise InputError(*missing)
    folder = _folder()
    stages = jobs(settings)
    environment = {"RLTPF_SLURM": str(folder), **os.environ}
    check(stages)
    if args.dry_run:
        print(preview(stages, folder))
        return 0
    if shutil.which("sbatch") is None:
        raise InputError("sbatch: not found: submit from a machine of the cluster, or see --dry_run")
    # sbatch makes no folders, and a job whose output cannot be written fails without a word.
    Path("logs").mkdir(exist_ok=True)
    for line in submit(stages, folder, functools.partial(_start, environment)):
        print(line)
    return 0


def _folder() -> Path:
    """Where the sbatch files are: in a checkout, or in the installed package."""
    package = Path(__file__).parent
    return next(path for path in (package / "slurm", package.parent / "slurm") if path.is_dir())


def _start(environment: dict[str, str], command: list[str]) -> str:
    import shlex
    import subprocess

    from rltpf.errors import RunError

    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if answer.returncode:
        raise RunError(f"{shlex.join(command)}: {answer.stderr.strip()}")
    return answer.stdout
