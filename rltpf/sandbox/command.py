"""A command that runs for long, confined by the strongest means that the machine offers."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rltpf.sandbox import linux, seccomp

# What dynamic linking and a runtime read. Of the processes in /proc only the command's own is shown.
SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"),
)
ROOT = Path(__file__).parents[2]
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class Limits:
    """`memory` is bytes that the process has for itself: files that it only reads do not count. `cpu_seconds` is the
    processor time of its whole life. `file_bytes` is the length of any file it writes."""

    memory: int
    cpu_seconds: int
    file_bytes: int = 0


@dataclass(frozen=True)
class Mechanism:
    """What confines commands on this machine, besides limits of resources, which hold everywhere.

    `bubblewrap` is the program, or empty; `landlock` the version of its ABI, or 0.
    """

    bubblewrap: str
    landlock: int
    seccomp: bool

    @property
    def strong(self) -> bool:
        """Whether network, other processes and files outside the list are out of reach."""
        return self.seccomp and bool(self.bubblewrap or self.landlock)

    def describe(self) -> str:
        """Which means hold."""
        parts = ["bubblewrap"] if self.bubblewrap else []
        parts += [f"Landlock (ABI {self.landlock})"] if self.landlock else []
        parts += ["seccomp"] if self.seccomp else []
        return " + ".join([*parts, "limits of resources"])

    def gaps(self) -> tuple[str, ...]:
        """What does not hold with these means and would with others."""
        found = []
        if not (self.bubblewrap or self.landlock):
            found.append("files of this user can be read and written")
        if not (self.bubblewrap or self.seccomp):
            found.append("the network can be reached")
        if not self.seccomp:
            found.append("programs can be started and other processes of this user attacked")
        if not self.landlock and self.seccomp:
            found.append("a program among the readable files can take the place of the command")
        if not self.bubblewrap:
            found.append("names and sizes of files can be seen everywhere")
        return tuple(found)


def confined(
    command: Sequence[str],
    read: Iterable[Path],
    limits: Limits,
    scratch: Path | None = None,
    mechanism: Mechanism | None = None,
) -> tuple[str, ...]:
    """The command line that runs `command`, whose first word is a program's path, with nothing but these means.

    It reads `read` (files and folders) and the system's libraries, writes below `scratch` and nowhere else, executes no
    program but its own, makes threads but no processes, reaches no network, and ends with this process: no other may
    start it. Its folder is `/`; its environment is what it is started with, so start it with a clean one. What could
    not be confined is not started: exit code 125, and the reason on stderr.
    """
    means = find_mechanism() if mechanism is None else mechanism
    program = os.path.realpath(command[0])
    executed = [program, *_interpreter(program)]
    readable = sorted({str(path) for path in (*map(Path, SYSTEM), *read, Path(program)) if path.exists()})
    written = [str(scratch)] if scratch else []
    launcher = _python("from rltpf.sandbox.launcher import main; main()")
    order = {
        "parent": os.getpid(),
        "launcher": launcher,
        "bubblewrap": _bubblewrap(means.bubblewrap, readable, executed, written) if means.bubblewrap else [],
        "landlock": bool(means.landlock),
        "seccomp": means.seccomp,
        "read": [*readable, "/proc/self"],
        "execute": executed,
        # Written to without effect, so that a program may throw something away.
        "write": [*written, "/dev/null"],
        "memory": limits.memory,
        "cpu_seconds": limits.cpu_seconds,
        "file_bytes": limits.file_bytes,
    }
    return (*launcher, json.dumps(order), program, *command[1:])


@functools.cache
def find_mechanism() -> Mechanism:
    """The strongest means that were seen to work, by running a command that tries to break out."""
    if sys.platform != "linux":
        return Mechanism("", 0, False)
    filtered = platform.machine() in seccomp.machines()
    landlock = linux.landlock_abi()
    bubblewrap = shutil.which("bwrap") or ""
    for means in (
        Mechanism(bubblewrap, landlock, filtered),
        Mechanism(bubblewrap, 0, filtered),
        Mechanism("", landlock, filtered),
        Mechanism("", 0, filtered),
    ):
        if means.seccomp and _holds(means):
            return means
    return Mechanism("", 0, False)


# Ends with 0 where everything that the means forbid is forbidden. The file exists and is ours.
_PROBE = """
import os, socket, sys
def forbidden(attempt):
    try:
        attempt()
    except OSError:
        return
    sys.exit(1)
forbidden(lambda: socket.socket(socket.AF_UNIX))
forbidden(lambda: os.kill(os.getppid(), 0))
forbidden(os.fork)
if sys.argv[2] == "files":
    forbidden(lambda: open(sys.argv[1]))
    forbidden(lambda: open(sys.argv[1], "w"))
"""


def _holds(means: Mechanism) -> bool:
    with tempfile.NamedTemporaryFile() as file:
        script = [*_python()[:-1], _PROBE, file.name, "files" if means.strong else ""]
        command = confined(script, python_files(), Limits(2**31, _PROBE_SECONDS), mechanism=means)
        try:
            ended = subprocess.run(
                command,
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return ended.returncode == 0


def python_files() -> list[Path]:
    """What this interpreter reads to run without installed packages."""
    return [Path(prefix) / folder for prefix in {sys.base_prefix, sys.base_exec_prefix} for folder in ("lib", "lib64")]


def _python(code: str = "") -> list[str]:
    """The interpreter with its own library and `rltpf`, and nothing of the user's or of installed packages."""
    program = os.path.realpath(sys.executable)
    return [program, "-I", "-S", "-c", f"import sys; sys.path.append({str(ROOT)!r}); {code}"]


def _bubblewrap(program: str, read: Iterable[str], execute: Iterable[str], write: Iterable[str]) -> list[str]:
    """Namespaces of its own, and no file but these. The launcher, which runs inside, needs its own to start."""
    arguments = [program, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--chdir", "/"]
    arguments += ["--dev", "/dev", "--proc", "/proc"]
    package = str(Path(__file__).parents[1])
    interpreter = os.path.realpath(sys.executable)
    own = [path for path in (package, interpreter, *map(str, python_files())) if os.path.exists(path)]
    for path in sorted({*read, *execute, *own}):
        if not path.startswith("/dev/"):
            arguments += ["--ro-bind", path, path]
    for path in write:
        arguments += ["--bind", path, path]
    return [*arguments, "--remount-ro", "/", "--"]


def _interpreter(program: str) -> list[str]:
    """The dynamic linker that a program names, which the kernel executes for it (ELF, `PT_INTERP`)."""
    with open(program, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return []
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for index in range(count):
            file.seek(table + index * size)
            kind, _, offset, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
            if kind == 3:
                file.seek(offset)
                return [os.path.realpath(file.read(length).rstrip(b"\0").decode())]
    return []
