"""The Hugging Face hub: asked where it answers. Without network nobody waits for it, and a line says what to give."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from rltpf.errors import InputError

MODEL_FILES = ("config.json", "adapter_config.json")
_ENDPOINT = "https://huggingface.co"
_SECONDS = 10.0


@cache
def unreachable() -> str:
    """Why the hub cannot be asked; empty where it can.

    One request finds it out. The libraries would try many, for minutes and with a line each; where there is no hub they
    are told so (`HF_HUB_OFFLINE`), and look into their cache alone.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return "HF_HUB_OFFLINE is set"
    import httpx

    endpoint = os.environ.get("HF_ENDPOINT", _ENDPOINT)
    try:
        httpx.head(endpoint, timeout=_SECONDS)
    # The last two are a proxy in the environment that the client cannot use.
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as error:
        os.environ["HF_HUB_OFFLINE"] = "1"
        # They read the variable when they are imported.
        if "huggingface_hub" in sys.modules:
            sys.modules["huggingface_hub"].constants.HF_HUB_OFFLINE = True
        if "datasets" in sys.modules:
            sys.modules["datasets"].config.HF_HUB_OFFLINE = True
        return f"{endpoint} cannot be reached ({' '.join(str(error).split()) or type(error).__name__})"
    return ""


def lacking(name: str) -> str:
    """What is to be said of a name that is no path and not in the cache; empty where the hub can be asked for it."""
    if os.path.exists(name) or not (reason := unreachable()):
        return ""
    return f"is no path here and not in the Hugging Face cache, and {reason}: give a local path"


def refuse_folder_without_model(key: str, name: str) -> None:
    """Raises `InputError` where a name can only be a folder and is none, or one without a model in it; `key` is the
    setting that has the name."""
    if _is_folder_like(name) and not _holds_model(Path(name)):
        raise InputError(f"{key}: {name}: is no folder with a model ({', '.join(MODEL_FILES)} or a .gguf file)")


def refuse_missing_model(key: str, name: str) -> None:
    """Raises `InputError` for a folder without a model, and where a hub id cannot be asked for; see
    `refuse_folder_without_model`."""
    refuse_folder_without_model(key, name)
    if (fault := lacking(name)) and not _is_cached(name):
        raise InputError(f"{key}: {name}: {fault}")
    if base := _base_of(Path(name)):
        refuse_missing_model(f"{key}: {name}: its base model", base)


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Raises `InputError` where the body cannot load a model, a tokenizer or a data set.

    Of files that are damaged, or of another model, transformers, tokenizers, safetensors, peft and datasets raise a
    dozen kinds of errors, plain `Exception` among them.
    """
    try:
        yield
    except Exception as error:
        raise InputError(f"{what}: cannot be loaded: {' '.join(str(error).split())[:300]}") from None


def _base_of(folder: Path) -> str:
    """The model that an adapter in a folder belongs to; empty where there is none, or none that can be read."""
    try:
        return str(json.loads((folder / "adapter_config.json").read_bytes())["base_model_name_or_path"] or "")
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _is_folder_like(name: str) -> bool:
    return os.path.isdir(name) or name.startswith((".", "/", "~")) or name.count("/") > 1


def _holds_model(folder: Path) -> bool:
    return any(folder.glob("*.gguf")) or any((folder / file).is_file() for file in MODEL_FILES)


def _is_cached(model: str) -> bool:
    """Whether some revision of a model is in the cache."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    snapshots = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=model, repo_type="model"), "snapshots")
    return any(any(snapshots.glob(f"*/{file}")) for file in MODEL_FILES)
