"""`rltpf rewrite` on the command line."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any


def register(subparsers: Any) -> None:
    """Add `rewrite` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments

    parser = subparsers.add_parser(
        "rewrite",
        help="a benchmark rewritten into new problems with proved answers",
        description="Draws problems of a benchmark, has models rewrite, screen, formalise and prove each, and keeps "
        "those whose answer Lean proved. Writes a data set with a card to output_dir/data, and every candidate with "
        "its end to candidates.jsonl. The same command continues a run that was stopped.",
        epilog="example: rltpf rewrite --config configs/rewrite/demo.yaml --dataset.limit 5 --output_dir runs/five",
    )
    add_config_arguments(parser, "eval.rewrite.settings:RewriteConfig")
    parser.set_defaults(run=run_rewrite)


def run_rewrite(args: argparse.Namespace, overrides: list[str]) -> int:
    from eval.rewrite.dry_run import show
    from eval.rewrite.merge import merge
    from eval.rewrite.pipeline import COMMAND, rewrite
    from eval.rewrite.prompting import with_version
    from eval.rewrite.settings import RewriteConfig
    from rltpf.config import load
    from rltpf.llm import refuse_missing_models
    from rltpf.merging import merge_if_last
    from rltpf.runs import RunDirectory
    from rltpf.shards import WHOLE, find_shard

    config = load(RewriteConfig, args.config, overrides)
    refuse_missing_models(config.llm)
    shard = find_shard(config.num_shards, config.shard_id)
    config = with_version(config.model_copy(update=shard.settings()))
    if args.dry_run:
        return show(config)
    shard.refuse_other_division(config.output_dir)
    with RunDirectory.open(shard.folder(config.output_dir), config, COMMAND, args.overwrite) as run:
        code = asyncio.run(rewrite(config, run, shard))
    if code == 0 and shard != WHOLE:
        merge_if_last(config.output_dir, shard, lambda: merge(config.output_dir, args.overwrite))
    return code
