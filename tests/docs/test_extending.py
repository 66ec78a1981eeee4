"""The examples of the pages `new_*.md`, as they stand in the pages: applied to a copy of the sources, and run."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pages
import pytest

from demo.server import serve
from rltpf.prover import embedded

SOURCES = ("rltpf", "data_gen", "eval", "lean", "configs", "demo", "pyproject.toml")


class Copy:
    """A copy of the sources with what a page adds and changes, in which its commands are run."""

    def __init__(self, folder: Path, page: str, url: str = "") -> None:
        self.folder = folder
        for name in SOURCES:
            source = pages.ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / name)
        self._page = pages.ROOT / "docs" / page
        self._environment = {**os.environ, "PYTHONPATH": str(folder), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "EMPTY"}
        # Within another repository git would look for the files there.
        self._environment["GIT_CEILING_DIRECTORIES"] = str(folder.parent)
        self._environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        for block in pages.blocks(self._page):
            if block.title:
                (folder / block.title).write_text(block.text, encoding="utf-8")
            if block.language == "diff":
                self._do(["git", "apply", "-"], block.text)
        added = [block.title for block in pages.blocks(self._page, "python")]
        self._do([sys.executable, "-m", "ruff", "check", "--no-cache", *added])
        self._do([sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *added])

    def commands(self) -> list[str]:
        return list(pages.commands(self._page))

    def run(self, command: str) -> str:
        """What a command of the page says on both streams; fails where it does not end with 0."""
        program, *words = shlex.split(command)
        assert program == "rltpf"
        return self._do([sys.executable, "-m", "rltpf", *words])

    def _do(self, command: list[str], text: str = "") -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, input=text, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


class Author:
    """Paraphrases two questions, one of them with another number, and answers the rest with 120."""

    def __init__(self) -> None:
        self.asked = 0

    def reply(self, system: str, user: str, seed: int) -> str:
        self.asked += 1
        if not system:
            return "Step 1: It is 60 km twice.\nThe answer is 120."
        paraphrases = {
            "Three packs": "How many eggs are in three packs, with 4 in each?",
            "Two boxes": "How many pens are in two boxes of 7?",
        }
        return next(
            (json.dumps({"paraphrase": text}) for begin, text in paraphrases.items() if user.startswith(begin)), "no"
        )


@contextmanager
def served(folder: Path, page: str) -> Iterator[tuple[Copy, Author]]:
    author = Author()
    with serve(author, "NAME", len) as url:
        yield Copy(folder, page, url), author


def test_a_backend(tmp_path: Path) -> None:
    copy = Copy(tmp_path, "new_backend.md")
    (command,) = copy.commands()
    assert "| strict | 1 / 2 | 50.0 |" in copy.run(command)
    replies = [json.loads(line) for line in (tmp_path / "runs/program/transcript.jsonl").read_text().splitlines()]
    assert sorted(row["completion"]["text"] for row in replies) == [
        "I do not know.",
        "Step 1: It asks for a number.\nThe answer is 5.",
    ]
    # Behind the transcript like any other: the program is gone, and nobody misses it.
    (tmp_path / "constant.py").unlink()
    assert "| strict | 1 / 2 | 50.0 |" in copy.run(command)


@pytest.mark.lean
@pytest.mark.slow
def test_a_toolchain(lean_installed: None, tmp_path: Path) -> None:
    copy = Copy(tmp_path, "new_toolchain.md")
    (tmp_path / "FOLDER").mkdir()
    for entry in embedded.installation().iterdir():
        if entry.name in ("lean.js", "lean.wasm"):
            shutil.copy(entry, tmp_path / "FOLDER" / entry.name)
        elif entry.is_dir():
            shutil.copytree(entry, tmp_path / "FOLDER" / entry.name)
    (command,) = copy.commands()
    said = copy.run(command)
    assert "\nwasm-lean4-" in f"\n{said}"
    # cases, right, wrong, skipped
    assert [line.split() for line in said.splitlines() if line.startswith("all ")] == [["all", "3", "3", "0", "0"]]
    assert len(list((tmp_path / "FOLDER").glob("Judge-*.olean"))) == 1


def test_a_benchmark(tmp_path: Path) -> None:
    with served(tmp_path, "new_benchmark.md") as (copy, _):
        listing, evaluation = copy.commands()
        assert "| quantities | 1 | task, result |" in copy.run(listing)
        assert "| strict | 1 / 2 | 50.0 |" in copy.run(evaluation)
    samples = [json.loads(line) for line in (tmp_path / "runs/quantities/samples.jsonl").read_text().splitlines()]
    assert [sample["gold"] for sample in samples] == ["120", "2.5"]


def test_a_stage(tmp_path: Path) -> None:
    with served(tmp_path, "new_stage.md") as (copy, author):
        preview, command, show_help = copy.commands()
        assert "Three packs of 4 eggs" in copy.run(preview)
        assert author.asked == 0
        assert "questions: 3 in = 1 kept + 1 numbers + 1 unreadable" in copy.run(command)
        output = tmp_path / "paraphrases.jsonl"
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        assert [(row["id"], row["paraphrase"], (row["error"] or {}).get("reason")) for row in rows] == [
            ("a", "How many eggs are in three packs, with 4 in each?", None),
            ("b", "", "numbers"),
            ("c", "", "unreadable"),
        ]
        # A reply that is no JSON is asked for three times.
        assert author.asked == 5
        # Torn in the middle of a line, it goes on, and pays for nothing twice.
        before = output.read_bytes()
        journal = tmp_path / "runs/paraphrase/paraphrases.jsonl"
        os.truncate(journal, journal.stat().st_size - 10)
        copy.run(command)
        assert (output.read_bytes(), author.asked) == (before, 5)
        assert "llm.model  (str, required)" in copy.run(show_help)
