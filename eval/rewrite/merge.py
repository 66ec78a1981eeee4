"""The shards of a rewriting become one data set, without a model or Lean."""

from __future__ import annotations

from pathlib import Path

from eval.rewrite.pipeline import COMMAND, report, write_data_set
from eval.rewrite.settings import RewriteConfig
from rltpf.config import load
from rltpf.errors import RunError
from rltpf.merging import with_costs
from rltpf.records import content_id
from rltpf.runs import RunDirectory
from rltpf.shards import find_parts, input_order, join_journals


def merge(output_dir: Path, overwrite: bool = False) -> int:
    """Join the shards of `output_dir` in it; the exit code. Doing it again gives the same bytes.

    Raises `InputError` with a line for each fault where they are not all there or not of one run, or where `output_dir`
    holds another run; with `overwrite` that run is removed.
    """
    parts = find_parts(output_dir, COMMAND)
    ids = input_order(parts)
    config = load(RewriteConfig, parts[0].folder / "config.yaml")
    config = config.model_copy(update={"output_dir": output_dir, "shard_id": None})
    folders = [part.folder for part in parts]
    with RunDirectory.open(output_dir, config, COMMAND, overwrite) as run:
        run.begin(parts[0].toolchain)
        asked = [folder for folder in folders if (folder / run.transcript.name).exists()]
        join_journals("transcript", "key", asked, run.path).close()
        journal = join_journals("candidates", "id", folders, run.path)
        try:
            # A shard that was started again meanwhile may have been read half old, half new.
            if find_parts(output_dir, COMMAND) != parts:
                raise RunError(f"{output_dir}: a shard was started again while it was joined: merge again")
            levels = {row["id"]: row["level"] for row in journal.rows()}
            # The order in which an undivided run draws.
            tried = sorted(levels.keys() & set(ids), key=lambda name: (levels[name], content_id(config.seed, name)))
            metrics = write_data_set(run, config, tried, journal, str(parts[0].toolchain), unfinished=0)
        finally:
            journal.close()
        metrics["prover_failures"]["infrastructure"] = 0
        return report(run, with_costs(metrics, parts))
