"""Fixtures that more than one package needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from rltpf.prover import build_prover, embedded
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig

# A shared machine may be slow: how long one example takes is no fault.
settings.register_profile("rltpf", deadline=None)
settings.load_profile("rltpf")

_CHAT_TEMPLATE = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' }}"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] + '<|end|>' }}{% endgeneration %}"
    "{% else %}{{ m['content'] + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random two-layer Llama with 512 positions and a byte-level chat tokenizer, made in a second."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    lines = [f"Step {n}: {n} + {n + 1} = {2 * n + 1} apples. The answer is {2 * n + 1}." for n in range(100)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    fast.chat_template = _CHAT_TEMPLATE
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(fast),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=512,
            bos_token_id=None,
            eos_token_id=fast.eos_token_id,
            pad_token_id=fast.pad_token_id,
        )
    )
    folder = tmp_path_factory.mktemp("tiny_model")
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def lean_installed() -> None:
    """The embedded Lean, fetched at the first run (122 MB)."""
    with embedded.announcing() as say:
        embedded.install(say)


@pytest.fixture(scope="session")
def prover(lean_installed: None) -> Iterator[Prover]:
    """One real Lean for all tests that need one; it takes ten seconds to start and 1.4 GB."""
    prover = build_prover(ProverConfig(toolchain="embedded", timeout=120, cache=False))
    yield prover
    asyncio.run(prover.close())
