"""An adapter merged into its base answers as both together do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from training_rows import dpo_row, sft_row, write_rows

from rltpf.errors import InputError
from rltpf.train import dpo, sft
from rltpf.train.merge import merge


@pytest.fixture(scope="module")
def adapter(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter with weights that change what the model says, and a card."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(1)
    config = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    folder = tmp_path_factory.mktemp("adapter") / "sft"
    get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_model), config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_model).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlibrary_name: peft\n---\n\n# sft\n\nOn 16 rows.\n")
    return folder


@pytest.mark.slow
def test_the_merged_model_answers_as_base_and_adapter_together(adapter: Path, tiny_model: Path, tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    output = tmp_path / "merged"
    output.mkdir()  # empty: may be used
    merge(adapter, output)
    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    tokens = AutoTokenizer.from_pretrained(output)("Step 3: 3 + 4 = 7 apples.", return_tensors="pt")
    with torch.no_grad():
        alone = base(**tokens).logits
        both = PeftModel.from_pretrained(base, adapter)(**tokens).logits
        merged = AutoModelForCausalLM.from_pretrained(output)(**tokens).logits
    assert (both - alone).abs().max() > 0.1
    torch.testing.assert_close(merged, both, atol=1e-5, rtol=1e-5)
    assert not list(tmp_path.glob(".merged*"))
    card = (output / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- rltpf\n---\n")
    assert card.endswith("\nThe adapter's own card follows.\n\n# sft\n\nOn 16 rows.\n")


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", ".."], ids=["folder of the run", "checkpoint"])
def test_the_merged_model_has_the_precision_of_the_training(
    adapter: Path, tiny_model: Path, tmp_path: Path, place: str
) -> None:
    """An adapter trained in float32 on a base that is kept in bfloat16, whose eight bits would round it away."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base, run = tmp_path / "base", tmp_path / "run"
    AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.bfloat16).save_pretrained(base)
    shutil.copytree(adapter, run / "sft")
    config = json.loads((run / "sft/adapter_config.json").read_text())
    (run / "sft/adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": str(base)}))
    merge(run / "sft", tmp_path / "unknown")
    (run / "sft" / place / "run.json").write_text('{"config": {"dtype": "float32"}}')
    merge(run / "sft", tmp_path / "known")
    tokens = AutoTokenizer.from_pretrained(tiny_model)("Step 3: 3 + 4 = 7 apples.", return_tensors="pt")

    def logits(model: Any) -> Any:
        with torch.no_grad():
            return model(**tokens).logits

    both = logits(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype="float32"), run / "sft"))
    torch.testing.assert_close(
        logits(AutoModelForCausalLM.from_pretrained(tmp_path / "known", dtype="auto")), both, atol=1e-5, rtol=1e-5
    )
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "unknown", dtype="auto").dtype == torch.bfloat16


def test_a_folder_without_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        merge(tmp_path, tmp_path / "out")
    assert error.value.faults == (f"{tmp_path}: no adapter_config.json there: give the output_dir of a LoRA run",)


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("{", "is damaged, or names no base model: copy the adapter's folder anew"),
        ("{}", "is damaged, or names no base model: copy the adapter's folder anew"),
        ('{"base_model_name_or_path": null}', "is damaged, or names no base model: copy the adapter's folder anew"),
        (
            '{"base_model_name_or_path": "m", "task_type": "TOKEN_CLS"}',
            "is an adapter for TOKEN_CLS: only language models (CAUSAL_LM) are merged",
        ),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_refused(tmp_path: Path, config: str, fault: str) -> None:
    place = tmp_path / "adapter_config.json"
    place.write_text(config)
    (tmp_path / "adapter_model.safetensors").touch()
    with pytest.raises(InputError) as error:
        merge(tmp_path, tmp_path / "out")
    assert error.value.faults == (f"{place}: {fault}",)


@pytest.mark.parametrize("kind", ["file", "full folder"])
def test_what_is_there_is_never_written_over(tmp_path: Path, kind: str) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "m"}')
    (tmp_path / "adapter_model.safetensors").touch()
    output = tmp_path / "out"
    if kind == "file":
        output.write_text("mine")
    else:
        output.mkdir()
        (output / "mine").write_text("mine")
    with pytest.raises(InputError) as error:
        merge(tmp_path, output)
    assert error.value.faults == (f"{output}: is there already and is no empty folder: choose another --output",)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "of another rank"])
def test_an_adapter_without_sound_weights_is_one_line(
    adapter: Path, tiny_model: Path, tmp_path: Path, damage: str
) -> None:
    """For the merging as for a training that starts from it."""
    broken = shutil.copytree(adapter, tmp_path / "broken")
    weights = broken / "adapter_model.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    else:
        place = broken / "adapter_config.json"
        place.write_text(json.dumps({**json.loads(place.read_text()), "r": 2}))
    with pytest.raises(InputError) as error:
        merge(broken, tmp_path / "out")
    assert str(error.value).startswith(f"{broken} on {tiny_model}: cannot be loaded: ")
    assert len(str(error.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()
    data = write_rows(tmp_path / "dpo.jsonl", [dpo_row(1)])
    words = ["--config", "configs/train/smollm2_dpo.yaml", "--model_name_or_path", str(tiny_model), "--output_dir"]
    words += [str(tmp_path / "run"), "--adapter_name_or_path", str(broken), "--dataset_name", str(data)]
    with pytest.raises(InputError, match=f"^{broken} on {tiny_model}: cannot be loaded: "):
        dpo.main(words)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_damaged_base_is_one_line(tiny_model: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_model, tmp_path / "broken")
    data = write_rows(tmp_path / "sft.jsonl", [sft_row(1)])
    words = ["--config", "configs/train/smollm2_sft.yaml", "--model_name_or_path", str(broken), "--output_dir"]
    words += [str(tmp_path / "run"), "--dataset_name", str(data)]
    whole = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"^sft: Error while deserializing header: incomplete metadata"):
        sft.main(words)
    (broken / "model.safetensors").write_bytes(whole)
    (broken / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match=f"^tokenizer of {broken}: cannot be loaded: "):
        sft.main(words)


@pytest.mark.slow
def test_a_base_that_is_not_there_is_one_line(adapter: Path, tmp_path: Path) -> None:
    config = json.loads((adapter / "adapter_config.json").read_text())
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "adapter_model.safetensors").touch()
    (broken / "adapter_config.json").write_text(
        json.dumps({**config, "base_model_name_or_path": str(tmp_path / "gone")})
    )
    command = [sys.executable, "-m", "rltpf", "train", "merge", str(broken), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"{broken}: base_model_name_or_path: {tmp_path / 'gone'}: is no folder with a model (config.json, "
        "adapter_config.json or a .gguf file)\n"
    )
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
