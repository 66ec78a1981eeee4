"""Tokens a second and model FLOP utilisation of SFT-like and DPO-like steps on one GPU, with LoRA, in bf16.

    python tests/gpu/bench_steps.py [--size 1b|toy] [--lengths 512 1024 2048] [--batches 1 4 8] [--peak TFLOPS]

Needs torch, transformers and peft alone: the model is random and nothing is downloaded. A DPO step is what TRL does
with a LoRA adapter: one pass with gradients over chosen and rejected, one without for the reference. On a CPU it runs
too, at the size `toy`, to see that it works.

Model FLOPs: 2 for each weight and token of a forward pass, attention apart; the backward pass of LoRA computes no
gradients of frozen weights, so it costs as much as the forward pass: 4 in all, and 2 more for the reference.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {
    "1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": True},
    "toy": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 2, "vocab_size": 320, "tie_word_embeddings": True},
}  # fmt: skip
PEAK = {"H200": 989, "H100": 989, "A100": 312, "L40": 181, "4090": 165}  # dense bf16 TFLOP/s, by their makers


@dataclass(frozen=True)
class Measure:
    """One row of the table."""

    kind: str
    length: int
    batch: int
    seconds: float
    tokens: int
    flops: float
    memory: float

    def line(self, peak: float | None) -> str:
        share = f"{100 * self.flops / self.seconds / peak / 1e12:6.1f} %" if peak else "       -"
        return (
            f"{self.kind:<4} {self.length:>6} {self.batch:>5} {1000 * self.seconds:>10.1f} "
            f"{self.tokens / self.seconds:>10.0f} {share} {self.memory:>8.2f}"
        )


def build(size: str, device: str) -> Any:
    """A random Llama in bf16 with a LoRA adapter on the attention projections."""
    torch.manual_seed(0)
    config = LlamaConfig(**SIZES[size], max_position_embeddings=8192, attn_implementation="sdpa")
    with torch.device(device):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    modules = ["q_proj", "k_proj", "v_proj", "o_proj"]
    return get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=modules, task_type="CAUSAL_LM"))


def log_probabilities(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """The sum for each sequence; row by row, since the logits of a batch in float32 would be the largest thing here."""
    logits = model(input_ids=ids).logits[:, :-1]
    rows = [-torch.nn.functional.cross_entropy(row.float(), target, reduction="sum") for row, target in
            zip(logits, ids[:, 1:], strict=True)]  # fmt: skip
    return torch.stack(rows)


def sft_loss(model: Any, ids: torch.Tensor) -> torch.Tensor:
    return -log_probabilities(model, ids).mean() / ids.shape[1]


def dpo_loss(model: Any, ids: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), model.disable_adapter():
        reference = log_probabilities(model, ids)
    chosen, rejected = (log_probabilities(model, ids) - reference).chunk(2)
    return -torch.nn.functional.logsigmoid(0.1 * (chosen - rejected)).mean()


def measure(model: Any, kind: str, length: int, batch: int, steps: int, device: str) -> Measure:
    """The mean of `steps` steps after two for warming up; a batch of DPO is one of pairs."""
    sequences = batch * (2 if kind == "dpo" else 1)
    ids = torch.randint(model.config.vocab_size, (sequences, length), device=device)
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-4)
    loss_of = {"sft": sft_loss, "dpo": dpo_loss}[kind]
    cuda = device == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    for step in range(steps + 2):
        if step == 2:
            if cuda:
                torch.cuda.synchronize()
            began = time.perf_counter()
        loss_of(model, ids).backward()
        optimizer.step()
        optimizer.zero_grad()
    if cuda:
        torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / steps
    weights = sum(weight.numel() for weight in model.parameters())
    tokens = ids.numel()
    memory = torch.cuda.max_memory_allocated() / 2**30 if cuda else float("nan")
    return Measure(kind, length, batch, seconds, tokens, (6 if kind == "dpo" else 4) * weights * tokens, memory)


def peak_of(name: str) -> float | None:
    return next((peak for part, peak in PEAK.items() if part in name), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), default="1b" if torch.cuda.is_available() else "toy")
    parser.add_argument("--lengths", type=int, nargs="+", default=[512, 1024, 2048])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--peak", type=float, help="dense bf16 TFLOP/s of the GPU, where its name is not known")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    peak = args.peak or peak_of(name)
    model = build(args.size, device)
    weights = sum(weight.numel() for weight in model.parameters())
    print(f"{name}, {weights / 1e9:.2f} billion weights, bf16, LoRA, torch {torch.__version__}, "
          f"peak {f'{peak:g} TFLOP/s' if peak else 'not known'}")  # fmt: skip
    print("kind length batch    ms/step   tokens/s      MFU      GiB")
    for kind in ("sft", "dpo"):
        for length in args.lengths:
            for batch in args.batches:
                try:
                    print(measure(model, kind, length, batch, args.steps, device).line(peak), flush=True)
                except torch.cuda.OutOfMemoryError:
                    model.zero_grad()
                    torch.cuda.empty_cache()
                    print(f"{kind:<4} {length:>6} {batch:>5} out of memory", flush=True)


if __name__ == "__main__":
    main()
