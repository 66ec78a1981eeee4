"""Filters of system calls, as the kernel's seccomp takes them: what a confined process may ask of the kernel.

Two filters. `command_filter` refuses what breaks a promise and lets a whole runtime (Lean, Node) work.
`function_filter` lets a Python interpreter that has loaded everything calculate, and refuses all else. A refused call
fails with EPERM.

A filter is a program for the kernel's packet filter machine (see `Documentation/userspace-api/seccomp_filter.rst` of
Linux, and `linux/filter.h`), written here without a library, since the launcher has to start without one.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

# Numbers of asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64).
_NUMBERS = {
    "x86_64": """
        accept=43 accept4=288 acct=163 add_key=248 adjtimex=159 bind=49 bpf=321 brk=12 chmod=90 chown=92 chroot=161
        clock_adjtime=305 clock_getres=229 clock_gettime=228 clock_settime=227 clone=56 clone3=435 close=3 connect=42
        delete_module=176 exit=60 exit_group=231 fanotify_init=300 fchmod=91 fchmodat=268 fchmodat2=452 fchown=93
        fchownat=260 file_setattr=469 finit_module=313 fork=57 fremovexattr=199 fsconfig=431 fsetxattr=190 fsmount=432
        fsopen=430 fspick=433 fstat=5 futex=202 futimesat=261 getpid=39 getrandom=318 getrusage=98 gettid=186
        gettimeofday=96 init_module=175 io_uring_enter=426 io_uring_register=427 io_uring_setup=425 ioperm=173 iopl=172
        ioctl=16 ioprio_set=251 kcmp=312 kexec_file_load=320 kexec_load=246 keyctl=250 kill=62 lchown=94 listen=50
        lookup_dcookie=212 lremovexattr=198 lseek=8 lsetxattr=189 madvise=28 memfd_create=319 memfd_secret=447
        migrate_pages=256 mknod=133 mknodat=259 mmap=9 modify_ldt=154 mount=165 mount_setattr=442 move_mount=429
        move_pages=279 mprotect=10 mq_open=240 mq_unlink=241 mremap=25 msgctl=71 msgget=68 msgrcv=70 msgsnd=69 munmap=11
        name_to_handle_at=303 newfstatat=262 nfsservctl=180 open=2 open_by_handle_at=304 open_tree=428
        open_tree_attr=467 openat=257 openat2=437 perf_event_open=298 personality=135 pidfd_getfd=438 pidfd_open=434
        pidfd_send_signal=424 pivot_root=155 poll=7 prctl=157 prlimit64=302 process_madvise=440 process_mrelease=448
        process_vm_readv=310 process_vm_writev=311 ptrace=101 quotactl=179 quotactl_fd=443 read=0 reboot=169
        removexattr=197 removexattrat=466 request_key=249 restart_syscall=219 rseq=334 rt_sigaction=13 rt_sigprocmask=14
        rt_sigqueueinfo=129 rt_sigreturn=15 rt_tgsigqueueinfo=297 sched_getaffinity=204 sched_setaffinity=203
        sched_setattr=314 sched_setparam=142 sched_setscheduler=144 sched_yield=24 semctl=66 semget=64 semop=65
        semtimedop=220 sendmmsg=307 sendmsg=46 set_robust_list=273 setdomainname=171 sethostname=170 setns=308
        setpgid=109 setpriority=141 setsid=112 settimeofday=164 setxattr=188 setxattrat=463 shmat=30 shmctl=31 shmget=29
        sigaltstack=131 socket=41 socketpair=53 swapoff=168 swapon=167 syslog=103 tgkill=234 time=201 times=100
        tkill=200 truncate=76 umount2=166 unshare=272 uselib=134 userfaultfd=323 utime=132 utimensat=280 utimes=235
        vfork=58 vhangup=153 write=1
    """,
    "aarch64": """
        accept=202 accept4=242 acct=89 add_key=217 adjtimex=171 bind=200 bpf=280 brk=214 chroot=51 clock_adjtime=266
        clock_getres=114 clock_gettime=113 clock_settime=112 clone=220 clone3=435 close=57 connect=203 delete_module=106
        exit=93 exit_group=94 fanotify_init=262 fchmod=52 fchmodat=53 fchmodat2=452 fchown=55 fchownat=54
        file_setattr=469 finit_module=273 fremovexattr=16 fsconfig=431 fsetxattr=7 fsmount=432 fsopen=430 fspick=433
        fstat=80 futex=98 getpid=172 getrandom=278 getrusage=165 gettid=178 gettimeofday=169 init_module=105
        io_uring_enter=426 io_uring_register=427 io_uring_setup=425 ioctl=29 ioprio_set=30 kcmp=272 kexec_file_load=294
        kexec_load=104 keyctl=219 kill=129 listen=201 lookup_dcookie=18 lremovexattr=15 lseek=62 lsetxattr=6 madvise=233
        memfd_create=279 memfd_secret=447 migrate_pages=238 mknodat=33 mmap=222 mount=40 mount_setattr=442
        move_mount=429 move_pages=239 mprotect=226 mq_open=180 mq_unlink=181 mremap=216 msgctl=187 msgget=186 msgrcv=188
        msgsnd=189 munmap=215 name_to_handle_at=264 newfstatat=79 nfsservctl=42 open_by_handle_at=265 open_tree=428
        open_tree_attr=467 openat=56 openat2=437 perf_event_open=241 personality=92 pidfd_getfd=438 pidfd_open=434
        pidfd_send_signal=424 pivot_root=41 prctl=167 prlimit64=261 process_madvise=440 process_mrelease=448
        process_vm_readv=270 process_vm_writev=271 ptrace=117 quotactl=60 quotactl_fd=443 read=63 reboot=142
        removexattr=14 removexattrat=466 request_key=218 restart_syscall=128 rseq=293 rt_sigaction=134
        rt_sigprocmask=135 rt_sigqueueinfo=138 rt_sigreturn=139 rt_tgsigqueueinfo=240 sched_getaffinity=123
        sched_setaffinity=122 sched_setattr=274 sched_setparam=118 sched_setscheduler=119 sched_yield=124 semctl=191
        semget=190 semop=193 semtimedop=192 sendmmsg=269 sendmsg=211 set_robust_list=99 setdomainname=162
        sethostname=161 setns=268 setpgid=154 setpriority=140 setsid=157 settimeofday=170 setxattr=5 setxattrat=463
        shmat=196 shmctl=195 shmget=194 sigaltstack=132 socket=198 socketpair=199 swapoff=225 swapon=224 syslog=116
        tgkill=131 times=153 tkill=130 truncate=45 umount2=39 unshare=97 userfaultfd=282 utimensat=88 vhangup=58
        write=64
    """,
}
_DENIED = """
    socket socketpair connect bind listen accept accept4 sendmsg sendmmsg fork vfork setsid setpgid unshare
    setns pidfd_open pidfd_getfd pidfd_send_signal ptrace process_vm_readv process_vm_writev process_madvise
    process_mrelease kcmp perf_event_open tkill rt_sigqueueinfo rt_tgsigqueueinfo setpriority ioprio_set
    sched_setaffinity sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages memfd_create
    memfd_secret shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open
    mq_unlink keyctl add_key request_key truncate mknod mknodat chmod fchmod fchmodat fchmodat2 chown lchown
    fchown fchownat utime utimes futimesat utimensat setxattr lsetxattr fsetxattr setxattrat removexattr
    lremovexattr fremovexattr removexattrat file_setattr mount umount2 pivot_root chroot fsopen fsmount fsconfig
    fspick move_mount open_tree open_tree_attr mount_setattr open_by_handle_at name_to_handle_at fanotify_init
    quotactl quotactl_fd swapon swapoff acct bpf userfaultfd io_uring_setup io_uring_enter io_uring_register
    kexec_load kexec_file_load init_module finit_module delete_module reboot personality syslog vhangup
    clock_settime clock_adjtime settimeofday adjtimex sethostname setdomainname ioperm iopl modify_ldt uselib
    lookup_dcookie nfsservctl
