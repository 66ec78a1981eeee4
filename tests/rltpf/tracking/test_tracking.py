"""W&B runs are written offline by the real library and read back. It reads its environment once a process, so each
test has one of its own."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from offline_wandb import read_offline_run

from rltpf.tracking import is_asked_for

LABELS = "Labels(group='demo', job_type='evaluate', name='SmolLM2-evaluate')"


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """No W&B settings of whoever runs the tests, and no file outside the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    places = {name: str(folder) for name in ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR")}
    return {**kept, **places, "NETRC": str(folder / "netrc"), **variables}


def python(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    code = f"from pathlib import Path\nfrom rltpf.tracking import *\nfolder = Path({str(folder)!r})\n{code}"
    return subprocess.run(
        [sys.executable, "-c", code], env=environment(folder, **variables), capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("report_to", "asked"),
    [(None, False), ("none", False), ([], False), ("tensorboard", False), ("wandb", True),
     (["tensorboard", "wandb"], True), ("all", True)],
)  # fmt: skip
def test_only_who_asks_is_tracked(report_to: str | list[str] | None, asked: bool) -> None:
    assert is_asked_for(report_to) is asked


@pytest.mark.slow
def test_a_run_says_what_it_was_and_on_which_data(tmp_path: Path) -> None:
    done = python(
        tmp_path,
        f"""
import wandb
with tracked(folder / "out", {LABELS}, {{"seed": 42, "llm": {{"model": "m"}}}}) as tracker:
    tracker.used("dataset", {{"sha256": "5f"}}, {{"rows": 2}})
    tracker.produced("model", {{"a.safetensors": "6e"}}, {{}})
    tracker.summarise({{"test/rows": 2}})
    prompt = [{{"role": "system", "content": "Be brief."}}, {{"role": "user", "content": "∀ x?"}}]
    tracker.table("samples/test", [{{"prompt": prompt, "score": 1}}, {{"prompt": "p", "labels": [True, False]}}])
    wandb.log({{"test/accuracy": 0.5}})
    assert tracker.url is None
""",
        WANDB_MODE="offline",
    )
    assert done.returncode == 0, done.stderr
    found = read_offline_run(tmp_path)
    assert (found.run.project, found.run.run_group, found.run.job_type) == ("rltpf", "demo", "evaluate")
    assert (found.run.display_name, found.exit_code) == ("SmolLM2-evaluate", 0)
    assert (found.config["seed"], found.config["llm"]) == (42, {"model": "m"})
    assert [row["test/accuracy"] for row in found.history if "test/accuracy" in row] == [0.5]
    assert found.table("samples/test") == {
        "columns": ["prompt", "score", "labels"],
        "data": [["system: Be brief.\n\nuser: ∀ x?", 1, None], ["p", None, "[true, false]"]],
    }
    (data,) = (artifact for artifact in found.artifacts if artifact.type == "dataset")
    # The first 16 hexadecimal digits of SHA-256 of [{"sha256":"5f"}]
    assert (data.name, json.loads(data.metadata)) == ("dataset-1e46168a856aef05", {"rows": 2})
    assert [entry.path for entry in data.manifest.contents] == ["dataset.json"]
    assert found.summary["test/rows"] == 2
    assert json.loads((tmp_path / "out" / "wandb.json").read_text()) == {
        "project": "rltpf", "group": "demo", "job_type": "evaluate", "name": "SmolLM2-evaluate",
        "id": found.run.run_id, "url": None,
    }  # fmt: skip


@pytest.mark.slow
def test_a_failed_run_is_marked_and_goes_on_under_its_id(tmp_path: Path) -> None:
    failing = f"with tracked(folder / 'out', {LABELS}, {{}}) as tracker:\n    raise RuntimeError('stopped')"
    (tmp_path / "first").mkdir()
    first = python(tmp_path, failing, WANDB_MODE="offline", WANDB_DIR=str(tmp_path / "first"), WANDB_PROJECT="mine",
                   WANDB_RUN_GROUP="ours")  # fmt: skip
    assert first.stderr.rstrip().endswith("RuntimeError: stopped")
    found = read_offline_run(tmp_path / "first")
    assert (found.exit_code, found.run.project, found.run.run_group) == (1, "mine", "ours")

    (tmp_path / "second").mkdir()
    going_on = f"with tracked(folder / 'out', {LABELS}, {{}}, resumed=True): pass"
    second = python(tmp_path, going_on, WANDB_MODE="offline", WANDB_DIR=str(tmp_path / "second"))
    assert second.returncode == 0, second.stderr
    again = read_offline_run(tmp_path / "second")
    assert (again.run.run_id, again.exit_code) == (found.run.run_id, 0)


@pytest.mark.slow
def test_a_missing_key_is_said_even_where_there_is_a_terminal_to_ask_on(tmp_path: Path) -> None:
    code = "from rltpf.tracking import check\nfrom rltpf.errors import InputError\n"
    code += "try: check()\nexcept InputError as error: print(error.faults)"
    terminal, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path, TERM="xterm"), stdin=theirs,
                          stderr=theirs, stdout=subprocess.PIPE, text=True, timeout=60)  # fmt: skip
    os.close(theirs)
    os.close(terminal)
    assert done.stdout == (
        "('report_to wandb: no key for W&B here: run `wandb login`, set WANDB_API_KEY, or set WANDB_MODE=offline "
        "and `wandb sync` later',)\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables", [{"WANDB_MODE": "offline"}, {"WANDB_MODE": "disabled"}, {"WANDB_API_KEY": "k" * 40}]
)
def test_nothing_is_wrong_where_no_key_is_needed_or_there_is_one(tmp_path: Path, variables: dict[str, str]) -> None:
    done = python(tmp_path, "check()\nprint('fine')", **variables)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.slow
def test_a_key_is_looked_for_without_a_question_to_the_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        done = python(tmp_path, "check()\nprint('fine')", WANDB_API_KEY="k" * 40, WANDB_BASE_URL=url)
        assert done.stdout == "fine\n", done.stderr
        with pytest.raises(BlockingIOError):
            server.accept()


def test_without_wandb_there_is_one_line(tmp_path: Path) -> None:
    code = "import sys\nfrom rltpf.errors import InputError\nsys.modules['wandb'] = None\n"
    code += "try: check()\nexcept InputError as error: print(error.faults, is_asked_for('all'))"
    assert python(tmp_path, code).stdout == (
        "(\"report_to wandb: wandb is not installed: `pip install 'rltpf[wandb]'`, or --report_to none\",) False\n"
    )
