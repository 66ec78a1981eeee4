"""The versions of TRL, transformers and peft that the training was written for; nothing here imports them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from rltpf.errors import InputError

SUPPORTED = {"trl": ("1.16", "2"), "transformers": ("5.23", "6"), "peft": ("0.21", "1")}
"""First version, and first that is not."""


def check_versions() -> None:
    """Raise `InputError` with one line for each library that is missing, too old or too new."""
    from packaging.version import Version

    faults = []
    for name, (first, beyond) in SUPPORTED.items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            faults.append(f"{name} is not installed: `pip install '{name}>={first},<{beyond}'`")
            continue
        if not Version(first) <= Version(installed) < Version(beyond):
            faults.append(f"{name} {installed} is installed and {first} or newer, below {beyond}, is needed: "
                          f"`pip install '{name}>={first},<{beyond}'`")  # fmt: skip
    if faults:
        raise InputError(*faults)
