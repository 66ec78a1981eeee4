"""The `rltpf` command: every subcommand lives beside its stage and registers itself; imports come when one runs."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from rltpf import __version__
from rltpf.errors import InputError, RunError, complaint

if TYPE_CHECKING:
    from rltpf.config import Option

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """An argument parser whose faults are one line, which never guesses from a beginning of an option's name, and takes
    no option with a value twice."""

    config = ""
    """The class `module:Class` of the keys that the command takes as options, imported when they are asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        self.register("action", None, _Once)

    def config_keys(self) -> list[Option]:
        """Every key of `config`."""
        from rltpf.config import describe

        module, _, name = self.config.partition(":")
        return describe(getattr(importlib.import_module(module), name))

    def format_help(self) -> str:
        """The help, with the keys of the config."""
        lines = [super().format_help()]
        if not self.config:
            return lines[0]
        lines.append("config keys (--key value overrides the file):")
        for option in self.config_keys():
            default = "required" if option.default is None else f"default {option.default}"
            lines.append(f"  {option.key}  ({option.type}, {default})")
            lines += [f"      {line}" for line in option.doc.splitlines()]
        return "\n".join(lines) + "\n"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # Python 3.14 has this as an option of the parser.
        close = get_close_matches(str(value), map(str, action.choices or ()), 1, 0.75)
        if close and close[0] != value:
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}: did you mean {close[0]!r}?")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Once(argparse.Action):
    """Stores a value; refuses an empty one, and a second one instead of forgetting the first."""

    given = False

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        if values == "":
            raise argparse.ArgumentError(self, "has no value")
        if self.given:
            raise argparse.ArgumentError(self, "is given twice")
        self.given = True
        setattr(namespace, self.dest, values)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code: 0 done, 1 failed, 2 wrong arguments or input, 130 interrupted."""
    args, overrides = parse(sys.argv[1:] if argv is None else argv)
    try:
        code: int = args.run(args, overrides)
    except InputError as error:
        print(error, file=sys.stderr)
        return WRONG_INPUT
    except RunError as error:
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(complaint(error), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("interrupted; what is finished is kept: start the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    return code


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The arguments of a command, and what is left for its config. Ends the process where they are wrong."""
    return build_parser().parse_known_args(_join_overrides(argv))


def build_parser() -> Parser:
    """The whole command line. Subcommands set `run`, a function of (args, overrides) that returns the exit code."""
    from data_gen import commands as data
    from eval import commands as evaluation
    from eval.quality import commands as quality
    from eval.rewrite import commands as rewriting
    from rltpf import completion, demo, environment
    from rltpf import config_commands as configs
    from rltpf import submit_command as submitting
    from rltpf.prover import commands as lean
    from rltpf.selection import commands as selection
    from rltpf.train import commands as train

    parser = Parser(prog="rltpf", description="Fine-tune language models with a theorem prover as the judge.")
    parser.add_argument("--version", action="version", version=f"rltpf {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (
        environment,
        lean,
        data,
        train,
        evaluation,
        rewriting,
        quality,
        selection,
        configs,
        submitting,
        demo,
        completion,
    ):
        module.register(subparsers)
    return parser


def add_config_arguments(parser: Parser, config: str) -> None:
    """Add `--config`, `--dry_run` and `--overwrite`, and list the keys of the config class `module:Class` in `--help`.

    The command loads it with `rltpf.config.load(Class, args.config, overrides)`.
    """
    parser.add_argument("--config", metavar="FILE", help="YAML file; see configs/")
    parser.add_argument(
        "--dry_run", action="store_true", help="print the resolved config and the first prompts, and stop"
    )
    parser.add_argument("--overwrite", action="store_true", help="remove an earlier run in output_dir and start again")
    parser.config = config


def refuse_overrides(overrides: Sequence[str]) -> None:
    """For commands without a config: raises `InputError` on every argument that nobody asked for."""
    if overrides:
        raise InputError(f"unknown arguments: {' '.join(overrides)} (see --help)")


def _join_overrides(words: Sequence[str]) -> list[str]:
    """`--llm.model x` as `--llm.model=x`: argparse would take the x of an option it does not know for a positional."""
    joined: list[str] = []
    for word in words:
        last = joined[-1] if joined else ""
        if last.startswith("--") and "." in last and "=" not in last and not word.startswith("--"):
            joined[-1] = f"{last}={word}"
        else:
            joined.append(word)
    return joined
