"""What a model's weights are, told by the digests of their files: a folder's name outlives a training."""

from __future__ import annotations

import hashlib
from pathlib import Path

NOTE = "weights.json"
"""In the folder of an evaluation: the digests of what it scored."""

_FILES = ("*.safetensors", "*.bin", "*.gguf", "adapter_config.json")


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files of a local model's weights by their names; empty for a folder that is none."""
    files = sorted({path for pattern in _FILES for path in folder.glob(pattern)} - {folder / "training_args.bin"})
    return {path.name: file_digest(path) for path in files}


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
