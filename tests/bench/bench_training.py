"""Time of a step and peak memory of `rltpf train sft|dpo` against the barest TRL script with the same settings.

    python tests/bench/bench_training.py [MODEL] [--rows 24] [--rounds 2]

MODEL is a folder, the demo's small model unless given. Every run is a process of its own; runs take turns, and of each
the median step of the best round counts, so that what else the machine does weighs little. The bare DPO script has a
second model as the reference, asked at every step: the plain DPOTrainer of TRL's README. Ours
computes the reference once, before the first step: that pass is in the total, with imports and loading, and not in the
step. Goals for the step: SFT at most 1.02 of the bare script, DPO at most 0.8.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rltpf import smollm2

ROOT = Path(__file__).parents[2]
GOALS = {"sft": 1.02, "dpo": 0.8}
COMMON = {
    "max_length": 256, "num_train_epochs": 2, "per_device_train_batch_size": 4, "learning_rate": 1e-4,
    "lr_scheduler_type": "cosine", "seed": 42, "use_cpu": True, "bf16": False, "gradient_checkpointing": False,
    "logging_steps": 1, "save_strategy": "no", "report_to": "none",
}  # fmt: skip
LORA = {"r": 8, "lora_alpha": 16, "lora_dropout": 0.0, "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]}

# Times each step from the outside, in ours and in theirs alike.
CLOCK = """
import json, resource, statistics, sys, time
from transformers import Trainer
step, times = Trainer.training_step, []
def timed(*args, **kwargs):
    began = time.perf_counter()
    result = step(*args, **kwargs)
    times.append(time.perf_counter() - began)
    return result
Trainer.training_step = timed
begun = time.perf_counter()
def report():
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"step": statistics.median(times[1:]), "total": time.perf_counter() - begun, "memory": memory}))
"""
OURS = CLOCK + "from rltpf.train import {kind}\nassert {kind}.main(sys.argv[1:]) == 0\nreport()\n"
BARE = (
    CLOCK
    + """
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import {upper}Config, {upper}Trainer
given = json.loads(sys.argv[1])
rows = [json.loads(line) for line in open(given["rows"])]
tokenizer = AutoTokenizer.from_pretrained(given["model"])
load = lambda: AutoModelForCausalLM.from_pretrained(given["model"], dtype=torch.float32)
more = dict(model=load(), peft_config=LoraConfig(task_type="CAUSAL_LM", **given["lora"]))
if {reference}:
    more = dict(model=__import__("peft").get_peft_model(load(), more["peft_config"]), ref_model=load())
{upper}Trainer(args={upper}Config(**given["settings"]), train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer, **more).train()
report()
"""
)


def rows_of(kind: str, count: int) -> list[dict[str, Any]]:
    """Sums with a few steps, about a hundred tokens each."""

    def said(role: str, text: str) -> list[dict[str, str]]:
        return [{"role": role, "content": text}]

    rows = []
    for n in range(count):
        prompt = said("user", f"Ann has {n + 3} apples and buys {n + 5} more. How many are there?")
        right = f"Step 1: she has {n + 3} apples.\nStep 2: {n + 3} + {n + 5} = {2 * n + 8}.\nThe answer is {2 * n + 8}."
        if kind == "sft":
            rows.append({"prompt": prompt, "completion": said("assistant", right)})
        else:
            wrong = right.replace(str(2 * n + 8), str(2 * n + 9))
            rows.append({"prompt": prompt, "chosen": said("assistant", right), "rejected": said("assistant", wrong)})
    return rows


def measure(ours: bool, kind: str, model: str, rows: Path, folder: Path) -> dict[str, float]:
    """Seconds of a median step, of the whole training, and GB of memory at the peak, of one run."""
    settings = {**COMMON, "output_dir": str(folder)}
    if ours:
        lora = {(key if key.startswith("lora_") else f"lora_{key}"): value for key, value in LORA.items()}
        # What our recipe for DPO sets, and a plain trainer does not.
        more = {"precompute_ref_log_probs": True} if kind == "dpo" else {}
        values = {"model_name_or_path": model, "dataset_name": str(rows), "dtype": "float32", "use_peft": True,
                  **lora, **settings, **more}  # fmt: skip
        config = folder.with_suffix(".yaml")
        config.write_text(json.dumps(values))  # JSON is YAML
        code, argument = OURS.replace("{kind}", kind), ["--config", str(config)]
    else:
        given = {"rows": str(rows), "model": model, "lora": LORA, "settings": settings}
        code = BARE.replace("{upper}", kind.upper()).replace("{reference}", str(kind == "dpo"))
        argument = [json.dumps(given)]
    done = subprocess.run([sys.executable, "-c", code, *argument], cwd=ROOT, env={**os.environ, "HF_HUB_OFFLINE": "1"},
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", nargs="?")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    model = args.model or str(smollm2.fetch())
    print("kind            s/step   total s   peak GB")
    for kind, goal in GOALS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder, "rows.jsonl")
            rows.write_text("".join(json.dumps(row) + "\n" for row in rows_of(kind, args.rows)))
            rounds = [
                [measure(ours, kind, model, rows, Path(folder, f"{ours}{number}")) for ours in (True, False)]
                for number in range(args.rounds)
            ]
        best = [{name: min(run[side][name] for run in rounds) for name in rounds[0][0]} for side in (0, 1)]
        for who, found in zip(("rltpf", "bare TRL"), best, strict=True):
            print(f"{kind} {who:<10} {found['step']:>8.3f} {found['total']:>9.1f} {found['memory']:>9.2f}")
        ratio = {name: best[0][name] / best[1][name] for name in best[0]}
        met = "met" if ratio["step"] <= goal else "missed"
        print(f"{kind} ratio      {ratio['step']:>8.3f} {ratio['total']:>9.2f} {ratio['memory']:>9.2f}   "
              f"goal {goal} a step: {met}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
