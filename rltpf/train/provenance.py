"""Where the rows of a training run come from: their file with its hash, and the generate run that it lies in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rltpf.runs import read_manifest


@dataclass(frozen=True)
class Generation:
    """What is worth repeating of the generate run in a folder."""

    folder: Path
    settings: dict[str, Any]
    toolchain: str | None
    rltpf: str
    """Version, and the commit where it is known."""
    time: str
    counts: dict[str, int]
    """Questions, answers and rows, from the run's `metrics.json`; empty where that is missing."""


@dataclass(frozen=True)
class Provenance:
    """The data set of a training run."""

    name: str
    rows: int
    sha256: str | None
    """Of a local file; a data set of the hub has none."""
    generation: Generation | None

    @classmethod
    def of(cls, name: str, rows: int, digest: str | None) -> Provenance:
        """The provenance of a data set argument; `digest` is the hash that the run's folder keeps of it."""
        sha256 = digest.removeprefix("sha256:") if digest else None
        return cls(name, rows, sha256, _generation(Path(name).parent) if Path(name).is_file() else None)

    def facts(self) -> dict[str, Any]:
        """As JSON, for those who keep it."""
        generated = self.generation
        return {
            "path": self.name,
            "rows": self.rows,
            "sha256": self.sha256,
            "generated": generated
            and {
                "folder": str(generated.folder),
                "settings": generated.settings,
                "toolchain": generated.toolchain,
                "rltpf": generated.rltpf,
                "time": generated.time,
                "counts": generated.counts,
            },
        }


def _generation(folder: Path) -> Generation | None:
    manifest = read_manifest(folder)
    if manifest is None or manifest["command"] != "generate":
        return None
    last = manifest["starts"][-1]
    commit = f", {last['git']}" if last["git"] else ""
    return Generation(
        folder, manifest["settings"], manifest["toolchain"], last["rltpf"] + commit, last["time"], _counts(folder)
    )


def _counts(folder: Path) -> dict[str, int]:
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    questions, answers, allocation = metrics["questions"], metrics["answers"], metrics["allocation"]
    return {
        "questions": questions["in"],
        "questions kept": questions["kept"],
        "answers verified": answers["verified"],
        "answers refuted": answers["false"],
        "answers without verdict": answers["error"],
        "SFT rows": allocation["sft_rows"],
        "DPO pairs": allocation["dpo_pairs"],
    }
