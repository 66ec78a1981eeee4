"""Every useless row is named with its line; `max_length` is counted, not guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from training_rows import assistant, dpo_row, kto_row, sft_row, user, write_rows

from rltpf.errors import InputError
from rltpf.train.data import Lengths, evaluation_rows, measure, refuse_losses, refuse_shared, row_faults, training_rows
from rltpf.train.options import Options


def test_sound_rows_have_no_fault() -> None:
    assert row_faults("sft", sft_row(1)) == []
    assert row_faults("dpo", dpo_row(1)) == []
    assert row_faults("kto", kto_row(1)) == []


@pytest.mark.parametrize(
    ("kind", "row", "fault"),
    [
        ("sft", ["x"], "a row is an object, this is a list"),
        ("sft", {"prompt": user("a")}, "SFT needs the columns prompt, completion, and this row has no completion"),
        ("sft", {"messages": user("a")},
         "SFT needs the columns prompt, completion, and this row has no prompt, completion; "
         "split `messages` into the two, or the prompt is trained on too"),
        ("dpo", sft_row(1), "DPO needs the columns prompt, chosen, rejected, and this row has no chosen, rejected"),
        ("sft", {"prompt": "a", "completion": assistant("b")},
         "`prompt` must be a non-empty list of {role, content} messages"),
        ("sft", {"prompt": user("a"), "completion": []},
         "`completion` must be a non-empty list of {role, content} messages"),
        ("sft", {"prompt": user("a"), "completion": assistant("  \n")}, "`completion` has an empty assistant message"),
        ("sft", {"prompt": user("a"), "completion": [{"role": "assistant", "content": None}]},
         "`completion`: every message needs a `role` and a text `content`"),
        ("sft", {"prompt": [{"role": "bot", "content": "a"}], "completion": assistant("b")},
         "`prompt`: role 'bot' is none of assistant, system, tool, user"),
        ("sft", {"prompt": user("a"), "completion": user("b")},
         "`completion` is what the model learns to say: role 'user' belongs into `prompt`"),
        ("sft", {"prompt": user("a") + assistant("b"), "completion": assistant("c")},
         "`prompt` must end with the user's message"),
        ("dpo", {"prompt": user("a"), "chosen": assistant("b "), "rejected": assistant("b")},
         "`chosen` and `rejected` are the same text: such a pair has no gradient"),
        ("kto", {**kto_row(1), "label": "true"}, "`label` is 'true': it must be true or false"),
        ("kto", {"prompt": "a", "completions": ["b"], "labels": [True]},
         "KTO needs the columns prompt, completion, label, and this row has no completion, label; "
         "stepwise rows are for process reward models, for which TRL has no trainer any more"),
    ],
)  # fmt: skip
def test_fault(kind: Any, row: Any, fault: str) -> None:
    assert row_faults(kind, row) == [fault]


def test_rows_keep_only_the_columns_that_are_trained_on(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [{**sft_row(1), "verdicts": [{"a": 1}]}, {**sft_row(2), "verdicts": "x"}])
    rows = training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert rows == [{key: sft_row(n)[key] for key in ("prompt", "completion")} for n in (1, 2)]


def test_answers_with_one_label_teach_nothing(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [kto_row(2), kto_row(4)])
    with pytest.raises(InputError) as error:
        training_rows(Options("kto", {"dataset_name": str(path)}, []))
    assert error.value.faults == (f"{path}: every `label` is true: KTO learns from the difference, add others",)


def test_all_judged_answers_are_sft_rows_too(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [kto_row(1), kto_row(2)])
    rows = training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert [sorted(row) for row in rows] == [["completion", "prompt"]] * 2


def test_a_prompt_that_is_trained_on_is_not_evaluated_on() -> None:
    refuse_shared([sft_row(1), sft_row(2)], [sft_row(3)])
    refuse_shared([sft_row(1)], None)
    with pytest.raises(InputError) as error:
        refuse_shared([sft_row(1), sft_row(2)], [sft_row(3), {**sft_row(2), "completion": assistant("another")}])
    assert error.value.faults == (
        "1 of 2 evaluation rows have a prompt that is trained on, the first is 'What is 2 + 1?': "
        "take them out of one of the two data sets",
    )


def test_faults_name_file_and_line(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [sft_row(1), {"prompt": user("a")}, {**sft_row(3), "completion": []}])
    with pytest.raises(InputError) as error:
        training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert [fault.split(": ")[0] for fault in error.value.faults] == [f"{path}:2", f"{path}:3"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "{path}: holds no rows; nothing can be trained"),
        ("{}\n{'a'\n", "{path}:2: not JSON: Expecting property name enclosed in double quotes at column 2"),
        (None, "{path}: No such file or directory; pass --dataset_name with a file that exists"),
    ],
)
def test_file_faults(tmp_path: Path, text: str | None, fault: str) -> None:
    path = tmp_path / "a.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError) as error:
        training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert error.value.faults == (fault.format(path=path),)


def test_many_faults_are_cut_with_their_number(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [{}] * 50)
    with pytest.raises(InputError) as error:
        training_rows(Options("dpo", {"dataset_name": str(path)}, []))
    assert len(error.value.faults) == 21
    assert error.value.faults[-1] == "and 30 more faults in the data"


def test_evaluation_needs_rows_of_its_own(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", [sft_row(1)])
    values = {"dataset_name": str(path)}
    assert evaluation_rows(Options("sft", values, [])) is None
    with pytest.raises(InputError, match="--eval_dataset_name FILE"):
        evaluation_rows(Options("sft", {**values, "eval_strategy": "steps"}, []))
    rows = evaluation_rows(Options("sft", {**values, "eval_strategy": "steps", "eval_dataset_name": str(path)}, []))
    assert rows is not None
    assert len(rows) == 1


class WordTokenizer:
    """One token a word, one for the role of a message, one for the start of an answer."""

    chat_template: str | None = "x"

    def apply_chat_template(
        self, messages: Any, add_generation_prompt: bool, return_dict: bool
    ) -> dict[str, list[int]]:
        words = sum(1 + len(message["content"].split()) for message in messages)
        return {"input_ids": [0] * (words + add_generation_prompt)}


ROWS = [
    {"prompt": user("a b"), "chosen": assistant("c"), "rejected": assistant("c d e")},  # prompt 4 tokens, longest 7
    {"prompt": user("a b c d"), "chosen": assistant("c"), "rejected": assistant("d")},  # prompt 6, longest 7
]


@pytest.mark.parametrize(
    ("max_length", "keep_end", "cut", "dropped"),
    [(None, False, 0, 0), (7, False, 0, 0), (6, False, 1, 1), (5, False, 1, 1), (6, True, 2, 0)],
)
def test_measure_counts_rows_that_are_cut_and_dropped(
    max_length: int | None, keep_end: bool, cut: int, dropped: int
) -> None:
    assert measure("dpo", ROWS, WordTokenizer(), max_length, keep_end) == Lengths(2, 7, cut, dropped)


def test_measure_refuses_when_nothing_would_be_left() -> None:
    with pytest.raises(InputError, match="max_length 4 is within every prompt: all 2 rows"):
        measure("dpo", ROWS, WordTokenizer(), 4)


def test_more_cut_and_dropped_rows_than_allowed_are_refused() -> None:
    refuse_losses(Lengths(20, 90, cut=1, dropped=1), 64, 0.1)
    with pytest.raises(InputError) as error:
        refuse_losses(Lengths(20, 90, cut=1, dropped=2), 64, 0.1)
    assert error.value.faults == (
        "max_length 64 cuts or drops 3 of 20 rows, more than max_truncated 0.1 of them: raise it (the longest row has "
        "90 tokens), or allow it with --max_truncated 0.15",
    )


def test_measure_refuses_a_tokenizer_without_chat_template() -> None:
    tokenizer = WordTokenizer()
    tokenizer.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        measure("dpo", ROWS, tokenizer, None)


def test_a_line_ends_where_json_ends_it(tmp_path: Path) -> None:
    """Editors on Windows write a byte order mark and CRLF, and texts may hold U+2028."""
    row = json.dumps({"prompt": user("a\u2028b"), "completion": assistant("c")}, ensure_ascii=False)
    path = tmp_path / "a.jsonl"
    path.write_bytes(f"\ufeff{row}\r\n\r\n{row}\r\n".encode())
    rows = training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert rows == [{"prompt": user("a\u2028b"), "completion": assistant("c")}] * 2


def test_json_that_python_cannot_hold_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[" * 100_000 + "\n" + "9" * 5000 + "\n")
    with pytest.raises(InputError) as error:
        training_rows(Options("sft", {"dataset_name": str(path)}, []))
    assert [fault.partition(": ")[2][:15] for fault in error.value.faults] == ["not usable JSON"] * 2
