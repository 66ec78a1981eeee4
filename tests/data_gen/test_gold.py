"""Gold files: what is read, and one clear line for every fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from data_gen.gold import Gold, read_gold
from rltpf.cli import main
from rltpf.errors import InputError

ROWS = [
    {"id": "a", "question": "Q", "answer": "Step 1: 2 + 3 = 5 eggs.\nThe answer is 5."},
    {"id": "b", "question": "Q", "answer": "five"},
]
STEPS = [{"text": "2 + 3 = 5 eggs.", "label": "verified"}, {"text": "The answer is 5.", "label": None}]


def gold(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_labels_by_id(tmp_path: Path) -> None:
    path = gold(tmp_path / "g.jsonl", {"id": "a", "kind": "none", "gold": STEPS, "note": 1})
    assert read_gold(str(path), ROWS[:1]) == {"a": Gold("none", ("verified", None))}
    path = gold(tmp_path / "g.jsonl", {"id": "a", "gold": STEPS})
    assert read_gold(str(path), ROWS[:1]) == {"a": Gold("", ("verified", None))}


def changed(number: int, **values: Any) -> list[dict[str, Any]]:
    return [step | values if index == number else step for index, step in enumerate(STEPS)]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("nonsense", "is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ({"gold": STEPS}, "id has to be a text, and is None"),
        ({"id": "c", "gold": STEPS}, "no row that is judged has the id 'c'"),
        ({"id": "a", "kind": "\ud83d", "gold": STEPS}, "holds a lone surrogate, which is half a character"),
        ({"id": "a", "kind": 3, "gold": STEPS}, "kind has to be a text, and is 3"),
        ({"id": "a"}, "gold has to be a list of steps, each with text and label, and is None"),
        ({"id": "a", "gold": ["x"]}, "gold, step 1: has to have text and label, and is 'x'"),
        ({"id": "a", "gold": [{"text": "t"}]}, "gold, step 1: has to have text and label, and is {'text': 't'}"),
        (
            {"id": "a", "gold": changed(1, label="right")},
            "gold, step 2: label has to be verified, false, error or null, and is 'right'",
        ),
        (
            {"id": "a", "gold": changed(0, label=["false"])},
            "gold, step 1: label has to be verified, false, error or null, and is ['false']",
        ),
        (
            {"id": "a", "gold": changed(0, text="2 + 3 = 6 eggs.")},
            "gold, step 1: is '2 + 3 = 6 eggs.', and the answer's is '2 + 3 = 5 eggs.'",
        ),
        ({"id": "a", "gold": STEPS[:1]}, "gold has 1 steps, and the answer has 2, the final answer included"),
        ({"id": "a", "gold": [*STEPS, STEPS[1]]}, "gold has 3 steps, and the answer has 2, the final answer included"),
        (
            {"id": "b", "gold": STEPS},
            "its answer has no steps to label: it has to be `Step N: ...` lines and, last, `The answer is N.`",
        ),
    ],
)
def test_faults(row: Any, fault: str, tmp_path: Path) -> None:
    path = gold(tmp_path / "g.jsonl", row)
    with pytest.raises(InputError) as error:
        read_gold(str(path), ROWS)
    assert error.value.faults[0] == f"{path}:1: {fault}"


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    good = {"id": "a", "gold": STEPS}
    path = gold(tmp_path / "g.jsonl", good, good, {"id": "c", "gold": []})
    with pytest.raises(InputError) as error:
        read_gold(str(path), ROWS)
    assert error.value.faults == (
        f"{path}:2: a second row with the id 'a'",
        f"{path}:3: no row that is judged has the id 'c'",
    )


def test_every_row_that_is_judged_needs_labels(tmp_path: Path) -> None:
    path = gold(tmp_path / "g.jsonl", {"id": "a", "gold": STEPS})
    with pytest.raises(InputError) as error:
        read_gold(str(path), ROWS)
    assert error.value.faults == (f"{path}: has no labels for the row 'b'",)


def test_faults_of_the_wrong_file_do_not_fill_the_screen(tmp_path: Path) -> None:
    path = gold(tmp_path / "g.jsonl", *[{"id": f"x{n}", "gold": []} for n in range(30)])
    with pytest.raises(InputError) as error:
        read_gold(str(path), ROWS)
    assert len(error.value.faults) == 21
    assert error.value.faults[-1] == f"{path}: 10 more faults"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--gold", "no.jsonl"], "no.jsonl: No such file or directory"),
        (["--gold", "g.jsonl"], "g.jsonl:1: gold has 1 steps, and the answer has 2, the final answer included"),
        (
            ["--gold", "g.jsonl", "--output", "-"],
            "--output takes a file: with --gold standard output is for the table",
        ),
    ],
)
def test_command_ends_before_anything_is_judged(
    words: list[str],
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    gold(tmp_path / "rows.jsonl", ROWS[0])
    gold(tmp_path / "g.jsonl", {"id": "a", "gold": STEPS[:1]})
    assert main(["judge", "rows.jsonl", "--output_dir", "run", *words]) == 2
    assert capsys.readouterr() == ("", f"{line}\n")
    assert not Path("run").exists()
