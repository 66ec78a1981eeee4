"""The shipped recipes hold no surprise: they parse, they say how they are started, and differ only where models do."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from rltpf.train.options import Kind, read_options

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "configs/train").glob("*.yaml"))
MODELS = {
    "llama31_8b": "meta-llama/Llama-3.1-8B-Instruct",
    "llama32_3b": "meta-llama/Llama-3.2-3B-Instruct",
    "llama2_7b": "meta-llama/Llama-2-7b-chat-hf",
    "mistral_7b": "mistralai/Mistral-7B-Instruct-v0.3",
    "qwen25_7b": "Qwen/Qwen2.5-7B-Instruct",
}
LARGE = [(model, way, kind) for model in MODELS for way in ("lora", "full") for kind in ("sft", "dpo")]


def recipe(*parts: str) -> Path:
    return ROOT / "configs/train" / f"{'_'.join(parts)}.yaml"


def read(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_opens_with_the_command_that_uses_it(path: Path) -> None:
    header = path.read_text().partition("\n\n")[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert f"configs/train/{path.name}" in header


@pytest.mark.parametrize(("model", "way", "kind"), LARGE, ids="_".join)
def test_a_recipe_needs_only_data(model: str, way: str, kind: Any) -> None:
    """Its header's arguments are enough, and the second stage goes on from the folder of the first."""
    assert kind in get_args(Kind)
    path = recipe(model, way, kind)
    options = read_options(kind, ["--config", str(path), "--dataset_name", f"{kind}.jsonl"])
    folder = f"runs/{model}_{way}"
    assert options.get("output_dir") == f"{folder}/{kind}"
    after_sft = kind == "dpo" and f"{folder}/sft"
    assert options.get("adapter_name_or_path", False) == (way == "lora" and after_sft)
    assert options.get("model_name_or_path") == (after_sft if after_sft and way == "full" else MODELS[model])
    header = path.read_text().partition("\n\n")[0]
    assert "Not run by us at this size" in header
    assert f"--config configs/train/{path.name} --dataset_name {kind}.jsonl" in header
    assert f"configs/accelerate/{'multi_gpu' if way == 'lora' else 'zero3'}.yaml -m rltpf.train.{kind}" in header


@pytest.mark.parametrize(("model", "way", "kind"), LARGE, ids="_".join)
def test_only_the_first_stage_with_lora_makes_an_adapter(model: str, way: str, kind: str) -> None:
    keys = {key for key in read(recipe(model, way, kind)) if key.startswith("lora_") or key == "use_peft"}
    new = {"use_peft", "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules"}
    assert keys == (new if (way, kind) == ("lora", "sft") else set())


def test_recipes_of_one_stage_differ_only_in_the_model() -> None:
    common = defaultdict(list)
    for model, way, kind in LARGE:
        values = read(recipe(model, way, kind))
        for key in ("model_name_or_path", "adapter_name_or_path", "output_dir"):
            values.pop(key, None)
        common[way, kind].append(values)
    assert all(values == group[0] for group in common.values() for values in group)
