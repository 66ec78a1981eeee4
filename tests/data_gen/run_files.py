"""The files of a run, for tests that kill one or compare two."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from data_gen.export import COLUMNS

DATA_SETS = tuple(f"{kind}.jsonl" for kind in COLUMNS)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def equal_data_sets(one: Path, other: Path) -> bool:
    return data_sets(one) == data_sets(other)


def data_sets(output_dir: Path) -> dict[str, bytes]:
    """The data sets, and the folder of them all to the last file."""
    files = [output_dir / name for name in DATA_SETS]
    files += [path for path in (output_dir / "dataset").rglob("*") if path.is_file()]
    return {str(path.relative_to(output_dir)): path.read_bytes() for path in files}


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
