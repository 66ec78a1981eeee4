"""The process in which one call of a model-written function happens: `child.main()`.

The request comes on stdin, a file: its length in 8 bytes, a JSON object, then the number that a reply has to begin
with. That number stays unread while the function runs, so it is nowhere in the memory that the function could search. A
function that takes over the whole process could still read it; all that it gains is to name its result in another way.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import random
import resource
from typing import Any

from rltpf.sandbox import function_gate, linux, seccomp, values
from rltpf.sandbox.launcher import limit_resources

READY, FAULT = b"R", b"F"
NUMBER_BYTES = 32
RESULT_BYTES = 1_000_000
DETAIL_CHARACTERS = 300


def main() -> None:
    """Answer the request on stdin, and end."""
    request = json.loads(os.read(0, int.from_bytes(os.read(0, 8), "big")))
    out = request["out"]
    try:
        confine(request["parent"], request["memory"], request["cpu_seconds"])
    except (OSError, KeyError) as error:
        os.write(out, FAULT + str(error).encode())
        os._exit(1)
    os.write(out, READY)
    reply = json.dumps(evaluate(request["source"], request["name"], request["arguments"]))
    if len(reply) > RESULT_BYTES:
        reply = json.dumps(_failure("result", f"the result is longer than {RESULT_BYTES:,} bytes"))
    rest = os.read(0, NUMBER_BYTES) + reply.encode()
    while rest:
        rest = rest[os.write(out, rest) :]
    os._exit(0)


def confine(parent: int, memory: int, cpu_seconds: int) -> None:
    """From here on this process can calculate, read and write what is open, and end; raises `OSError`, or `KeyError` on
    a machine that there is no filter for."""
    if not linux.die_with(parent):
        raise OSError("the process that asked has ended")
    limit_resources(memory, cpu_seconds, 0)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    linux.give_up_privileges()
    if linux.landlock_abi():
        linux.restrict_files((), (), ())
    linux.install_filter(seccomp.function_filter(platform.machine()))


def evaluate(source: str, name: str, arguments: list[Any]) -> dict[str, Any]:
    """The reply: a value, or the code of a failure and its detail."""
    if len(source) > function_gate.SOURCE_CHARACTERS:
        return _failure("gate", f"the source is longer than {function_gate.SOURCE_CHARACTERS:,} characters")
    try:
        tree = ast.parse(source)
        code = compile(tree, "<function>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _failure("syntax", _describe(error))
    if faults := function_gate.gate(tree, name):
        return _failure("gate", "; ".join(faults))
    random.seed(0)
    names: dict[str, Any] = {"__builtins__": function_gate.builtins_for_functions(), "__name__": "function"}
    try:
        exec(code, names)
        value = names[name](*(values.decode(argument) for argument in arguments))
    except MemoryError:
        return _failure("memory", "more memory than allowed")
    except BaseException as error:  # an exit, too, is only what the function did
        return _failure("exception", _describe(error))
    try:
        return {"value": values.encode(value)}
    except (ValueError, RecursionError, MemoryError) as error:
        return _failure("result", _describe(error))


def _failure(code: str, detail: str) -> dict[str, Any]:
    return {"failure": code, "detail": detail[:DETAIL_CHARACTERS]}


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # its text is the function's own, and may fail to be made
        return type(error).__name__
