"""Data sets in TRL's formats, and the folder of them all."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from data_gen.allocate import allocate
from data_gen.answers import answer_prompt
from data_gen.audit import seal
from data_gen.export import COLUMNS, data_sets, save_folder, to_jsonl
from data_gen.records import Answer, Outcome, StepVerdict, Verdict


def answer(number: int, verdict: Verdict, *steps: tuple[str, Outcome]) -> Answer:
    """An answer with these steps, the last of them its final line."""
    prose = [f"Step {place}: {text}" for place, (text, _) in enumerate(steps[:-1], start=1)]
    verdicts = tuple(
        StepVerdict(text, None if outcome in ("no_claim", "unchecked") else "a = 1", outcome) for text, outcome in steps
    )
    lean = "theorem step_1 : 1 ≤ 1 := by decide"
    text = "\n".join([*prose, steps[-1][0]])
    return Answer(f"a{number}", "q", number, "How many?", text, verdict, "", verdicts, (), lean)


RIGHT = answer(
    0, "verified", ("First the eggs.", "no_claim"), ("16 - 3 = 13.", "verified"), ("The answer is 13.", "verified")
)
WRONG = answer(
    1,
    "false",
    ("It is 16.", "verified"),
    ("16 - 3 = 12.", "false"),
    ("So.", "unchecked"),
    ("The answer is 12.", "unchecked"),
)
# Goes astray in the same step, and elsewhere behind it.
ASTRAY = answer(2, "false", ("It is 16.", "verified"), ("16 - 3 = 12.", "false"), ("The answer is 1.", "unchecked"))
OPEN = answer(3, "error", ("It is 16.", "verified"), ("The answer is 16.", "error"))
PROMPT = [{"role": "user", "content": answer_prompt("How many?")}]


def trained_on(answers: list[Answer]) -> dict[str, list[dict[str, Any]]]:
    """The columns that TRL reads."""
    found = data_sets([allocate(answers)])
    return {kind: [{column: row[column] for column in COLUMNS[kind]} for row in rows] for kind, rows in found.items()}


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_the_four_kinds_of_rows() -> None:
    assert trained_on([RIGHT, WRONG, ASTRAY, OPEN]) == {
        "sft": [],
        "dpo": [{"prompt": PROMPT, "chosen": said(RIGHT.answer), "rejected": said(WRONG.answer)}],
        "unpaired": [
            {"prompt": PROMPT, "completion": said(RIGHT.answer), "label": True},
            {"prompt": PROMPT, "completion": said(WRONG.answer), "label": False},
            {"prompt": PROMPT, "completion": said(ASTRAY.answer), "label": False},
        ],
        "stepwise": [
            {
                "prompt": answer_prompt("How many?") + "\n",
                # A step without a claim is judged with the next one.
                "completions": ["Step 1: First the eggs.\nStep 2: 16 - 3 = 13.", "The answer is 13."],
                "labels": [True, True],
            },
            # Once, though two answers begin so; what follows the false step was not judged.
            {
                "prompt": answer_prompt("How many?") + "\n",
                "completions": ["Step 1: It is 16.", "Step 2: 16 - 3 = 12."],
                "labels": [True, False],
            },
        ],
    }


def test_what_was_not_decided_is_in_no_data_set() -> None:
    assert trained_on([OPEN, OPEN]) == {kind: [] for kind in COLUMNS}


def test_an_answer_that_is_in_no_pair_is_learned_from_by_itself() -> None:
    found = trained_on([RIGHT, OPEN])
    assert [len(found[kind]) for kind in COLUMNS] == [0, 0, 1, 1]


def test_a_wrong_final_answer_is_the_last_label() -> None:
    final = answer(0, "false", ("It is 16.", "verified"), ("The answer is 12.", "false"))
    (row,) = trained_on([final, OPEN])["stepwise"]
    assert (row["completions"], row["labels"]) == (["Step 1: It is 16.", "The answer is 12."], [True, False])


def test_steps_that_were_not_judged_before_a_refuted_calculation_are_given() -> None:
    steps: list[tuple[str, Outcome]] = [("It is 16.", "unchecked"), ("16 - 3 = 12.", "false"), ("So 12.", "unchecked")]
    refuted = answer(0, "false", *steps, ("The answer is 12.", "unchecked"))
    (row,) = trained_on([refuted, OPEN])["stepwise"]
    assert row["prompt"] == answer_prompt("How many?") + "\nStep 1: It is 16.\n"
    assert (row["completions"], row["labels"]) == (["Step 2: 16 - 3 = 12."], [False])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The JSONL files of a run without SFT rows."""
    found = {}
    for kind, rows in data_sets([allocate([RIGHT, WRONG])]).items():
        found[kind] = tmp_path / f"{kind}.jsonl"
        found[kind].write_text(to_jsonl(rows))
    return found


def test_the_folder_holds_what_the_files_hold(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    save_folder(folder, files, "# Card\n")
    opened = datasets.load_from_disk(folder)
    assert set(opened) == {"dpo", "unpaired", "stepwise"}
    assert (folder / "README.md").read_text() == "# Card\n"
    for kind, rows in opened.items():
        written = [json.loads(line) for line in files[kind].read_text().splitlines()]
        assert rows.to_list() == datasets.load_from_disk(folder / kind).to_list() == written
        # Back to JSONL, as the card says, for `audit`.
        rows.to_json(tmp_path / "again.jsonl", force_ascii=False)
        again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
        assert all(row["seal"] == seal(row) for row in again)


def test_a_new_folder_takes_the_place_of_an_old_one(files: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    save_folder(folder, files, "old")
    # What a kill leaves.
    (tmp_path / ".dataset.new").mkdir()
    (tmp_path / ".dataset.new" / "half").touch()
    save_folder(folder, {"dpo": files["dpo"]}, "new")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dataset_dict.json", "dpo"]
    assert not (tmp_path / ".dataset.new").exists()


def test_no_rows_at_all_are_a_folder_too(tmp_path: Path) -> None:
    (tmp_path / "sft.jsonl").touch()
    save_folder(tmp_path / "dataset", {"sft": tmp_path / "sft.jsonl"}, "")
    assert len(datasets.load_from_disk(tmp_path / "dataset")) == 0
