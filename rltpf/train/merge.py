"""`rltpf train merge`: a LoRA adapter added into its base model, for programs that load plain models.

The result has the data type that the run trained in, since rounding to a smaller one changes what the model says; that
of the base model's own weights where no run says it. A quantised base is not merged into: the adapter is added to the
full weights that the base has on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from rltpf.errors import InputError
from rltpf.hub import loading, refuse_missing_model
from rltpf.journal import room_in
from rltpf.train.folder import refuse_incomplete_adapter


def register(kinds: Any) -> None:
    """Add `merge` to the subparsers of `rltpf train`."""
    parser = kinds.add_parser(
        "merge",
        help="add a LoRA adapter into its base model",
        description="Writes the base model with the adapter added to its weights, and the adapter's tokenizer.",
        epilog="example: rltpf train merge runs/demo/dpo --output runs/demo/dpo_merged",
    )
    parser.add_argument("adapter", metavar="ADAPTER_DIR", type=Path, help="output_dir of a LoRA run, or a checkpoint")
    parser.add_argument("--output", metavar="DIR", required=True, help="new or empty folder")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Merge; the exit code."""
    from rltpf.cli import refuse_overrides

    refuse_overrides(overrides)
    merge(args.adapter, Path(args.output))
    print(f"merged: {args.output} loads with transformers alone", file=sys.stderr)
    return 0


def merge(adapter: Path, output: Path) -> None:
    """Write the merged model to `output`, which appears when it is complete; raises `InputError`."""
    refuse_incomplete_adapter(str(adapter), adapter)
    base = _base(adapter)
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise InputError(f"{output}: is there already and is no empty folder: choose another --output")
    refuse_missing_model(f"{adapter}: base_model_name_or_path", base.name)
    from rltpf.train.trainers import quieten
    from rltpf.train.versions import check_versions

    check_versions()
    quieten()
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with loading(f"{adapter} on {base.name}"):
        model = AutoModelForCausalLM.from_pretrained(base.name, revision=base.revision, dtype=_dtype(adapter))
        tokenizer = (
            AutoTokenizer.from_pretrained(adapter)
            if (adapter / "tokenizer_config.json").is_file()
            else AutoTokenizer.from_pretrained(base.name, revision=base.revision)
        )
        merged = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload(safe_merge=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    parts = tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.")
    with parts as folder, room_in(output.parent):
        partial = Path(folder, "merged")
        merged.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        (partial / "README.md").write_text(_card(adapter, base.name, output), encoding="utf-8")
        os.replace(partial, output)


class _Base(NamedTuple):
    """The model that an adapter belongs to."""

    name: str
    revision: str | None


def _base(adapter: Path) -> _Base:
    place = adapter / "adapter_config.json"
    try:
        config = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict) or not isinstance(config.get("base_model_name_or_path"), str):
        raise InputError(f"{place}: is damaged, or names no base model: copy the adapter's folder anew")
    if config.get("task_type") not in (None, "CAUSAL_LM"):
        raise InputError(
            f"{place}: is an adapter for {config['task_type']}: only language models (CAUSAL_LM) are merged"
        )
    return _Base(config["base_model_name_or_path"], config.get("revision"))


def _dtype(adapter: Path) -> str:
    for folder in (adapter, adapter.absolute().parent):  # a checkpoint lies in the folder of its run
        try:
            config = json.loads((folder / "run.json").read_text(encoding="utf-8"))["config"]
            return str(config["dtype"] or "auto")
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return "auto"


def _card(adapter: Path, base: str, output: Path) -> str:
    """A card that says what was merged, followed by the adapter's own without its front matter."""
    front = {
        "library_name": "transformers",
        **({} if Path(base).exists() else {"base_model": base}),
        "pipeline_tag": "text-generation",
        "tags": ["rltpf"],
    }
    own = adapter / "README.md"
    text = own.read_text(encoding="utf-8") if own.is_file() else ""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).strip()
    return f"""---
{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---

# {output.name}

The LoRA adapter `{adapter}` added into the weights of `{base}` by

```
rltpf train merge {adapter} --output {output}
```

It loads without peft:

```python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("{output}")
```
""" + (f"\nThe adapter's own card follows.\n\n{body}\n" if body else "")
