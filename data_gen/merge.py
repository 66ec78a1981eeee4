"""`merge`: the shards of a generation become the run that it would have been undivided, without a model or Lean."""

from __future__ import annotations

from pathlib import Path

from data_gen.config import GenerateConfig
from data_gen.pipeline import report, write_data_sets
from rltpf.config import load
from rltpf.errors import RunError
from rltpf.merging import with_costs
from rltpf.runs import RunDirectory
from rltpf.shards import find_parts, input_order, join_journals

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
        return report(run, config, with_costs(metrics, parts))
