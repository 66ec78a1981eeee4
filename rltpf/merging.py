"""What every joining of shards needs: when it comes, and the costs of all parts together."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rltpf.errors import InputError
from rltpf.llm.usage import Account, Usage
from rltpf.runs import HeldError, read_manifest
from rltpf.shards import Part, Shard, find_unfinished, shard_folders


def merge_if_last(output_dir: Path, shard: Shard, merge: Callable[[], int]) -> None:
    """Join the shards when this one, whose directory is closed, was the last to finish; else say what is waited for.

    The shard itself is done, so nothing that keeps it from being joined is an error of its own.
    """
    # Of two shards that finish together each has noted its end before it looks for the other, so the later look finds
    # both; where both find both, the lock of `output_dir` lets one through.
    if (other := find_unfinished(output_dir, shard.total)) is not None:
        print(f"{shard} is finished, {other} is not: the last one joins them", file=sys.stderr)
        return
    try:
        merge()
    except HeldError:
        print(f"{shard} is finished, and another process is joining the shards", file=sys.stderr)
    except InputError as error:
        print(f"{shard} is finished, and cannot be joined:\n{error}", file=sys.stderr)


def command_of(output_dir: Path) -> str | None:
    """The command that made the shards in a folder; None where nothing says it."""
    manifests = (read_manifest(path) for path, shard in shard_folders(output_dir) if shard is not None)
    return next((str(manifest["command"]) for manifest in manifests if manifest is not None), None)


def with_costs(metrics: dict[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
    """The metrics with what no record holds: requests and tokens add up, and the slowest shard's time is the run's."""
    found = [json.loads((part.folder / "metrics.json").read_text(encoding="utf-8")) for part in parts]
    roles = sorted({role for shard in found for role in shard["llm"]})
    metrics["llm"] = {role: _total(shard["llm"][role] for shard in found if role in shard["llm"]) for role in roles}
    metrics["lean"]["toolchain"] = parts[0].toolchain
    metrics["prompts"] = found[0]["prompts"]
    metrics["wall_seconds"] = max(shard["wall_seconds"] for shard in found)
    return metrics


def _total(accounts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    usage = Usage()
    usage.roles.update((str(number), Account(**account)) for number, account in enumerate(accounts))
    return asdict(usage.total)
