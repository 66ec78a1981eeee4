"""Every useless row is named with its line; `max_length` is counted, not guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from training_rows import assistant, dpo_row, kto_row, sft_row, user, write_rows

from rltpf.errors import InputError
from rltpf.train.data import (
    Lengths,
    evaluation_rows,
    refuse_losses,
    refuse_shared,
    row_faults,
    training_rows,
    within_length,
)
from rltpf.train.options import Kind, Options


def test_sound_rows_have_no_fault() -> None:
    assert row_faults("sft", sft_row(1)) == []
    assert row_faults("dpo", dpo_row(1)) == []
    assert row_faults("kto", kto_row(1)) == []


@pytest.mark.parametrize(
    ("kind", "row", "fault"),
    [
        ("sft", {**sft_row(1), "completion": assistant("a\ud83d")},
         "holds a lone surrogate, which is half a character"),
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
        ("[1]\n", "{path}:1: is a JSON list, and has to be an object"),
        (
            "{'a'\n",
            "{path}:1: is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (None, "{path}: No such file or directory"),
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


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("b.parquet", "no such file; pass --eval_dataset_name with a file that exists"),
        ("b.csv", "messages cannot be in a CSV file: give .jsonl, .json, .parquet or a folder"),
    ],
)
def test_the_argument_that_names_the_rows_to_evaluate_on_is_told(tmp_path: Path, name: str, fault: str) -> None:
    values = {"dataset_name": "a.jsonl", "eval_strategy": "steps", "eval_dataset_name": str(tmp_path / name)}
    with pytest.raises(InputError) as error:
        evaluation_rows(Options("sft", values, []))
    assert error.value.faults == (f"{tmp_path / name}: {fault}",)


class WordTokenizer:
    """One token a word, one for the role of a message, one for the start of an answer."""

    chat_template: str | None = "x"

    def apply_chat_template(
        self, messages: Any, add_generation_prompt: bool, return_dict: bool
    ) -> dict[str, list[int]]:
        words = sum(1 + len(message["content"].split()) for message in messages)
        return {"input_ids": [0] * (words + add_generation_prompt)}


PAIRS = [
    {"prompt": user("a b"), "chosen": assistant("c"), "rejected": assistant("c d e")},  # prompt 4 tokens, longest 7
    {"prompt": user("a b c d"), "chosen": assistant("c"), "rejected": assistant("d")},  # prompt 6, longest 7
    {"prompt": user("a"), "chosen": assistant("b"), "rejected": assistant("c")},  # prompt 3, longest 4
]
ROWS = [{"prompt": pair["prompt"], "completion": pair["rejected"]} for pair in PAIRS]


@pytest.mark.parametrize(
    ("kind", "max_length", "keep_end", "kept", "cut"),
    [
        ("sft", None, False, [0, 1, 2], 0),
        ("sft", 7, False, [0, 1, 2], 0),
        ("sft", 6, False, [0, 2], 1),
        ("sft", 6, True, [0, 1, 2], 2),
        ("dpo", None, False, [0, 1, 2], 0),
        ("dpo", 7, False, [0, 1, 2], 0),
        # No answer of a pair is cut, and with `keep_end` a prompt may be.
        ("dpo", 6, False, [2], 0),
        ("dpo", 6, True, [0, 1, 2], 2),
        ("dpo", 2, True, [1, 2], 2),
    ],
)
def test_rows_that_are_cut_and_rows_that_are_left_out(
    kind: Kind, max_length: int | None, keep_end: bool, kept: list[int], cut: int
) -> None:
    rows = {"sft": ROWS, "dpo": PAIRS}[kind]
    found = within_length(kind, rows, WordTokenizer(), max_length, keep_end)
    assert found == ([rows[number] for number in kept], Lengths(3, 7, cut, 3 - len(kept)))


def test_what_leaves_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="max_length 3 is within every prompt: all 3 rows"):
        within_length("sft", ROWS, WordTokenizer(), 3)
    with pytest.raises(InputError, match="max_length 3 cuts an answer of every pair: all 3 rows"):
        within_length("dpo", PAIRS, WordTokenizer(), 3)


def test_more_cut_and_dropped_rows_than_allowed_are_refused() -> None:
    refuse_losses(Lengths(20, 90, cut=1, dropped=1), 64, 0.1)
    with pytest.raises(InputError) as error:
        refuse_losses(Lengths(20, 90, cut=1, dropped=2), 64, 0.1)
    assert error.value.faults == (
        "max_length 64 cuts or drops 3 of 20 rows, more than max_truncated 0.1 of them: raise it (the longest row has "
        "90 tokens), or allow it with --max_truncated 0.15",
    )


def test_a_tokenizer_without_chat_template_is_refused() -> None:
    tokenizer = WordTokenizer()
    tokenizer.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        within_length("dpo", PAIRS, tokenizer, None)


def test_a_template_that_refuses_the_roles_is_one_line(tiny_model: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    rows = [sft_row(1), {**sft_row(2), "prompt": [{"role": "system", "content": "s"}, *user("a")]}]
    with pytest.raises(InputError) as error:
        within_length("sft", rows, tokenizer, None)
    assert error.value.faults == (
        "row 2: the chat template of the model refuses its messages: System role not supported: write them as it wants "
        "them, or take another model",
    )


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
    assert [fault.partition(": ")[2] for fault in error.value.faults] == [
        "is not usable JSON: it nests too deep",
        "is not JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; use "
        "sys.set_int_max_str_digits() to increase the limit",
    ]
