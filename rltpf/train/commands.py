"""`rltpf train sft|dpo|merge`; training is the same code as `accelerate launch -m rltpf.train.sft`."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add `train` to the subparsers of the command line."""
    from rltpf.train import merge

    train = subparsers.add_parser("train", help="SFT and DPO with TRL, from the rows that `generate` wrote")
    kinds = train.add_subparsers(dest="kind", metavar="sft|dpo|merge", required=True)
    for kind, summary in (("sft", "supervised fine-tuning"), ("dpo", "direct preference optimisation")):
        parser = kinds.add_parser(
            kind,
            help=summary,
            allow_abbrev=False,
            description=f"{summary.capitalize()}. Every option of TRL's {kind.upper()}Config, ModelConfig and "
            "ScriptArguments is accepted as --key value and wins over the YAML.",
            epilog=f"example: rltpf train {kind} --config configs/train/smollm2_{kind}.yaml --learning_rate 1e-4",
        )
        parser.add_argument("--config", metavar="FILE", help="YAML in TRL's flat format, see configs/train/")
        parser.set_defaults(run=run)
    merge.register(kinds)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Run the training; the exit code."""
    from rltpf.train import dpo, launch, sft

    script = {"sft": sft, "dpo": dpo}[args.kind]
    return launch.run(script.main, [*(["--config", args.config] if args.config else []), *overrides])
