"""`rltpf generate` as its user runs it: real process, real Lean, replayed teacher, and a kill at several moments."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.server import serve
from demo.teacher import Teacher
from tests.data_gen.run_files import DATA_SETS, equal_data_sets, lines, wait_until

pytestmark = [pytest.mark.lean, pytest.mark.slow]


def command(output_dir: Path, *overrides: str) -> list[str]:
    arguments = ["generate", "--config", "configs/generate/demo.yaml", "--dataset.limit", "3", "--prover.workers", "1"]
    return [sys.executable, "-m", "rltpf", *arguments, "--output_dir", str(output_dir), *overrides]


@pytest.fixture(scope="module")
def undisturbed(lean_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing disturbs."""
    output_dir = tmp_path_factory.mktemp("undisturbed") / "run"
    subprocess.run(command(output_dir), check=True)
    assert sum(lines(output_dir / name) for name in DATA_SETS) > 0
    return output_dir


def kill_when(output_dir: Path, condition: Callable[[], bool]) -> None:
    """Start the command and SIGKILL it as soon as the condition holds."""
    process = subprocess.Popen(command(output_dir), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(condition, process)
    process.kill()
    process.wait()


def test_killed_runs_end_with_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    """Killed in the middle of the questions, of the answers, and while a row is being written, it continues to equal
    data sets."""
    killed = tmp_path / "killed"
    kill_when(killed, lambda: lines(killed / "transcript.jsonl") >= 2)
    kill_when(killed, lambda: lines(killed / "questions.jsonl") >= 2)
    kill_when(killed, lambda: lines(killed / "answers.jsonl") >= 2)
    # What a kill in the middle of a write leaves: half a row at the end of each journal.
    for name in ("transcript.jsonl", "questions.jsonl", "answers.jsonl"):
        content = (killed / name).read_bytes()
        last = content.rstrip(b"\n").rfind(b"\n") + 1
        (killed / name).write_bytes(content[: last + (len(content) - last) // 2])
    finished = subprocess.run(command(killed), check=True, capture_output=True, text=True)
    assert "resuming" in finished.stderr or lines(killed / "answers.jsonl") > 0

    assert equal_data_sets(killed, undisturbed)
    for name, key in (("transcript.jsonl", "key"), ("questions.jsonl", "id"), ("answers.jsonl", "id")):
        rows = [json.loads(line) for line in (killed / name).read_text().splitlines()]
        assert len({row[key] for row in rows}) == len(rows) == lines(undisturbed / name)

    again = subprocess.run(command(killed), check=True, capture_output=True, text=True)
    assert "3 done" in again.stderr
    changed = subprocess.run(command(killed, "--repairs", "4"), check=False, capture_output=True, text=True)
    assert changed.returncode == 2
    assert "repairs" in changed.stderr


def test_a_live_server_gives_the_same_data_as_the_replay(undisturbed: Path, tmp_path: Path) -> None:
    """`llm.backend: openai` and a base URL are all that changes for a live teacher."""
    teacher = Teacher(sorted(Path("demo/teacher").glob("*.yaml")))
    with serve(teacher, "authored-teacher", len) as url:
        overrides = ("--llm.backend", "openai", "--llm.base_url", url)
        subprocess.run(command(tmp_path / "live", *overrides), check=True)
    assert equal_data_sets(tmp_path / "live", undisturbed)


def test_judge_gives_the_verdicts_of_the_run(undisturbed: Path, tmp_path: Path) -> None:
    """`rltpf judge` on the same answers and telescopes; fields are kept, and bad rows stop it before Lean."""
    rows = [json.loads(line) for line in (undisturbed / "answers.jsonl").read_text().splitlines()]
    questions = [json.loads(line) for line in (undisturbed / "questions.jsonl").read_text().splitlines()]
    telescopes = {question["id"]: question["telescope"] for question in questions}
    given = [
        {
            "id": r["id"],
            "question": r["question"],
            "answer": r["answer"],
            "formal": telescopes[r["question_id"]],
            "n": 1,
        }
        for r in rows
    ]
    source, output = tmp_path / "answers.jsonl", tmp_path / "verdicts.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in given))
    arguments = ["judge", str(source), "--output", str(output), "--config", "configs/generate/judge.yaml"]
    arguments += ["--output_dir", str(tmp_path / "run"), "--prover.toolchain", "embedded", "--llm.backend", "replay"]
    arguments += ["--llm.model", "authored-teacher", "--llm.transcript", "demo/transcript.jsonl"]
    judge = [sys.executable, "-m", "rltpf", *arguments, "--llm.temperature", "0.7"]
    subprocess.run(judge, check=True)
    judged = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["id"], row["verdict"], row["n"]) for row in judged] == [(r["id"], r["verdict"], 1) for r in rows]
    assert [row["lean"] for row in judged] == [row["lean"] for row in rows]

    source.write_text('{"id": "a", "question": "Q", "answer": 3}\n{"id": "b"}\nnonsense\n')
    refused = subprocess.run(judge, check=False, capture_output=True, text=True)
    assert refused.returncode == 2
    assert [line.split(": ")[0] for line in refused.stderr.splitlines()] == [f"{source}:{n}" for n in (1, 2, 3)]
