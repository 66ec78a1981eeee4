"""`rltpf generate`, `rltpf merge`, `rltpf judge` and `rltpf audit` on the command line."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Add `generate`, `merge`, `judge` and `audit` to the subparsers of the command line."""
    from rltpf.cli import add_config_arguments
    from rltpf.prover.commands import add_prover_options, add_second_judge_option

    generate = subparsers.add_parser(
        "generate",
        help="questions, stepwise answers, Lean's verdicts, data sets",
        description="Takes seed problems through the phases s0 to s4, samples stepwise answers, has Lean judge every "
        "step, and writes data sets in TRL's formats. The same command continues a run that was stopped.",
        epilog="example: rltpf generate --config configs/generate/demo.yaml --dataset.limit 5 --output_dir runs/five",
    )
    add_config_arguments(generate, "data_gen.config:GenerateConfig")
    generate.set_defaults(run=run_generate)

    merge = subparsers.add_parser(
        "merge",
        help="join the shards of a run",
        description="Joins the shards that `generate` or `rewrite` made with --num_shards and --shard_id, or in an "
        "array of SLURM, into the data sets of one run. Needs no model and no Lean. The last shard to finish does it, "
        "too.",
        epilog="example: rltpf merge runs/gsm8k",
    )
    merge.add_argument("output_dir", metavar="OUTPUT_DIR", type=Path, help="the shards' output_dir")
    merge.add_argument("--overwrite", action="store_true", help="remove what output_dir holds beside the shards")
    merge.set_defaults(run=run_merge)

    judge = subparsers.add_parser(
        "judge",
        help="Lean's verdict on every step of given answers",
        description="Reads rows with `id`, `question`, `answer` and optionally `formal` (the question's telescope), "
        "and adds `verdict`, `steps` and `iterations`. Without an `llm` section no model is asked: calculations alone "
        "are judged, and no answer is verified.",
        epilog="example: rltpf judge answers.jsonl --config configs/generate/judge.yaml --output verdicts.jsonl",
    )
    judge.add_argument("input", metavar="INPUT", help="JSONL file, or - for standard input")
    judge.add_argument(
        "--output", metavar="FILE", help="where the rows go (default: standard output, and with --gold nowhere)"
    )
    judge.add_argument(
        "--gold",
        metavar="FILE",
        help="score the verdicts: JSONL file with the `id` of each row and `gold`, a list of `text` and `label` "
        "(verified, false, error, or null for none) of each step and of the final answer; with `kind`, also by kind. "
        "Prints a table, and writes output_dir/gold.json",
    )
    add_config_arguments(judge, "data_gen.config:JudgeConfig")
    judge.set_defaults(run=run_judge)

    audit = subparsers.add_parser(
        "audit",
        help="does a data set still say what Lean says?",
        description="Judges every row of what `generate` or `rewrite` wrote anew, from its Lean text alone, in a fresh "
        "Lean and without caches; ties the theorems to the row's steps, answers, verdicts and labels, and the row to "
        "its seal. Prints a table and the rows that do not pass, and ends with 1 if there are any.",
        epilog="example: rltpf audit runs/gsm8k --output audited.jsonl",
    )
    audit.add_argument(
        "datasets",
        metavar="DATASET",
        nargs="+",
        help="JSONL file, folder for load_from_disk, a run's folder for all its data sets, or - for stdin",
    )
    audit.add_argument("--output", metavar="FILE", help="write the rows, with status, reason and detail added")
    add_prover_options(audit)
    add_second_judge_option(audit)
    audit.set_defaults(run=run_audit)


