from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import Field

from rltpf.config import SAME_RESULTS, Config
from rltpf.errors import InputError
from rltpf.runs import RunDirectory, installed_versions


class Settings(Config):
    output_dir: Path = Path("x")
    model: str = "m"
    workers: int = Field(1, json_schema_extra=SAME_RESULTS)
    limit: int | None = None


def open_run(folder: Path, command: str = "generate", overwrite: bool = False, **settings: object) -> RunDirectory:
    run = RunDirectory.open(folder, Settings(**settings), command, overwrite)
    run.begin()
    return run


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_a_new_run_writes_its_config_and_where_it_came_from(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with open_run(folder, model="ä") as run:
        assert not run.resumed
        assert run.transcript == folder / "transcript.jsonl"
        run.finish()
    assert yaml.safe_load((folder / "config.yaml").read_text()) == {
        "output_dir": "x",
        "model": "ä",
        "workers": 1,
        "limit": None,
    }
    found = manifest(folder)
    (start,) = found["starts"]
    assert found["command"] == "generate"
    assert start["host"] == socket.gethostname()
    assert start["packages"] == installed_versions()
    assert start["python"] == ".".join(map(str, sys.version_info[:3]))
    assert start["time"] <= start["finished"]


def test_the_same_config_resumes(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        journal = run.journal("questions")
        journal.append({"id": "a"})
        journal.close()
    with open_run(tmp_path, workers=8, output_dir="y") as run:
        assert run.resumed
        assert "a" in run.journal("questions")
    assert len(manifest(tmp_path)["starts"]) == 2
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["workers"] == 8


def test_another_config_is_refused_with_every_difference_and_the_ways_out(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.journal("questions").append({"id": "a"})
    with pytest.raises(InputError) as caught:
        open_run(tmp_path, model="n", limit=5, workers=3)
    assert [line.replace(str(tmp_path), "RUN") for line in caught.value.faults] == [
        "RUN: limit: this run has null, and now it is 5",
        'RUN: model: this run has "m", and now it is "n"',
        "RUN: to keep its results restore these settings; otherwise pass --overwrite to start again, or choose another "
        "output_dir",
    ]
    # A refused start leaves no trace and no lock.
    assert len(manifest(tmp_path)["starts"]) == 1
    open_run(tmp_path).close()


def test_a_start_that_left_nothing_does_not_bind_the_next(tmp_path: Path) -> None:
    with open_run(tmp_path, model="mistyped") as run:
        run.journal("questions").close()
    with open_run(tmp_path, model="n") as run:
        assert not run.resumed
    assert [manifest(tmp_path)["settings"]["model"], len(manifest(tmp_path)["starts"])] == ["n", 1]


def test_another_command_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.write("data/sft.jsonl", "{}\n")
    with pytest.raises(InputError, match="holds a run of `generate`, not of `evaluate`"):
        open_run(tmp_path, "evaluate")


def test_overwrite_removes_the_run_and_leaves_other_folders(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.journal("questions").append({"id": "a"})
        run.write("data/sft.jsonl", "{}\n")
    (tmp_path / "sft").mkdir()
    (tmp_path / "sft" / "adapter.bin").write_text("hours of training")
    outside = tmp_path.parent / f"{tmp_path.name}_outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (tmp_path / "plots").symlink_to(outside)
    with open_run(tmp_path, overwrite=True, model="n") as run:
        assert not run.resumed
        assert len(run.journal("questions")) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        ".lock",
        "config.yaml",
        "manifest.json",
        "questions.jsonl",
        "sft",
    ]
    assert (tmp_path / "sft" / "adapter.bin").read_text() == "hours of training"
    assert (outside / "precious").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["thesis.tex", "manifest.json", "config.yaml"])
def test_a_folder_that_is_no_run_directory_is_left_alone(tmp_path: Path, overwrite: bool, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=re.escape(f"is neither empty nor a run directory (it holds {name})")):
        open_run(tmp_path, overwrite=overwrite)
    assert (tmp_path / name).read_text() == "{}"


def test_a_file_in_the_place_of_the_folder_is_a_clear_fault(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(InputError, match="run: cannot be written: File exists: choose another output_dir"):
        open_run(tmp_path / "run")


def test_a_second_writer_is_refused_and_told_who_is_first(tmp_path: Path) -> None:
    with open_run(tmp_path), pytest.raises(InputError) as caught:
        open_run(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: is being written by process {os.getpid()} on {socket.gethostname()}: "
        "wait for it, or choose another output_dir"
    )


def test_a_killed_writer_gives_up_its_lock(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from rltpf.config import Config; from rltpf.runs import RunDirectory\n"
        "RunDirectory.open(Path(sys.argv[1]), Config(), 'generate').begin()\n"
        "print('locked', flush=True); time.sleep(60)"
    )
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "locked\n"
    with pytest.raises(InputError, match=f"process {child.pid} on"):
        RunDirectory.open(tmp_path, Config(), "generate")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with RunDirectory.open(tmp_path, Config(), "generate") as run:
        assert run.resumed


def test_a_start_killed_before_its_manifest_leaves_a_folder_that_opens(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("process 1 on nowhere\n")
    (tmp_path / ".manifest.json.77.tmp").write_text("{")
    with open_run(tmp_path) as run:
        assert not run.resumed


def test_another_lean_is_refused(tmp_path: Path) -> None:
    for _ in range(2):
        with RunDirectory.open(tmp_path, Settings(), "generate") as run:
            run.begin("lean-4.31 embedded")
            run.journal("questions").close()
    before = manifest(tmp_path)
    run = RunDirectory.open(tmp_path, Settings(), "generate")
    with run, pytest.raises(InputError, match=r"are from Lean lean-4\.31 embedded, and Lean here is lean-4\.32"):
        run.begin("lean-4.32 native")
    assert manifest(tmp_path) == before
    assert before["toolchain"] == "lean-4.31 embedded"


def refused(folder: Path, begun: bool, **options: Any) -> None:
    """A start that ends with bad input."""
    with suppress(InputError), RunDirectory.open(folder, Settings(), "generate", **options) as run:
        if begun:
            run.begin()
            run.journal("questions").close()
        raise InputError("bad")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("begun", [False, True])
def test_a_refused_start_leaves_nothing_behind(tmp_path: Path, begun: bool) -> None:
    refused(tmp_path / "a" / "b", begun)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "models").mkdir()
    refused(tmp_path, begun)
    assert [entry.name for entry in tmp_path.iterdir()] == ["models"]


@pytest.mark.parametrize("options", [{}, {"overwrite": True}])
def test_a_refused_start_leaves_an_earlier_run_as_it_was(tmp_path: Path, options: dict[str, bool]) -> None:
    with open_run(tmp_path) as run:
        run.write("data/sft.jsonl", "{}\n")
    before = contents(tmp_path)
    refused(tmp_path, begun=False, **options)
    assert contents(tmp_path) == before


def test_what_a_start_found_stays_when_it_is_refused_later(tmp_path: Path) -> None:
    with suppress(InputError), open_run(tmp_path) as run:
        run.journal("questions").append({"id": "a"})
        raise InputError("bad")
    with open_run(tmp_path) as run:
        assert run.resumed


def test_a_lock_file_that_a_refused_start_removes_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".lock").touch()
    flock, calls = fcntl.flock, []

    def too_late(lock: int, how: int) -> None:
        flock(lock, how)
        calls.append(lock)
        if len(calls) == 1:
            (tmp_path / ".lock").unlink()

    monkeypatch.setattr(fcntl, "flock", too_late)
    with open_run(tmp_path):
        assert len(calls) == 2
        assert (tmp_path / ".lock").exists()
