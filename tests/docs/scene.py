"""A folder like a fresh checkout, with the inputs that the pages name, and a small model behind a real server."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pages

from demo.server import serve

EGGS = "theorem eggs (sold dollars : Nat) (h_sold : sold + 3 + 4 = 16) (h : dollars = sold * 2) : dollars = {}"


class Author:
    """Replies to what the pages' commands ask; raises `LookupError` for anything else."""

    def reply(self, system: str, user: str, seed: int) -> str:
        if user.startswith("Problem:\nAna has 16 eggs") and "\nAnswer: " in user:
            answer = user.split("\nAnswer: ")[1].split("\n")[0]
            return f"```lean\n{EGGS.format(answer)} := by sorry\n```"
        if user.startswith("Problem:\nAna has 16 eggs") and "\nOther answer: " in user:
            other = user.split("\nOther answer: ")[1].split("\n")[0]
            return json.dumps({"original_local_block": "dollars = 14", "rewritten_local_block": f"dollars = {other}"})
        if user.startswith("Problem:\nAna has 16 eggs"):
            code = "def fill_answer(answer):\n    return f'dollars = {answer}'"
            return json.dumps({"original_local_block": "dollars = 14", "fill_answer_code": code})
        if system == "":
            # Right for one problem of the sets below: the rewritten one whose answer is 5.
            return "Step 1: I guess.\nThe answer is 5."
        raise LookupError(user[:80])


@dataclass(frozen=True)
class Scene:
    """A folder in which commands run as subprocesses."""

    folder: Path
    url: str

    def run(self, command: str) -> str:
        """What a command says on both streams; fails where it does not end with 0."""
        program, *words = shlex.split(command)
        assert program == "rltpf"
        environment = {**os.environ, "PYTHONPATH": str(pages.ROOT), "OPENAI_BASE_URL": self.url}
        environment |= {"OPENAI_API_KEY": "EMPTY", "HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled"}
        done = subprocess.run(
            [sys.executable, "-m", "rltpf", *words], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr


def furnish(folder: Path) -> None:
    """Put what the commands of the pages read into a folder."""
    for name in ("configs", "demo", "gold"):
        (folder / name).symlink_to(pages.ROOT / name)
    data = pages.ROOT / "tests/rltpf/data"
    (folder / "FILE.jsonl").write_text('{"question": "2 + 3?", "answer": "5"}\n{"question": "2 + 2?", "answer": "4"}\n')
    (folder / "SET.jsonl").write_text((data / "repro.jsonl").read_text())


def put_rows(folder: Path, page: str, number: int, name: str, **more: str) -> None:
    """Write the rows of a page's JSON block, counted from 0, as an input file, with `more` fields each."""
    text = pages.blocks(pages.ROOT / page, "json")[number].text
    rows = [json.loads(line) | more for line in text.splitlines()]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@contextmanager
def opened(folder: Path) -> Iterator[Scene]:
    furnish(folder)
    with serve(Author(), "NAME", lambda text: len(text.split())) as url:
        yield Scene(folder, url)
