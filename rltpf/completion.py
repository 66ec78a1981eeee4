"""`rltpf completion`: what a shell completes, written once from the parsers, so that no TAB starts Python."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

_SCRIPT = """\
# Completion of rltpf {version}, written by `rltpf completion {shell}`.
{prelude}_rltpf() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command= next commands= options= values= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        next="$command${{command:+ }}${{COMP_WORDS[i]}}"
        case $next in
            {known}) command=$next ;;
        esac
    done
    case $command in
{cases}
    esac
    case "$command $before" in
{choices}
    esac
    COMPREPLY=()
    if [[ $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    elif [[ $before == --config || $before == --*.config || $command == submit ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -d -- "$word") $(compgen -f -X '!*.y*ml' -- "$word"))
    elif [[ $commands ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$word"))
    fi
}}
complete -o default -F _rltpf rltpf
"""
_PRELUDES = {"bash": "", "zsh": "autoload -Uz bashcompinit && bashcompinit\n"}


class Command(NamedTuple):
    """What may follow a command; `words` are those of the command itself, none for `rltpf`."""

    words: tuple[str, ...]
    commands: tuple[str, ...]
    options: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]
    """Values of options that take one of a few."""


def register(subparsers: Any) -> None:
    """Add `completion` to the subparsers of the command line."""
    parser = subparsers.add_parser(
        "completion",
        help="print what makes a shell complete commands, options and config files",
        description="Prints a script for the shell to read at its start. Write it anew after an update.",
        epilog="example: rltpf completion bash > ~/.local/share/bash-completion/completions/rltpf",
    )
    parser.add_argument("shell", choices=list(_PRELUDES))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, overrides: list[str]) -> int:
    """Print the script."""
    from rltpf.cli import build_parser, refuse_overrides

    refuse_overrides(overrides)
    print(script(list(commands(build_parser())), args.shell), end="")
    return 0


def commands(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Command]:
    """The command of a parser and those below it, with the keys of their configs among the options."""
    inner: dict[str, argparse.ArgumentParser] = {}
    options: list[str] = []
    choices: dict[str, tuple[str, ...]] = {}
    for action in parser._actions:  # argparse has no public way to its arguments
        if isinstance(action, argparse._SubParsersAction):
            inner |= action.choices
        options += action.option_strings
        if action.choices is not None and action.option_strings:
            choices |= dict.fromkeys(action.option_strings, tuple(map(str, action.choices)))
    options += [f"--{key}" for key in config_keys(parser, words)]
    yield Command(words, tuple(inner), tuple(dict.fromkeys(options)), choices)
    for name, found in inner.items():
        yield from commands(found, (*words, name))


def config_keys(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> list[str]:
    """Keys that the command takes as options beside those that its parser knows."""
    from rltpf.cli import Parser
    from rltpf.train.options import known_options

    if isinstance(parser, Parser) and parser.config:
        return [option.key for option in parser.config_keys()]
    if len(words) != 2 or words[0] != "train":
        return []
    kinds = {"sft": ("sft",), "dpo": ("dpo",), "kto": ("kto",), "rltpf": ("sft", "dpo")}.get(words[1], ())
    own = ["variant", "sft.config", "dpo.config"] if words[1] == "rltpf" else []
    return [*own, *(key for kind in kinds for key in known_options(kind))]


def script(found: list[Command], shell: str) -> str:
    """Bash, which zsh reads by its bashcompinit, too."""
    from rltpf import __version__

    def case(command: Command) -> str:
        words, options = " ".join(command.commands), " ".join(command.options)
        return f"        {_name(command)}) commands={shlex.quote(words)} options={shlex.quote(options)} ;;"

    return _SCRIPT.format(
        version=__version__,
        shell=shell,
        prelude=_PRELUDES[shell],
        known=" | ".join(_name(command) for command in found if command.words),
        cases="\n".join(map(case, found)),
        choices="\n".join(
            f"        {shlex.quote(' '.join((*command.words, option)))}) values={shlex.quote(' '.join(values))} ;;"
            for command in found
            for option, values in command.choices.items()
        ),
    )


def _name(command: Command) -> str:
    return shlex.quote(" ".join(command.words))
