"""`rltpf quality` as its user runs it, with a model behind a real server that finds fault with some problems."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.server import serve
from eval.quality.runs import Runs
from rltpf.cli import main
from tests.eval.quality.test_metrics import RUNS


class Judge:
    """Finds 1 as the answer of all problems but of `c`, and cannot understand `d`; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def reply(self, system: str, user: str, seed: int) -> str:
        question = user.splitlines()[1]
        self.asked.append(question)
        if question == "e":
            return "I would rather not say."
        defined = "no" if question == "d" else "yes"
        opinion = {
            "analysis": "seen",
            "well_defined": defined,
            "feasible": "yes",
            "answer": "2" if question == "c" else "1",
        }
        return json.dumps(opinion)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    judge = Judge()
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with serve(judge, "judge", len) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        yield judge


def written(folder: Path, runs: Runs) -> list[str]:
    """The arguments that name these runs."""
    for name, candidates in runs.items():
        (folder / name).mkdir()
        text = "".join(json.dumps(candidate.to_json()) + "\n" for candidate in candidates)
        (folder / name / "candidates.jsonl").write_text(text)
    return [f"{name}={folder / name}" for name in runs]


def test_runs_are_judged_once_and_people_can_check_it(
    judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, output = written(tmp_path, RUNS), tmp_path / "quality"
    command = ["quality", "compare", *runs, "--llm.model", "judge", "--output_dir", str(output)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "\n1 of 5 replies of the judge are unreadable and in none of the shares\n" in said
    found = json.loads((output / "quality.json").read_text())["quality"]
    # c has another answer, d is not well-defined; of e nothing can be read, so it is in no share.
    expected = {"sampled": 3, "generated": 3, "proved": 0, "judged": 2, "unreadable": 1}
    expected |= {"well_defined": 1, "feasible": 1, "correct": 0}
    assert found["full"]["varbench"]["all"] == expected
    assert found["full"]["repro"]["all"]["correct"] == 2
    assert (output / "quality.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(judge.asked) == ["a", "b", "c", "d", "e", "e", "e"]

    page = (output / "quality.md").read_bytes()
    assert b"| varbench | all | 3 | 3 | 2 | 1 | 50.00 | 50.00 | 0.00 | 0.00 | 100.00 |" in page
    assert main(command) == 0
    assert len(judge.asked) == 7
    assert (output / "quality.md").read_bytes() == page

    sheet, key = tmp_path / "sheet.csv", tmp_path / "key.jsonl"
    assert main(["quality", "sheet", *runs, "--output", str(sheet), "--key", str(key)]) == 0
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    # People find everything right, in one of four problems against the judge, in another about the answer alone; the
    # judge said nothing of the fifth.
    for row in rows:
        row |= {"well_defined": "yes", "feasible": "yes", "correct": "yes"}
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert main(["quality", "agreement", str(sheet), "--key", str(key), "--judged", str(output)]) == 0
    table = capsys.readouterr().out
    assert "| repro | math | 2 | 100.00 | 100.00 | 100.00 |" in table
    assert "| varbench | math | 2 | 50.00 | 50.00 | 0.00 |" in table
    assert "| all | all | 4 | 75.00 | 75.00 | 50.00 |" in table


def test_rates_of_runs_are_drawn_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    level = {"level": "1", "sampled": 8, "retained": 4, "generation_rate": 0.5, "pass": [0.25, 0.5]}
    other = {"levels": [{**level, "level": "$2$", "pass": []}]}
    runs = written(tmp_path, {"_one": RUNS["repro"], "$x^$": RUNS["repro"], "two": RUNS["varbench"][1:]})
    for name, metrics in (("_one", {"levels": [level]}), ("$x^$", other), ("two", other)):
        (tmp_path / name / "metrics.json").write_text(json.dumps(metrics))
    assert main(["quality", "rates", *runs, "--output", str(tmp_path / "rates")]) == 0
    page = tmp_path / "rates" / "rates.md"
    line = "two was tried on 2 of the 3 problems of _one and on 0 others: their rates differ by the problems too"
    assert capsys.readouterr().out == f"{page}\n{line}\n"
    assert line.replace("_", "\\_") in page.read_text()
    assert sorted(path.name for path in (tmp_path / "rates").iterdir()) == ["generation.png", "passes.png", "rates.md"]
    assert main(["quality", "rates", runs[1], "--output", str(tmp_path / "baseline")]) == 0
    assert sorted(path.name for path in (tmp_path / "baseline").iterdir()) == ["generation.png", "rates.md"]


def test_what_cannot_be_compared_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repro, varbench = written(tmp_path, {"repro": RUNS["repro"], "varbench": RUNS["varbench"][1:]})
    config = ["--llm.model", "m", "--output_dir", str(tmp_path / "out")]
    for arguments, line in (
        (["compare", "repro", *config], "repro: has to be NAME=RUN, with a name of its own for each run"),
        (["compare", repro, repro, *config], f"{repro}: has to be NAME=RUN, with a name of its own for each run"),
        (["compare", "a=nowhere", *config], "nowhere/candidates.jsonl: No such file or directory"),
        (
            ["compare", repro, varbench, *config],
            "varbench: was not tried on 1 of the problems that repro rewrote: give both the same problems, with "
            "dataset.path: RUN/candidates.jsonl and target: null",
        ),
        (
            ["rates", "a=nowhere", "--output", "out"],
            "nowhere/metrics.json: No such file or directory: name the folder of a finished `rltpf rewrite`",
        ),
        (["sheet", repro, "--output", "s.csv", "--key", "k", "--count", "0"], "--count 0: has to be 1 or more"),
    ):
        assert main(["quality", *arguments]) == 2
        assert capsys.readouterr().err == f"{line}\n"
    assert not (tmp_path / "out").exists()
