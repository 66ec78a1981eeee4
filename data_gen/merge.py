"""`merge`: the shards of a generation become the run that it would have been undivided, without a model or Lean."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data_gen.config import GenerateConfig
from data_gen.pipeline import report, write_data_sets
from rltpf.config import load
from rltpf.errors import InputError, RunError
from rltpf.llm.usage import Account, Usage
from rltpf.runs import HeldError, RunDirectory
from rltpf.shards import Part, Shard, find_parts, find_unfinished, input_order, join_journals

COMMAND = "generate"


def merge(output_dir: Path, overwrite: bool = False) -> int:
    """Join the shards of `output_dir` in it; the exit code. Doing it again gives the same bytes.

    Raises `InputError` with a line for each fault where they are not all there or not of one run, or where `output_dir`
    holds another run; with `overwrite` that run is removed.
    """
    parts = find_parts(output_dir, COMMAND)
    ids = input_order(parts)
    config = load(GenerateConfig, parts[0].folder / "config.yaml")
    config = config.model_copy(update={"output_dir": output_dir, "shard_id": None})
    folders = [part.folder for part in parts]
    with RunDirectory.open(output_dir, config, COMMAND, overwrite) as run:
        run.begin(parts[0].toolchain)
        # A shard that had nothing to ask has no transcript.
        asked = [folder for folder in folders if (folder / run.transcript.name).exists()]
        join_journals("transcript", "key", asked, run.path).close()
        questions = join_journals("questions", "id", folders, run.path)
        answers = join_journals("answers", "id", folders, run.path)
        try:
            # A shard that was started again meanwhile may have been read half old, half new.
            if find_parts(output_dir, COMMAND) != parts:
                raise RunError(f"{output_dir}: a shard was started again while it was joined: merge again")
            metrics = write_data_sets(run, config, ids, questions, answers, unfinished=0)
        finally:
            questions.close()
            answers.close()
        return report(run, config, _with_costs(metrics, parts))


def merge_if_last(output_dir: Path, shard: Shard, overwrite: bool) -> None:
    """Join the shards when this one, whose directory is closed, was the last to finish; else say what is waited for.

    The shard itself is done, so nothing that keeps it from being joined is an error of its own.
    """
    # Of two shards that finish together each has noted its end before it looks for the other, so the later look finds
    # both; where both find both, the lock of `output_dir` lets one through.
    if (other := find_unfinished(output_dir, shard.total)) is not None:
        print(f"{shard} is finished, {other} is not: the last one joins them", file=sys.stderr)
        return
    try:
        merge(output_dir, overwrite)
    except HeldError:
        print(f"{shard} is finished, and another process is joining the shards", file=sys.stderr)
    except InputError as error:
        print(f"{shard} is finished, and cannot be joined:\n{error}", file=sys.stderr)


def _with_costs(metrics: dict[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
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
