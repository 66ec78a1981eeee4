"""The program that starts a confined command: `launcher.main()`, with a JSON text and the command as its arguments.

It stays beside the command and ends it when the process that asked for it ends. That cannot be left to the kernel's
signal for the death of a parent, which comes at the end of the thread that started the process: a thread of a pool that
is no longer needed would take Lean along. The launcher has one thread, so that the command can rely on that signal.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import select
import signal
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from rltpf.sandbox import linux, seccomp

NOT_STARTED = 125
LOOK_SECONDS = 0.5
OPEN_FILES = 1024
# A limit of 0 bytes does not hold where the system pipes core dumps to a program; 1 byte means none in both cases.
CORE_BYTES = 1


def main() -> NoReturn:
    """Start `sys.argv[2:]` as `sys.argv[1]` says (see `command.confined`), and end with its exit code."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    command = sys.argv[2:]
    try:
        if "parent" not in order:
            _become(order, command)
        if os.getppid() != order["parent"]:
            raise OSError("the process that asked for this command has ended, or is not the one that starts it")
        code = _accompany(order, command)
    except KeyError as error:
        print(f"sandbox: there is no filter of system calls for {error}", file=sys.stderr)
        code = NOT_STARTED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"sandbox: {place}{error.strerror or error}", file=sys.stderr)
        code = NOT_STARTED
    sys.stderr.flush()
    os._exit(code)


def _accompany(order: dict[str, Any], command: list[str]) -> int:
    # The end of the child is a byte in a pipe, so that waiting for it also ends in time to look for the parent.
    waking, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakened)
    launcher = os.getpid()
    child = os.fork()
    if child == 0:
        if sys.platform == "linux" and not linux.die_with(launcher):
            os._exit(NOT_STARTED)
        if order["bubblewrap"]:
            inner = {key: value for key, value in order.items() if key not in ("parent", "bubblewrap")}
            wrapped = [*order["bubblewrap"], *order["launcher"], json.dumps(inner), *command]
            os.execve(wrapped[0], wrapped, dict(os.environ))
        _become(order, command)
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # whoever reads from the command sees its end, and not ours
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if os.getppid() != order["parent"]:
            os.kill(child, signal.SIGKILL)
        select.select([waking], [], [], LOOK_SECONDS)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(order: Mapping[str, Any], command: list[str]) -> NoReturn:
    """Confine this process as the order says, and execute the command. What cannot be done raises `OSError`."""
    os.chdir("/")
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)  # Python ignores them, and the command would inherit that
    limit_resources(order["memory"], order["cpu_seconds"], order["file_bytes"])
    if sys.platform == "linux":
        linux.give_up_privileges()
    if order["landlock"]:
        linux.restrict_files(order["read"], order["execute"], order["write"])
    if order["seccomp"]:
        linux.install_filter(seccomp.command_filter(platform.machine(), os.getpid()))
    os.execve(command[0], command, dict(os.environ))


def limit_resources(memory: int, cpu_seconds: int, file_bytes: int) -> None:
    """Bytes of memory of its own (without what it maps of files), processor time of its life, bytes a file."""
    for kind, limit in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, CORE_BYTES),
    ):
        _, hard = resource.getrlimit(kind)
        lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (lowest, lowest))
