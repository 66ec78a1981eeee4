"""Functions that a model wrote: honest ones work, the gate says why others do not, and behind the gate is a wall."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import textwrap
import time
from fractions import Fraction
from pathlib import Path

import pytest

from rltpf.errors import RunError
from rltpf.sandbox import functions
from rltpf.sandbox.functions import Outcome, run_function
from rltpf.sandbox.values import Value

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="functions are confined on Linux")


def call(source: str, *arguments: Value, seconds: float = 20.0) -> Outcome:
    return run_function(textwrap.dedent(source), "f", arguments, seconds)


HONEST = (
    ("def f(a, b): return a + b", (2, 3), 5),
    (
        """
        f = None
        def f(x: float) -> float:
            '''Half.'''
            return x / 2
        """,
        (3,),
        1.5,
    ),
    ("from fractions import Fraction\ndef f(a, b): return Fraction(a, b)", (2, 6), Fraction(1, 3)),
    ("def f(x): return x * 3", (Fraction(1, 6),), Fraction(1, 2)),
    (
        """
        import math
        from math import *
        def f(n):
            return [math.gcd(n, 12), floor(pi), comb(5, 2)]
        """,
        (18,),
        [6, 3, 10],
    ),
    ("from decimal import Decimal as D\ndef f(s): return D(s) + D('0.2')", ("0.1",), Fraction(3, 10)),
    (
        "import itertools as it\ndef f(n): return [list(p) for p in it.combinations(range(n), 2)]",
        (3,),
        [[0, 1], [0, 2], [1, 2]],
    ),
    (
        """
        import re
        def f(text):
            found = re.fullmatch(r"\\((-?\\d+), *(-?\\d+)\\)", text)
            return [found[1], found.group(2), re.sub("[()]", "", text), re.compile("-").pattern]
        """,
        ("(-1, 2)",),
        ["-1", "2", "-1, 2", "-"],
    ),
    (
        """
        from functools import lru_cache, reduce
        @lru_cache(maxsize=None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        def f(n):
            return reduce(lambda a, b: a + b, (fib(i) for i in range(n)))
        """,
        (10,),
        88,
    ),
    ("import statistics\ndef f(xs): return statistics.mean(xs)", ([1, 2, 6],), 3),
    (
        """
        def f(s):
            total = 0
            for _, word in enumerate(s.split()):
                try:
                    total += int(word)
                except ValueError as e:
                    continue
            return f'{total:>4}'
        """,
        ("a 3 4",),
        "   7",
    ),
    (
        """
        def f(x):
            match x:
                case [a, *rest]:
                    return [a, len(rest)]
                case _:
                    return None
        """,
        ([1, 2, 3],),
        [1, 2],
    ),
    (
        """
        from decimal import Decimal, localcontext
        def f():
            with localcontext() as context:
                context.prec = 3
                return Decimal(1) / Decimal(3)
        """,
        (),
        Fraction(333, 1000),
    ),
    ("def f():\n    print('x' * 100)\n    return None", (), None),
)


@pytest.mark.parametrize(("source", "arguments", "value"), HONEST)
def test_honest_functions(source: str, arguments: tuple[Value, ...], value: Value) -> None:
    outcome = call(source, *arguments)
    assert (outcome.failure, outcome.detail) == (None, "")
    assert (outcome.value, type(outcome.value)) == (value, type(value))
    assert 0 < outcome.seconds < 20


def test_the_same_call_gives_the_same_result() -> None:
    """Chance is seeded, and the order of a set of strings is no chance."""
    source = "import random\ndef f():\n    return [random.random(), [s for s in {'a', 'b', 'c', 'd', 'e', 'g', 'h'}]]"
    first = call(source)
    assert first.failure is None
    assert {repr(call(source).value) for _ in range(3)} == {repr(first.value)}


@pytest.mark.parametrize(
    ("source", "failure", "detail"),
    [
        ("def f(:", "syntax", "SyntaxError"),
        ("def f(): return " + "-" * 40_000 + "1", "syntax", "MemoryError"),
        ("def f(): return '\0'", "syntax", "null bytes"),
        ("def g(): return 1", "gate", "it defines no function f"),
        ("f = lambda: 1", "gate", "it defines no function f"),
        ("def f(): return 1\n" + "#" * 50_000, "gate", "longer than 50,000 characters"),
        ("def f():\n    return 1 / 0", "exception", "ZeroDivisionError: division by zero"),
        ("def f(): return f()", "exception", "RecursionError"),
        ("def f(x): return x", "exception", "TypeError: f() missing 1 required positional argument"),
        ("def f(): return unknown", "exception", "NameError"),
        ("raise ValueError('at import')\ndef f(): return 1", "exception", "ValueError: at import"),
        ("def f(): return {1: 2}", "result", "a dict is neither"),
        ("def f(): return float('nan')", "result", "not finite"),
        ("def f(): return 10 ** 4000", "result", "digits"),
        ("def f(): return 'x' * 1_000_001", "result", "longer than 1,000,000 bytes"),
        ("def f(): return [0] * 10 ** 10", "memory", "more memory than allowed"),
        ("def f():\n    x = []\n    while True: x.append('a' * 1_000_000)", "memory", "more memory than allowed"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_failures_have_codes(source: str, failure: str, detail: str) -> None:
    outcome = call(source)
    assert (outcome.value, outcome.failure) == (None, failure)
    assert detail in outcome.detail


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    while True: pass",
        "def f(): return 7 ** 10 ** 9",  # one instruction that no signal handler of Python would interrupt
        "def f():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
        "def f():\n    while True: print('x' * 10_000)",
    ],
)
def test_no_end_is_a_timeout(source: str) -> None:
    began = time.monotonic()
    outcome = call(source, seconds=0.5)
    assert (outcome.failure, outcome.detail) == ("timeout", "no result within 0.5 seconds")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("source", "detail"),
    [
        ("import os", "line 1: os may not be imported (allowed: math, fractions,"),
        ("import os.path as math", "line 1: os.path may not be imported"),
        ("from subprocess import run", "line 1: subprocess may not be imported"),
        ("from . import x", "line 1: None may not be imported"),
        ("def g():\n    return ().__class__", "line 2: the attribute __class__ is not allowed"),
        ("import statistics\nstatistics.sys", "line 2: the attribute sys is not allowed"),
        ("g = (x for x in [])\ng.gi_frame", "line 2: the attribute gi_frame is not allowed"),
        ("__builtins__", "line 1: the name __builtins__ is not allowed"),
        ("def g(__import__): pass", "line 1: the name __import__ is not allowed"),
        ("from math import __loader__", "line 1: the name __loader__ is not allowed"),
        ("class A: pass", "line 1: ClassDef is not allowed"),
        ("async def g(): pass", "line 1: AsyncFunctionDef is not allowed"),
        ("match 1:\n    case int(real=x): pass", "line 2: MatchClass is not allowed"),
    ],
)
def test_the_gate_says_where_and_why(source: str, detail: str) -> None:
    outcome = call(source + "\ndef f(): return 1")
    assert outcome.failure == "gate"
    assert detail in outcome.detail


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(): return open('/etc/passwd')", "open"),
        ("def f(): return eval('1')", "eval"),
        ("def f(): return getattr(1, 'real')", "getattr"),
        ("def f(): return exit(0)", "exit"),
        ("import functools\ndef f(): return functools.update_wrapper(f, f, (), ('__globals__',))", "update_wrapper"),
        ("from functools import wraps\ndef f(): return 1", "wraps"),
        ("from statistics import sys\ndef f(): return 1", "sys"),
    ],
)
def test_what_no_name_leads_to(source: str, name: str) -> None:
    outcome = call(source)
    assert outcome.failure in ("exception", "gate")
    assert name in outcome.detail


# The gate is a first look, and not what holds: from here on it is taken away, with the names that were kept from
# functions. `libc` is the library that the process used to confine itself.
UNGATED = """
from rltpf.sandbox import function_gate
import builtins
function_gate.gate = lambda tree, name: []
function_gate.builtins_for_functions = lambda: vars(builtins)
"""
TAKEN = """
import ctypes, gc, os, sys
libc = sys.modules["rltpf.sandbox.linux"]._libc()
machine = sys.modules["platform"].machine()  # asked before, and kept
def system(x86_64, aarch64, *arguments):
    number = {"x86_64": x86_64, "aarch64": aarch64}[machine]
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")
def refused(attempt):
    try:
        attempt()
    except OSError:
        return True
    return False
"""


@pytest.fixture
def ungated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_MAIN", functions._MAIN.replace("main()", UNGATED + "main()"))


def taken(body: str, *arguments: Value, seconds: float = 20.0) -> Outcome:
    return call(TAKEN + textwrap.dedent(body), *arguments, seconds=seconds)


@pytest.mark.usefixtures("ungated")
def test_no_network_files_processes_or_signals(tmp_path: Path) -> None:
    secret = tmp_path / "id_ed25519"
    secret.write_text("key-very-secret")
    body = """
        def f(path, victim):
            attempts = dict(
                socket=lambda: system(41, 198, 2, 1, 0),
                local=lambda: system(41, 198, 1, 1, 0),
                ring=lambda: system(425, 425, 1, 0),
                read=lambda: open(path),
                write=lambda: open(path, "w"),
                list=lambda: os.listdir("/"),
                unlink=lambda: os.unlink(path),
                chmod=lambda: os.chmod(path, 0o777),
                truncate=lambda: os.truncate(path, 0),
                fork=os.fork,
                clone=lambda: system(56, 220, 17, 0, 0, 0, 0),
                thread=lambda: system(56, 220, 0x3D0F00, 0, 0, 0, 0),
                shell=lambda: os.execv("/bin/sh", ["sh"]),
                signal=lambda: os.kill(victim, 0),
                parent=lambda: os.kill(os.getppid(), 15),
                trace=lambda: system(101, 117, 16, victim, 0, 0),
                memory=lambda: system(310, 270, victim, 0, 0, 0, 0, 0),
                session=os.setsid,
                survival=lambda: system(157, 167, 1, 0, 0, 0, 0),
                limits=lambda: system(302, 261, 0, 9, 0, 0),
            )
            return [name for name, attempt in attempts.items() if not refused(attempt)]
    """
    outcome = taken(body, str(secret), os.getpid())
    assert (outcome.value, outcome.failure, outcome.detail) == ([], None, "")
    assert secret.read_text() == "key-very-secret"


@pytest.mark.usefixtures("ungated")
def test_a_clean_environment_and_no_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-very-secret")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        outcome = taken(
            """
            def f():
                numbers = [n for n in range(3, 1000) if not refused(lambda: os.fstat(n))]
                return [[name for name in os.environ if name not in ("LC_CTYPE", "PYTHONHASHSEED")], len(numbers)]
            """
        )
    assert outcome.value == [[], 1]  # the pipe for the result


@pytest.mark.usefixtures("ungated")
def test_memory_is_bounded_past_the_gate() -> None:
    """Anonymous shared memory, which the limit of private memory does not count."""
    outcome = taken("def f(): return refused(lambda: system(9, 222, 0, 2**30, 3, 0x21, -1, 0))")
    assert outcome.value is True


@pytest.mark.usefixtures("ungated")
def test_sleep_is_a_timeout() -> None:
    assert taken("def f(): libc.poll(None, 0, -1)", seconds=0.5).failure == "timeout"


def forging(reply: str) -> str:
    """A function that has its process say something else than its result."""
    return f"json = sys.modules['json']\ndef f(): json._default_encoder.encode = lambda _: {reply!r}"


@pytest.mark.usefixtures("ungated")
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("def f(): os._exit(0)", "its process ended with 0 and no result"),
        ("def f(): ctypes.string_at(0)", "its process ended with -11 and no result"),
        ("def f(): os.close(OUT)", "its process ended with 1 and no result"),
        ("def f(): os.write(OUT, b'{\"value\": 1}')", "something was written in the result's place"),
        ("def f(): os.write(OUT, b'0' * 32 + b'{\"value\": 1}')", "something was written in the result's place"),
        ("def f():\n    while True: os.write(OUT, b'0' * 1000)", "something was written in the result's place"),
        (forging('{"value": NaN}'), "NaN is no number"),
        (forging('{"value": 1e999}'), "not finite"),
        (forging('{"value": {}}'), "an object is no fraction"),
        (forging('{"value": ' + "9" * 5000 + "}"), "digits"),
        (forging("[" * 20_000), "cannot be read"),
        (forging('{"failure": "timeout", "detail": ""}'), "neither a value nor a failure"),
    ],
    ids=lambda value: str(value)[:90],
)
def test_a_reply_that_is_none_is_a_protocol_failure(body: str, detail: str) -> None:
    find = "OUT = next(n for n in range(3, 1000) if not refused(lambda: os.fstat(n)))\n"
    outcome = taken(find + body)
    assert (outcome.value, outcome.failure) == (None, "protocol")
    assert detail in outcome.detail


@pytest.mark.usefixtures("ungated")
def test_a_number_that_says_it_equals_everything_is_no_result() -> None:
    outcome = taken(
        """
        class Liar(int):
            __eq__ = lambda self, other: True
            __hash__ = int.__hash__
        def f(): return [Liar(1)]
        """
    )
    assert outcome.failure == "result"
    assert "a Liar is neither" in outcome.detail


@pytest.mark.usefixtures("ungated")
def test_the_number_of_the_reply_is_nowhere_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every object that the collector, the frames and the modules lead to is looked at; a number put there is found."""
    monkeypatch.setattr(secrets, "token_hex", lambda count: "c0ffee" * 5 + "00")
    body = """
        planted = [PLANTED]
        def f():
            wanted = "".join(["c0ff", "eec0", "ffee"])
            seen, found, todo = set(), 0, [*gc.get_objects(), sys._getframe(), *sys.modules.values()]
            while todo:
                thing = todo.pop()
                if id(thing) in seen or len(seen) > 400_000:
                    continue
                seen.add(id(thing))
                if type(thing) in (str, bytes, bytearray):
                    text = thing if type(thing) is str else bytes(thing).decode("latin-1")
                    found += wanted in text and len(text) < 100
                todo += gc.get_referents(thing)
            return found
    """
    hidden = taken(body.replace("PLANTED", "''"))
    assert (hidden.value, hidden.detail) == (0, "")
    planted = taken(body.replace("PLANTED", "'c0ffeec0' + str('ffee')"))
    assert planted.value == 1


def test_a_function_does_not_outlive_who_asked() -> None:
    code = """
        from rltpf.sandbox.functions import run_function
        run_function("def f():\\n    while True: pass", "f", [], seconds=600)
    """
    asking = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
    deadline = time.monotonic() + 20
    # A process whose files are its own: confined, and not only started.
    while not (started := [c for c in children.read_text().split() if "Seccomp:\t2" in status(c)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(asking.pid, signal.SIGKILL)
    asking.wait()
    while "State" in (found := status(started[0])) and "State:\tZ" not in found:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def status(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def test_where_it_cannot_be_confined_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = "from rltpf.sandbox import seccomp; seccomp.function_filter = lambda machine: b''; "
    monkeypatch.setattr(functions, "_MAIN", functions._MAIN.replace("main()", broken + "main()"))
    with pytest.raises(RunError, match=r"Python functions cannot be confined on this machine \(linux\): .*prctl"):
        call("def f(): return 1")


def test_an_argument_that_is_no_value_is_the_callers_fault() -> None:
    with pytest.raises(ValueError, match="a set is neither"):
        run_function("def f(x): return x", "f", [{1}])  # type: ignore[list-item]