def run_generate(args: argparse.Namespace, overrides: list[str]) -> int:
    from data_gen.config import GenerateConfig
    from data_gen.dry_run import show_generation
    from data_gen.merge import merge
    from data_gen.pipeline import generate
    from data_gen.prompting import with_version
    from rltpf.config import load
    from rltpf.llm import refuse_missing_models
    from rltpf.merging import merge_if_last
    from rltpf.runs import RunDirectory
    from rltpf.shards import WHOLE, find_shard

    config = load(GenerateConfig, args.config, overrides)
    refuse_missing_models(config.llm)
    shard = find_shard(config.num_shards, config.shard_id)
    config = with_version(config.model_copy(update=shard.settings()))
    if args.dry_run:
        return show_generation(config)
    shard.refuse_other_division(config.output_dir)
    with RunDirectory.open(shard.folder(config.output_dir), config, "generate", args.overwrite) as run:
        code = asyncio.run(generate(config, run, shard))
    if code == 0 and shard != WHOLE:
        merge_if_last(config.output_dir, shard, lambda: merge(config.output_dir, args.overwrite))
    return code


def run_merge(args: argparse.Namespace, overrides: list[str]) -> int:
    from data_gen.merge import merge
    from eval.rewrite import merge as rewriting
    from eval.rewrite.pipeline import COMMAND
    from rltpf.cli import refuse_overrides
    from rltpf.merging import command_of

    refuse_overrides(overrides)
    join = rewriting.merge if command_of(args.output_dir) == COMMAND else merge
    return join(args.output_dir, args.overwrite)


def run_judge(args: argparse.Namespace, overrides: list[str]) -> int:
    from data_gen.config import JudgeConfig
    from data_gen.dry_run import show_judging
    from data_gen.gold import read_gold
    from data_gen.prompting import with_version
    from data_gen.scoring import score
    from data_gen.verdicts import checked, judge_rows, judged_rows
    from rltpf.config import load
    from rltpf.errors import InputError
    from rltpf.llm import refuse_missing_models
    from rltpf.rows import read_rows, refuse_output, write_rows
    from rltpf.runs import RunDirectory

    config = with_version(load(JudgeConfig, args.config, overrides))
    if config.llm is not None:
        refuse_missing_models(config.llm)
    rows = read_rows(args.input, ("question", "answer"), checked)
    if args.gold is not None and args.output == "-":
        raise InputError("--output takes a file: with --gold standard output is for the table")
    output = args.output or ("-" if args.gold is None else None)
    if output is not None:
        refuse_output(output, args.input, *([] if args.gold is None else [args.gold]))
    gold = read_gold(args.gold, rows) if args.gold is not None else None
    if args.dry_run:
        return show_judging(config, rows[0])
    with RunDirectory.open(config.output_dir, config, "judge", args.overwrite) as run:
        code = asyncio.run(judge_rows(config, run, rows))
        judged = judged_rows(run, rows)
        if output is not None:
            write_rows(judged, output)
        if gold is not None and code == 0:
            score(run, judged, gold)
        return code


def run_audit(args: argparse.Namespace, overrides: list[str]) -> int:
    from rich.console import Console

    from data_gen.findings import Finding, audit_rows, complaints, find_data_sets, read_rows, table, write_rows
    from rltpf.cli import refuse_overrides
    from rltpf.errors import InputError
    from rltpf.prover import build_prover
    from rltpf.prover.commands import prover_config
    from rltpf.rows import refuse_output

    refuse_overrides(overrides)
    if args.output == "-":
        raise InputError("--output takes a file: standard output is for the table")
    files = find_data_sets(args.datasets)
    if args.output is not None:
        refuse_output(args.output, *files)
    placed = read_rows(files)
    rows = [row for _, row in placed]
    prover = build_prover(prover_config(args, cache=False), args.second_judge)

    async def audited() -> tuple[list[Finding], list[Finding]]:
        try:
            return await audit_rows(prover, rows, args.workers)
        finally:
            await prover.close()

    findings, answers = asyncio.run(audited())
    if args.output is not None:
        write_rows(Path(args.output), rows, findings)
    print(prover.toolchain_id)
    Console().print(table(findings, answers))
    for line in complaints([place for place, _ in placed], findings):
        print(line)
    return 0 if all(found.status == "passed" for found in findings) else 1
