"""The files of a run, for tests that kill one or compare two."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from data_gen.findings import DATA_SETS


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def equal_data_sets(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in DATA_SETS)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Wait for what a running process brings about."""
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, "the run ended before it came so far"
        assert time.monotonic() < deadline, "the run never came so far"
        time.sleep(0.01)


def identity(messages: list[dict[str, str]], seed: int | None) -> str:
    """What makes a request another one: its messages and seed."""
    return json.dumps([[[m["role"], m["content"]] for m in messages], seed])


def recorded(output_dir: Path) -> set[str]:
    """The requests of whole lines of the transcript."""
    path = output_dir / "transcript.jsonl"
    found = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    requests = [json.loads(line)["request"] for line in found]
    return {identity(request["messages"], request["sampling"]["seed"]) for request in requests}