"""
# What an interpreter needs to calculate, to write its result and to end.
_CALCULATION = """
    read write close brk mmap munmap mremap mprotect madvise futex rseq set_robust_list rt_sigaction
    rt_sigprocmask rt_sigreturn sigaltstack restart_syscall clock_gettime clock_getres gettimeofday time times
    getrusage getpid gettid getrandom sched_yield sched_getaffinity fstat newfstatat lseek poll exit exit_group
"""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_CALLS = 0x40000000

_LOAD, _AND, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in `struct seccomp_data`
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000

_CLONE_THREAD = 0x00010000
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_PR_SET_PDEATHSIG = 1
_IOCTLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, TIOCSTI, TIOCLINUX


class _Rule(NamedTuple):
    """The call `name` is let through if its argument, under the mask, is (or, `unless`, is not) one of the values."""

    name: str
    argument: int
    mask: int
    values: tuple[int, ...]
    unless: bool = False


def machines() -> tuple[str, ...]:
    """The names of `platform.machine()` that there are filters for."""
    return tuple(_NUMBERS)


def command_filter(machine: str, pid: int) -> bytes:
    """The filter of a command whose process has the number `pid`; raises `KeyError` for an unknown machine.

    What is not refused by name: a thread may be made and a process may not; signals and limits are for the process
    itself; no file is emptied while it is opened for reading (before ABI 3, Landlock lets that pass).
    """
    everything = 0xFFFFFFFF
    rules = [
        _Rule("clone", 0, _CLONE_THREAD, (_CLONE_THREAD,)),
        _Rule("kill", 0, everything, (pid,)),
        _Rule("tgkill", 0, everything, (pid,)),
        _Rule("prlimit64", 0, everything, (0,)),
        _Rule("open", 1, _O_ACCMODE | _O_TRUNC, (_O_TRUNC,), unless=True),
        _Rule("openat", 2, _O_ACCMODE | _O_TRUNC, (_O_TRUNC,), unless=True),
        # Shared memory is in no limit of memory that Node can live with.
        _Rule("mmap", 3, _MAP_SHARED | _MAP_ANONYMOUS, (_MAP_SHARED | _MAP_ANONYMOUS,), unless=True),
        # It could take back that it dies with its parent.
        _Rule("prctl", 0, everything, (_PR_SET_PDEATHSIG,), unless=True),
        # Flags of files can be set through what is open for reading, and a terminal be typed into.
        _Rule("ioctl", 1, everything, _IOCTLS, unless=True),
    ]
    # Their arguments are in memory, which a filter cannot see. Where they are missing, callers take the older calls.
    missing = ["clone3", "openat2"]
    numbers = _numbers(machine)
    program = _prologue(machine)
    for rule in rules:
        if rule.name in numbers:
            program += _judge(numbers[rule.name], rule)
    for names, error in ((_DENIED.split(), errno.EPERM), (missing, errno.ENOSYS)):
        for name in names:
            if name in numbers:
                program += [_step(_EQUALS, numbers[name], 0, 1), _step(_RETURN, _FAIL | error)]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def function_filter(machine: str) -> bytes:
    """The filter of an interpreter that only calculates; raises `KeyError` for an unknown machine."""
    numbers = _numbers(machine)
    program = _prologue(machine)
    for name in _CALCULATION.split():
        if name in numbers:
            program += [_step(_EQUALS, numbers[name], 0, 1), _step(_RETURN, _ALLOW)]
    return b"".join([*program, _step(_RETURN, _FAIL | errno.EPERM)])


def _numbers(machine: str) -> dict[str, int]:
    return {name: int(number) for name, _, number in (word.partition("=") for word in _NUMBERS[machine].split())}


def _prologue(machine: str) -> list[bytes]:
    """Leaves the number of the call in the accumulator. Calls of another machine (32 bits) have other numbers."""
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUALS, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_step(_AT_LEAST, _X32_CALLS, 0, 1), _step(_RETURN, _FAIL | errno.EPERM)]
    return program


def _judge(number: int, rule: _Rule) -> list[bytes]:
    kept, refused = _ALLOW, _FAIL | errno.EPERM
    if rule.unless:
        kept, refused = refused, kept
    # The kernel reads 32 bits of every argument that is judged here, and both machines put the low ones first.
    count = len(rule.values)
    return [
        _step(_EQUALS, number, 0, count + 4),
        _step(_LOAD, _FIRST_ARGUMENT + 8 * rule.argument),
        _step(_AND, rule.mask),
        *(_step(_EQUALS, value, count - index, 0) for index, value in enumerate(rule.values)),
        _step(_RETURN, refused),
        _step(_RETURN, kept),
    ]


def _step(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, operand)
