"""A real SLURM with one node, for the tests of this folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_REASON = "slurmctld or munged is missing, or this is not root: apt-get install --no-install-recommends slurm-wlm munge"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.args == config.getini("testpaths"):
        for item in items:
            if item.get_closest_marker("minutes"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-slurm"))


class Cluster:
    """The commands of SLURM, in a folder to submit from."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    def call(self, *command: object, **variables: str) -> str:
        """What a command prints; it has to succeed."""
        answer = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**self.environment, **variables},
            check=False,
        )
        assert answer.returncode == 0, f"{command}: {answer.stdout}{answer.stderr}"
        return answer.stdout

    def submit(self, *options: object, **variables: str) -> str:
        """The number of a job."""
        return self.call("sbatch", "--parsable", *options, **variables).strip()

    def wait(self, job: str = "", seconds: float = 300) -> None:
        """Until the job, or all jobs, have left the queue."""
        which = ["-j", job] if job else []
        self.until(lambda: not self.call("squeue", "-h", *which).strip(), seconds)

    def until(self, true: Callable[[], bool], seconds: float = 120) -> None:
        """Wait for something; fails with the queue and the logs."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                pytest.fail(f"after {seconds} s: {self.call('squeue')}\n{self.logs()}")
            time.sleep(0.2)

    def state(self, job: str) -> dict[str, str]:
        """What SLURM says of a job: JobState, Restarts, ExitCode."""
        return dict(word.split("=", 1) for word in self.call("scontrol", "show", "job", job).split() if "=" in word)

    def kill(self, job: str) -> None:
        """SIGKILL to every process of a job, as where memory runs out: nothing of it gets to clean up."""
        listed = self.call("scontrol", "listpids", self.state(job)["JobId"]).splitlines()[1:]
        for pid in {int(line.split()[0]) for line in listed} - {-1}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def logs(self) -> str:
        return "\n".join(
            f"== {path.name}\n{path.read_text(errors='replace')}" for path in sorted((self.folder / "logs").iterdir())
        )


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if not (shutil.which("slurmctld") and shutil.which("munged")) or os.geteuid():
        pytest.skip(_REASON)
    # Short, since the path of a socket may have 108 characters.
    home = Path(tempfile.mkdtemp(prefix="slurm-"))
    programs = home / "bin"
    programs.mkdir()
    (programs / "rltpf").write_text(f'#!/bin/bash\nexec {sys.executable} -m rltpf "$@"\n')
    (programs / "rltpf").chmod(0o755)
    environment = {
        **os.environ,
        "SLURM_CONF": str(home / "slurm.conf"),
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RLTPF_SLURM": str(ROOT / "slurm"),
    }
    try:
        subprocess.run(["bash", HERE / "start.sh", home], check=True, timeout=60, stdout=subprocess.DEVNULL)
        yield environment
    finally:
        subprocess.run(["bash", HERE / "stop.sh", home], check=False)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def cluster(slurm: dict[str, str], tmp_path: Path) -> Cluster:
    """A folder with what a checkout has."""
    for name in ("configs", "demo", "slurm"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "logs").mkdir()
    return Cluster(tmp_path, slurm)
