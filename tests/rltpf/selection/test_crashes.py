"""`rltpf select` killed on its way: the same selection in the end, and no request is paid for twice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from demo.server import serve
from tests.data_gen.proxy import Proxy, proxy, url_of
from tests.data_gen.run_files import identity, lines, recorded, wait_until

pytestmark = [pytest.mark.lean, pytest.mark.slow]

ROWS = [
    {"id": f"p{n}", "question": f"{n} and what make {n + 4}?", "candidates": ["3", "4", "(4, 5)"], "answer": "4"}
    for n in range(5)
]
# Keeps the contract for a number, and has nothing to say of a pair.
FILL = "def fill_answer(answer):\n    return f'x = {int(answer)}'"


class Author:
    """The first candidate of every second problem gets a statement that Lean does not take; pairs need a rewriter."""

    def reply(self, system: str, user: str, seed: int) -> str:
        number = int(str(re.search(r"(\d+) and what", user)[1]))  # type: ignore[index]
        if "Reply with one ```lean" not in user:
            block = str(re.search(r"x = \d+$", user, re.MULTILINE)[0])  # type: ignore[index]
            return json.dumps({"original_local_block": block, "fill_answer_code": FILL})
        answer = user.split("Answer: ")[1].split("\n")[0]
        if number % 2 and answer == "3":
            answer = "unknown"
        return f"```lean\ntheorem t (x : Nat) (h : {number} + x = {number + 4}) : x = {answer} := by sorry\n```"


def command(url: str, folder: Path, name: str) -> list[str]:
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return [
        *(sys.executable, "-m", "rltpf", "select", str(rows), "--output", str(folder / f"{name}.jsonl")),
        *("--llm.backend", "openai", "--llm.model", "m", "--llm.base_url", url, "--llm.max_concurrent", "2"),
        *("--prover.toolchain", "embedded", "--prover.workers", "1", "--output_dir", str(folder / name)),
    ]


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    # Times are measured.
    return [{key: value for key, value in row.items() if key != "lean_seconds"} for row in rows]


def asked(server: Proxy, before: int = 0) -> list[str]:
    bodies = [json.loads(body) for _, body in server.arrived[before:]]
    return [identity(body["messages"], body.get("seed")) for body in bodies]


def test_kills_lose_nothing_and_pay_for_nothing_twice(
    lean_installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serve(Author(), "m", len) as teacher, proxy(teacher, delay=0.05) as server:
        subprocess.run(command(url_of(server), tmp_path, "whole"), check=True)
        total = len(set(asked(server)))
        selected = rows_of(tmp_path, "whole")
        assert [row["selected"] for row in selected] == ["4"] * 5
        # Two problems need a second formalisation for a base, and the pair is formalised by itself everywhere.
        assert [row["calls"] for row in selected] == [
            {"formaliser": 2 + number % 2, "rewriter": 1} for number in range(5)
        ]
        # What arrived is what is counted.
        assert total == len(asked(server)) == sum(sum(row["calls"].values()) for row in selected)
        before = len(server.arrived)
        for milestone in (2, 5, 9, 13):
            process = subprocess.Popen(
                command(url_of(server), tmp_path, "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wait_until(lambda: lines(tmp_path / "killed/transcript.jsonl") >= milestone, process)  # noqa: B023
            process.kill()
            process.wait()
            paid, start = recorded(tmp_path / "killed"), len(server.arrived)
            assert not (tmp_path / "killed.jsonl").exists()
        subprocess.run(command(url_of(server), tmp_path, "killed"), check=True)
        assert not paid & set(asked(server, start))
        assert set(asked(server, before)) == set(asked(server)[:before])
    assert rows_of(tmp_path, "killed") == selected
    metrics = [json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("whole", "killed")]
    for table in metrics:
        table.pop("lean_seconds_per_problem")
    assert metrics[0] == metrics[1]
    assert "finished" in (tmp_path / "killed/manifest.json").read_text()
