"""The demo as a process; its steps are tested where they are, and the whole by `make demo`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

DEMO = """
import sys
from rltpf import cli, demo
demo._steps = lambda: [("a long step", ["timeit", "-n", "1", "-r", "1", "import time; time.sleep(600)"])]
sys.exit(cli.main(["demo"]))
"""


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGTERM, 143, "stopped at step 1 (a long step), exit code 143; `rltpf demo` continues there"),
        (signal.SIGINT, 130, "interrupted; what is finished is kept: start the same command again to go on"),
    ],
)
def test_what_ends_the_demo_ends_its_step(tmp_path: Path, number: signal.Signals, code: int, line: str) -> None:
    config = tmp_path / "configs" / "generate" / "demo.yaml"
    config.parent.mkdir(parents=True)
    config.touch()
    demo = subprocess.Popen(
        [sys.executable, "-c", DEMO], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 60
        while not (steps := psutil.Process(demo.pid).children()) and time.monotonic() < until:
            time.sleep(0.05)
        [step] = steps
        time.sleep(0.5)  # between its start and the handler
        demo.send_signal(number)
        said, _ = demo.communicate(timeout=60)
    finally:
        demo.kill()
    assert demo.returncode == code
    assert line in said
    assert not step.is_running()
