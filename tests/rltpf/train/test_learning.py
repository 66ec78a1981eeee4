"""A real small model learns from judged arithmetic: on sums that it was not trained on."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from training_rows import assistant, user, write_rows

from rltpf import smollm2
from rltpf.train import rltpf

# Two trainings in one fixture, which a busy machine may need long for.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[3]
TRAINED, HELD_OUT = 64, 32


def pair(first: int, second: int, wrong: int) -> dict[str, Any]:
    """A right and a wrong answer, which differ in the result alone."""

    def answer(result: int) -> list[dict[str, str]]:
        return assistant(f"Step 1: {first} + {second} = {result}\nThe answer is {result}.")

    return {
        "prompt": user(f"What is {first} + {second}?"),
        "chosen": answer(first + second),
        "rejected": answer(wrong),
    }


def chance_of_at_least(right: int) -> float:
    """That a coin prefers the right answer so many times of `HELD_OUT`: the binomial test of an accuracy of 0.5."""
    return sum(math.comb(HELD_OUT, count) for count in range(right, HELD_OUT + 1)) / 2**HELD_OUT


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What SFT and DPO logged, by stage; both evaluated on the held-out sums before the first step and at the end."""
    folder = tmp_path_factory.mktemp("learning")
    dice = random.Random(0)
    sums = dice.sample([(first, second) for first in range(2, 50) for second in range(2, 50)], TRAINED + HELD_OUT)
    pairs = [pair(first, second, first + second + dice.choice((-10, -2, -1, 1, 2, 10))) for first, second in sums]
    rows = [{"prompt": pair["prompt"], "completion": pair["chosen"]} for pair in pairs]
    write_rows(folder / "sft.jsonl", rows[:TRAINED])
    write_rows(folder / "dpo.jsonl", pairs[:TRAINED])
    values = {
        "config": ROOT / "configs/train/smollm2_rltpf.yaml",
        "model_name_or_path": smollm2.fetch(),
        "dataset_name": folder,
        "output_dir": folder / "out",
        "eval_strategy": "epoch",
        "eval_on_start": "true",
        "per_device_eval_batch_size": 16,
        "num_train_epochs": 1,
        "per_device_train_batch_size": 4,
        "sft.eval_dataset_name": write_rows(folder / "sft_eval.jsonl", rows[TRAINED:]),
        "dpo.eval_dataset_name": write_rows(folder / "dpo_eval.jsonl", pairs[TRAINED:]),
    }
    assert rltpf.main([f"--{key}={value}" for key, value in values.items()]) == 0
    return {
        stage: [json.loads(line) for line in (folder / "out" / stage / "log_history.jsonl").read_text().splitlines()]
        for stage in ("sft", "dpo")
    }


def test_sft_lowers_the_loss_on_new_sums(logs: dict[str, list[dict[str, Any]]]) -> None:
    before, after = (entry["eval_loss"] for entry in logs["sft"] if "eval_loss" in entry)
    assert after < 0.5 * before


def test_dpo_prefers_right_answers_to_new_sums(logs: dict[str, list[dict[str, Any]]]) -> None:
    before, after = (entry for entry in logs["dpo"] if "eval_loss" in entry)
    assert after["eval_rewards/margins"] > before["eval_rewards/margins"] + 0.05
    right = round(after["eval_rewards/accuracies"] * HELD_OUT)
    assert chance_of_at_least(right) < 0.01
