"""Commands that try to break out, each promise by itself; where they run confined, by every means that is here."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltpf.sandbox import command as sandbox
from rltpf.sandbox import linux
from rltpf.sandbox.command import Limits, Mechanism, confined, find_mechanism, python_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are confined on Linux")

PYTHON = (os.path.realpath(sys.executable), "-I", "-S", "-c")
ENOUGH = Limits(memory=2 * 1024**3, cpu_seconds=60, file_bytes=1_000_000)

# `attempt(name, call)` prints whether the attempt was refused; `system` is a system call by its number.
PRELUDE = """
import ctypes, os, platform, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def system(x86_64, aarch64, *arguments):
    number = {"x86_64": x86_64, "aarch64": aarch64}[platform.machine()]
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def attempt(name, call):
    try:
        call()
    except OSError as error:
        print(name, "refused", flush=True)
    else:
        print(name, "DONE", flush=True)
"""


@pytest.fixture(params=["Landlock", "bubblewrap", "bubblewrap alone"])
def means(request: pytest.FixtureRequest) -> Mechanism:
    found = find_mechanism()
    if request.param == "Landlock":
        if not found.landlock:
            pytest.skip("the kernel has no Landlock")
        return dataclasses.replace(found, bubblewrap="")
    if not found.bubblewrap:
        pytest.skip("bubblewrap is not installed, or may not make namespaces here")
    return found if request.param == "bubblewrap" else dataclasses.replace(found, landlock=0)


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(means: Mechanism) -> Run:
    """Runs a Python script, confined, with `read`, `limits` and `scratch` as given."""

    def run(script: str, *arguments: object, read: tuple[Path, ...] = (), **options: object):  # type: ignore[no-untyped-def]
        words = (*PYTHON, PRELUDE + textwrap.dedent(script), *map(str, arguments))
        settings = {"limits": ENOUGH, "mechanism": means} | options
        command = confined(words, (*python_files(), *read), **settings)  # type: ignore[arg-type]
        return subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=False)

    return run


def refused(names: str) -> str:
    return "".join(f"{name} refused\n" for name in names.split())


def test_the_script_runs_and_computes(run: Run) -> None:
    done = run("print(sum(range(10)), os.getcwd())")
    assert (done.stdout, done.stderr, done.returncode) == ("45 /\n", "", 0)


def test_the_exit_code_is_the_commands(run: Run) -> None:
    assert run("sys.exit(7)").returncode == 7
    assert run("os.kill(os.getpid(), signal.SIGKILL)").returncode == 128 + signal.SIGKILL


def test_no_network(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as internet, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(tmp_path / "socket"))
        local.listen()
        local.settimeout(0.1)
        internet.settimeout(0.1)
        done = run(
            """
            import socket
            attempt("internet", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5))
            attempt("local", lambda: socket.socket(socket.AF_UNIX).connect(sys.argv[2]))
            attempt("pair", lambda: socket.socketpair())
            attempt("datagram", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53)))
            attempt("name", lambda: socket.getaddrinfo("example.org", 80))
            attempt("ring", lambda: system(425, 425, 1, 0))
            """,
            internet.getsockname()[1],
            tmp_path / "socket",
            read=(tmp_path,),
        )
        assert done.stdout == refused("internet local pair datagram name ring")
        for server in (internet, local):
            with pytest.raises(TimeoutError):
                server.accept()


def test_no_writes(run: Run, tmp_path: Path) -> None:
    """Neither to files that it may read, nor to others: no contents, no names, no modes, no times."""
    mine, shown = tmp_path / "mine", tmp_path / "shown"
    for file in (mine, shown):
        file.write_text("contents")
        file.chmod(0o600)
        os.utime(file, (1_000_000_000, 1_000_000_000))
    done = run(
        """
        import fcntl
        for name in sys.argv[1:]:
            attempt("open", lambda: open(name, "w"))
            attempt("append", lambda: open(name, "a"))
            attempt("truncate", lambda: os.truncate(name, 0))
            attempt("empty", lambda: os.open(name, os.O_RDONLY | os.O_TRUNC))
            attempt("chmod", lambda: os.chmod(name, 0o777))
            attempt("utime", lambda: os.utime(name))
            attempt("flags", lambda: fcntl.ioctl(os.open(name, os.O_RDONLY), 0x40086602, bytes(8)))
            attempt("attribute", lambda: os.setxattr(name, "user.x", b"1"))
            attempt("rename", lambda: os.rename(name, name + "2"))
            attempt("unlink", lambda: os.unlink(name))
            attempt("link", lambda: os.link(name, name + "2"))
            attempt("symlink", lambda: os.symlink(name, name + "2"))
            attempt("create", lambda: open(name + "2", "x"))
            attempt("mkdir", lambda: os.mkdir(name + "2"))
            attempt("fifo", lambda: os.mkfifo(name + "2"))
        attempt("memory", lambda: os.memfd_create("x"))
        """,
        mine,
        shown,
        read=(shown,),
    )
    kinds = "open append truncate empty chmod utime flags attribute rename unlink link symlink create mkdir fifo "
    assert done.stdout == refused(kinds * 2 + "memory")
    assert sorted(tmp_path.iterdir()) == [mine, shown]
    for file in (mine, shown):
        facts = file.stat()
        assert (file.read_text(), facts.st_mode & 0o777, facts.st_mtime) == ("contents", 0o600, 1_000_000_000)


def test_writes_in_the_scratch_folder_and_of_limited_length(run: Run, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = run(
        """
        print(open(sys.argv[1] + "/a", "w").write("kept"), flush=True)
        attempt("beside", lambda: open(sys.argv[1] + "/../b", "w"))
        os.write(os.open(sys.argv[1] + "/c", os.O_CREAT | os.O_WRONLY), b"x" * 1_000_000)
        file = os.open(sys.argv[1] + "/c", os.O_APPEND | os.O_WRONLY)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        attempt("long", lambda: os.write(file, b"x"))
        """,
        scratch,
        scratch=scratch,
    )
    assert done.stdout == "4\n" + refused("beside long")
    assert {file.name: file.stat().st_size for file in scratch.iterdir()} == {"a": 4, "c": 1_000_000}


def test_no_reading_of_secrets(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-very-secret")
    key = tmp_path / "id_ed25519"
    key.write_text("key-very-secret")
    done = run(
        """
        attempt("file", lambda: open(sys.argv[1]).read())
        attempt("folder", lambda: os.listdir(os.path.dirname(sys.argv[1])))
        attempt("home", lambda: os.listdir(os.path.dirname(os.path.dirname(sys.argv[1]))))
        attempt("environment", lambda: open(f"/proc/{sys.argv[2]}/environ").read())
        attempt("memory", lambda: open(f"/proc/{sys.argv[2]}/mem", "rb").read(1))
        attempt("users", lambda: open("/etc/passwd").read())
        print([name for name in os.environ if "KEY" in name])
        print(sorted(os.listdir("/proc/self/fd")))
        """,
        key,
        os.getpid(),
    )
    assert done.stdout == refused("file folder home environment memory users") + "[]\n['0', '1', '2', '3']\n"


def test_threads_but_no_processes(run: Run) -> None:
    done = run(
        """
        import threading
        thread = threading.Thread(target=lambda: print("thread", flush=True))
        thread.start()
        thread.join()
        attempt("fork", os.fork)
        attempt("spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
        attempt("shell", lambda: os.execv("/bin/sh", ["sh", "-c", "echo no"]))
        attempt("clone", lambda: system(56, 220, 17, 0, 0, 0, 0))
        attempt("clone3", lambda: system(435, 435, 0, 0))
        attempt("namespace", lambda: system(272, 97, 0x10000000))
        """
    )
    assert done.stdout == "thread\n" + refused("fork spawn shell clone clone3 namespace")


def test_no_other_program_through_the_dynamic_linker(run: Run) -> None:
    """The linker is executable, since the command needs it, and it would run any program that it can read."""
    (linker,) = sandbox._interpreter(PYTHON[0])
    done = run("os.execv(sys.argv[1], ['ld.so', '/bin/sh', '-c', 'echo no'])", linker)
    assert (done.stdout, done.returncode) == ("", 127)


def test_no_hand_on_other_processes(run: Run) -> None:
    """By signals, memory, tracing, limits and priorities; the victim is this process, which has the same user."""
    before = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)
    done = run(
        """
        import resource
        victim = int(sys.argv[1])
        data = ctypes.create_string_buffer(32)
        attempt("signal", lambda: os.kill(victim, 0))
        attempt("parent", lambda: os.kill(os.getppid(), signal.SIGTERM))
        attempt("group", lambda: os.kill(0, 0))
        attempt("everybody", lambda: os.kill(-1, 0))
        attempt("queue", lambda: system(129, 138, victim, 10, ctypes.addressof(data)))
        attempt("thread", lambda: system(234, 131, victim, victim, 0))
        attempt("handle", lambda: os.pidfd_open(victim))
        attempt("trace", lambda: system(101, 117, 16, victim, 0, 0))
        attempt("read", lambda: system(310, 270, victim, 0, 0, 0, 0, 0))
        attempt("limit", lambda: resource.prlimit(victim, resource.RLIMIT_CORE))
        attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, victim, 19))
        attempt("processors", lambda: os.sched_setaffinity(victim, {0}))
        attempt("session", os.setsid)
        attempt("own-group", lambda: os.setpgid(0, 0))
        attempt("survival", lambda: system(157, 167, 1, 0, 0, 0, 0))
        os.kill(os.getpid(), 0)
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))
        except ValueError:
            print("more refused")
        """,
        os.getpid(),
    )
    names = "signal parent group everybody queue thread handle trace read limit priority processors session"
    assert done.stdout == refused(names + " own-group survival more")
    assert before == (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))


def test_memory_is_bounded(run: Run) -> None:
    done = run(
        """
        import mmap
        try:
            bytearray(400 * 1024**2)
        except MemoryError:
            print("private refused")
        attempt("shared", lambda: mmap.mmap(-1, 400 * 1024**2))
        pieces = []
        try:
            while True:
                pieces.append(bytearray(1024**2))
        except MemoryError:
            print("pieces refused")
        """,
        limits=Limits(256 * 1024**2, 60),
    )
    assert done.stdout == refused("private shared pieces")


def test_processor_time_is_bounded(run: Run) -> None:
    began = time.monotonic()
    done = run("while True: pass", limits=Limits(2 * 1024**3, 1))
    assert done.returncode in (128 + signal.SIGXCPU, 128 + signal.SIGKILL)
    assert time.monotonic() - began < 30


def test_no_privileges_and_no_core_dumps(run: Run) -> None:
    done = run(
        """
        import resource
        facts = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print([int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")], int(facts["NoNewPrivs"]))
        print(resource.getrlimit(resource.RLIMIT_CORE))
        """
    )
    assert done.stdout == "[0, 0, 0, 0] 1\n(1, 1)\n"


# Starts a command in a thread that ends, says the number of the launcher, and lives on.
PARENT = """
import subprocess, sys, threading, time
from rltpf.sandbox.command import Limits, Mechanism, confined, python_files
words = sys.argv[4:]
means = Mechanism(sys.argv[1], int(sys.argv[2]), True)
command = confined(words, python_files(), Limits(2 * 1024**3, 60), mechanism=means)
def start():
    print(subprocess.Popen(command, start_new_session=sys.argv[3] == "alone").pid, flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
time.sleep(600)
"""


@pytest.fixture
def sleeper(means: Mechanism) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process, and the launcher of a command that it started; the command sleeps."""
    facts = (means.bubblewrap, str(means.landlock), "alone")
    script = "import time; time.sleep(600)"
    words = [sys.executable, "-c", PARENT, *facts, *PYTHON, script]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        launcher = int(parent.stdout.readline())
        yield parent, launcher
        parent.kill()
        parent.wait()
        wait_for(lambda: not tree(launcher))


def tree(pid: int) -> list[int]:
    """A process that runs, and its descendants."""
    folder = Path(f"/proc/{pid}")
    try:
        if (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return []
        children = "".join(file.read_text() for file in folder.glob("task/*/children")).split()
    except OSError:
        return []
    return [pid, *(number for child in children for number in tree(int(child)))]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_command_outlives_the_thread_that_started_it_and_not_the_process(
    sleeper: tuple[subprocess.Popen[bytes], int],
) -> None:
    parent, launcher = sleeper
    wait_for(lambda: len(tree(launcher)) >= 2)
    time.sleep(2 * 0.5)  # the launcher has looked for its parent at least once
    started = tree(launcher)
    assert len(started) >= 2
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(tree(pid) for pid in started))


def test_a_command_does_not_outlive_its_launcher(sleeper: tuple[subprocess.Popen[bytes], int]) -> None:
    _, launcher = sleeper
    wait_for(lambda: len(tree(launcher)) >= 2)
    started = tree(launcher)
    os.kill(launcher, signal.SIGKILL)
    wait_for(lambda: not any(tree(pid) for pid in started))


def test_a_launcher_whose_parent_is_gone_starts_nothing(means: Mechanism) -> None:
    """The parent may end before the launcher can look; nobody would end the command then."""
    command = confined((*PYTHON, "print('started')"), python_files(), ENOUGH, mechanism=means)
    other = "import json, subprocess, sys; sys.exit(subprocess.run(json.loads(sys.argv[1])).returncode)"
    done = subprocess.run([sys.executable, "-c", other, json.dumps(command)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("sandbox: the process that asked for this command has ended")


def test_what_cannot_be_confined_is_not_started(means: Mechanism, tmp_path: Path) -> None:
    """A folder that was there when the command line was made, and is not when it is started."""
    folder = tmp_path / "library"
    folder.mkdir()
    command = confined((*PYTHON, "print('started')"), (*python_files(), folder), ENOUGH, mechanism=means)
    folder.rmdir()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode != 0
    assert str(folder) in done.stderr


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("linux.landlock_abi = lambda: 0", "the kernel has no Landlock"),
        ("seccomp.command_filter = lambda machine, pid: b''", "prctl: "),
        ("seccomp._NUMBERS.clear()", "there is no filter of system calls for "),
    ],
)
def test_a_means_that_fails_at_the_start_is_not_left_out(broken: str, reason: str) -> None:
    """The order says that it holds, so without it nothing starts: weaker confinement would look the same."""
    if not linux.landlock_abi():
        pytest.skip("the kernel has no Landlock")
    means = Mechanism("", linux.landlock_abi(), True)
    words = list(confined((*PYTHON, "print('started')"), python_files(), ENOUGH, mechanism=means))
    assert words[4].endswith("; main()")
    words[4] = words[4].replace("; main()", f"; from rltpf.sandbox import linux, seccomp; {broken}; main()")
    done = subprocess.run(words, env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith(f"sandbox: {reason}")
    assert len(done.stderr.splitlines()) == 1


def test_a_kernel_without_landlock_is_never_taken_for_one_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.linux, "landlock_abi", lambda: 0)
    monkeypatch.setenv("PATH", "")
    found = find_mechanism.__wrapped__()
    assert (found.bubblewrap, found.landlock, found.strong) == ("", 0, False)


def test_a_bubblewrap_that_does_not_work_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in most containers, where it is installed and may not make namespaces."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_mechanism.__wrapped__().bubblewrap == ""


def test_a_bubblewrap_that_confines_nothing_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sandbox.linux, "landlock_abi", lambda: 0)
    assert find_mechanism.__wrapped__().bubblewrap == ""


@pytest.mark.parametrize(
    ("means", "strong", "description", "gaps"),
    [
        (Mechanism("/bin/bwrap", 7, True), True, "bubblewrap + Landlock (ABI 7) + seccomp + limits of resources", ()),
        (
            Mechanism("", 3, True),
            True,
            "Landlock (ABI 3) + seccomp + limits of resources",
            ("names and sizes of files can be seen everywhere",),
        ),
        (
            Mechanism("/bin/bwrap", 0, True),
            True,
            "bubblewrap + seccomp + limits of resources",
            ("a program among the readable files can take the place of the command",),
        ),
        (
            Mechanism("", 0, False),
            False,
            "limits of resources",
            (
                "files of this user can be read and written",
                "the network can be reached",
                "programs can be started and other processes of this user attacked",
                "names and sizes of files can be seen everywhere",
            ),
        ),
    ],
)
def test_a_mechanism_says_what_it_does_not_give(
    means: Mechanism, strong: bool, description: str, gaps: tuple[str, ...]
) -> None:
    assert (means.strong, means.describe(), means.gaps()) == (strong, description, gaps)
