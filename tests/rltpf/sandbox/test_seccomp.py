"""The filters, run by a small interpreter of the kernel's machine: what they say does not depend on this computer."""

from __future__ import annotations

import errno
import struct

import pytest

from rltpf.sandbox.seccomp import command_filter, function_filter, machines

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
REFUSED, MISSING = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
PID = 4321

# asm/unistd_64.h and asm-generic/unistd.h; None where the machine has no such call.
CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "mmap": (9, 222),
    "exit_group": (231, 94),
    "socket": (41, 198),
    "clone": (56, 220),
    "clone3": (435, 435),
    "fork": (57, None),
    "execve": (59, 221),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "pidfd_send_signal": (424, 424),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "setsid": (112, 157),
    "ioctl": (16, 29),
    "truncate": (76, 45),
    "fchmodat": (268, 53),
    "io_uring_setup": (425, 425),
    "unshare": (272, 97),
    "memfd_create": (319, 279),
}


def verdict(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = 0) -> int:
    """What the kernel's machine would return: loads, masks and forward jumps over `struct seccomp_data`."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("<HBBI", program))
    accumulator = at = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x15:
            at += if_true if accumulator == operand else if_false
        elif code == 0x35:
            at += if_true if accumulator >= operand else if_false
        else:
            assert code == 0x06
            return operand


@pytest.fixture(params=machines())
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def judge(program: bytes, machine: str, call: str, *arguments: int) -> int | None:
    number = CALLS[call][machines().index(machine)]
    return None if number is None else verdict(program, number, arguments, ARCHITECTURES[machine])


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("read", (), ALLOWED),
        ("execve", (), ALLOWED),
        ("socket", (1, 1, 0), REFUSED),
        ("fork", (), REFUSED),
        ("clone", (0x11,), REFUSED),  # a process that signals its end
        ("clone", (0x3D0F00,), ALLOWED),  # a thread, as the C library makes them
        ("clone3", (), MISSING),
        ("openat2", (), MISSING),
        ("kill", (PID, 9), ALLOWED),
        ("kill", (PID - 1, 9), REFUSED),
        ("kill", (0, 9), REFUSED),
        ("kill", (2**32 - 1, 9), REFUSED),
        ("tgkill", (PID, PID + 1, 6), ALLOWED),
        ("tgkill", (1, 1, 6), REFUSED),
        ("pidfd_send_signal", (), REFUSED),
        ("ptrace", (), REFUSED),
        ("process_vm_readv", (), REFUSED),
        ("prlimit64", (0, 7), ALLOWED),
        ("prlimit64", (1, 7), REFUSED),
        ("prctl", (1, 0), REFUSED),
        ("prctl", (15, 0), ALLOWED),
        ("openat", (0, 0, 0o0), ALLOWED),
        ("openat", (0, 0, 0o1000), REFUSED),
        ("openat", (0, 0, 0o1101), ALLOWED),  # what may be opened for writing is for the file system to say
        ("open", (0, 0o1000), REFUSED),
        ("mmap", (0, 4096, 3, 0x22), ALLOWED),
        ("mmap", (0, 4096, 1, 0x01), ALLOWED),
        ("mmap", (0, 4096, 3, 0x21), REFUSED),
        ("mmap", (0, 4096, 3, 0x23), REFUSED),
        ("ioctl", (0, 0x5401), ALLOWED),
        ("ioctl", (0, 0x40086602), REFUSED),
        ("ioctl", (0, 0x401C5820), REFUSED),
        ("ioctl", (0, 0x5412), REFUSED),
        ("ioctl", (0, 0x541C), REFUSED),
        ("setsid", (), REFUSED),
        ("truncate", (), REFUSED),
        ("fchmodat", (), REFUSED),
        ("io_uring_setup", (), REFUSED),
        ("unshare", (), REFUSED),
        ("memfd_create", (), REFUSED),
    ],
)
def test_a_command_may(machine: str, call: str, arguments: tuple[int, ...], expected: int) -> None:
    assert judge(command_filter(machine, PID), machine, call, *arguments) in (expected, None)


@pytest.mark.parametrize("call", CALLS)
def test_a_function_may_only_calculate(machine: str, call: str) -> None:
    allowed = call in ("read", "write", "mmap", "exit_group")
    assert judge(function_filter(machine), machine, call) in (ALLOWED if allowed else REFUSED, None)


@pytest.mark.parametrize("call", ["read", "socket"])
def test_calls_by_the_numbers_of_another_machine_end_the_process(machine: str, call: str) -> None:
    for program in (command_filter(machine, PID), function_filter(machine)):
        number = CALLS[call][machines().index(machine)]
        assert number is not None
        assert verdict(program, number, (), I386) == KILLED


def test_calls_with_pointers_of_32_bits_are_refused() -> None:
    """On x86_64 they carry a bit in the number, and would pass for calls that nobody listed."""
    for program in (command_filter("x86_64", PID), function_filter("x86_64")):
        assert verdict(program, 0x40000000 + 41, (), ARCHITECTURES["x86_64"]) == REFUSED
