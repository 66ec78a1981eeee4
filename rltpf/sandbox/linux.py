"""What Linux offers a process to tie its own hands, by system calls. Everything here holds until the process ends."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterable

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522

# The same numbers on x86_64 and aarch64.
_LANDLOCK_CREATE_RULESET, _LANDLOCK_ADD_RULE, _LANDLOCK_RESTRICT_SELF = 444, 445, 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_RULE_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# Rights of files that each ABI knows: the first 13, then moving between folders, truncation, and devices.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_CONNECT_AND_BIND = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def die_with(parent: int) -> bool:
    """Be killed when the parent ends; False when it has ended already, and nobody would send the signal."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def give_up_privileges() -> None:
    """No capabilities, which root has, and none to gain by executing a program."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))
    nothing = ctypes.create_string_buffer(24)  # two times effective, permitted, inheritable
    _checked(_libc().capset(header, nothing), "capset")


def landlock_abi() -> int:
    """The version of Landlock that the kernel has; 0 without it."""
    version = _libc().syscall(
        *map(ctypes.c_long, (_LANDLOCK_CREATE_RULESET, 0, 0, _LANDLOCK_CREATE_RULESET_VERSION)),
    )
    return max(0, int(version))


def restrict_files(read: Iterable[str], execute: Iterable[str], write: Iterable[str]) -> None:
    """Leave of the file system what is named, of the network and other processes nothing that Landlock knows of.

    Files and whole folders; a path that is missing raises `OSError`. Privileges must be given up before.
    """
    abi = landlock_abi()
    if abi == 0:
        raise OSError("the kernel has no Landlock")
    rights = _RIGHTS[min(abi, 5)]
    known = struct.pack(
        "=QQQ",
        rights,
        _CONNECT_AND_BIND if abi >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0,
    )
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = _system_call("landlock_create_ruleset", _LANDLOCK_CREATE_RULESET, _buffer(known[:size]), size, 0)
    # What may be written may not be executed: a program could be put there.
    grants = ((read, _READ_FILE | _READ_DIR), (execute, _READ_FILE | _EXECUTE), (write, rights & ~_EXECUTE))
    for paths, granted in grants:
        for path in paths:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            of_its_kind = granted & rights if os.path.isdir(path) else granted & rights & _OF_FILES
            rule = _buffer(struct.pack("=Qi", of_its_kind, place))
            _system_call("landlock_add_rule", _LANDLOCK_ADD_RULE, rules, _LANDLOCK_RULE_PATH_BENEATH, rule, 0)
            os.close(place)
    _system_call("landlock_restrict_self", _LANDLOCK_RESTRICT_SELF, rules, 0)
    os.close(rules)


def install_filter(program: bytes) -> None:
    """Let the kernel judge every further system call by a filter (`rltpf.sandbox.seccomp`)."""
    code = _buffer(program)
    # struct sock_fprog: the number of steps, which take 8 bytes each, and where they are.
    filter_ = _buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(filter_))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _buffer(data: bytes) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(data, len(data))


def _prctl(option: int, *arguments: int) -> None:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    _checked(_libc().prctl(option, *map(ctypes.c_ulong, padded)), "prctl")


def _system_call(name: str, number: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    addresses = (ctypes.addressof(a) if isinstance(a, ctypes.Array) else a for a in arguments)
    return _checked(_libc().syscall(ctypes.c_long(number), *map(ctypes.c_long, addresses)), name)


def _checked(answer: int, name: str) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer
