from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rltpf import cli, completion
from rltpf.errors import InputError, RunError
from rltpf.sandbox.command import Mechanism

HEAVY = ("torch", "transformers", "trl", "peft", "openai", "datasets", "matplotlib", "lean_interact", "wandb", "rich")
COMMANDS = [list(command.words) for command in completion.commands(cli.build_parser())]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    """What makes `--help` slow is imports, which are the same on every machine, and not the clock."""
    script = (
        "import sys\nfrom rltpf.cli import main\n"
        f"try: main({[*command, '--help']!r})\n"
        f"except SystemExit as end: print('exit', end.code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("usage: rltpf")
    assert answer.stdout.endswith("exit 0 []\n")
    assert answer.stderr == ""


@pytest.mark.parametrize("command", ["generate", "judge", "rewrite", "evaluate"])
def test_help_of_a_config_command_lists_its_keys(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    shown = capsys.readouterr().out
    assert "  llm.model  (str, required)\n      Name as the server knows it" in shown
    assert "--dry_run" in shown


def test_help_of_lean_check_says_what_a_rejected_row_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["lean", "check", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Ends with 0 whatever the verdicts are, rejected ones too: they are in the rows' status" in shown
    assert """grep -v '"status": "verified"' verdicts.jsonl""" in shown


def test_env_names_versions_and_never_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "LEAN_SERVER_API_KEY", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "key-very-secret")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:key-very-secret@host:8000/v1")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path / "not" / "made"))
    assert cli.main(["env"]) == 0
    shown = capsys.readouterr().out
    rows = {name: value.strip() for name, value in (line.split(":", 1) for line in shown.splitlines())}
    keys = ("OPENAI_API_KEY", "LEAN_SERVER_API_KEY", "WANDB_API_KEY", "HF_TOKEN")
    assert [rows[name] for name in keys] == ["set", "set", "set", "not set"]
    assert rows["OPENAI_BASE_URL"] == "http://***@host:8000/v1"
    assert (rows["SLURM_JOB_ID"], rows["slurm"]) == ("7", "none found")
    assert rows["cache"].startswith(f"{tmp_path}/not/made (")
    assert rows["cpus"] == f"{os.cpu_count()}, {len(os.sched_getaffinity(0))} for this process"
    assert re.fullmatch(r"[\d.]+ GiB", rows["memory"])
    assert rows["native lean"] == "no lake on the PATH"
    assert rows["embedded lean"] == "not installed: rltpf lean install --toolchain embedded"
    assert rows["python"].split()[0] == ".".join(map(str, sys.version_info[:3]))
    assert "key-very-secret" not in shown


@pytest.mark.parametrize(
    ("means", "line"),
    [
        (Mechanism("/bin/bwrap", 7, True), "bubblewrap + Landlock (ABI 7) + seccomp + limits of resources"),
        (
            Mechanism("", 6, True),
            "Landlock (ABI 6) + seccomp + limits of resources (gaps: names and sizes of files can be seen everywhere)",
        ),
        (
            Mechanism("", 0, True),
            "seccomp + limits of resources (gaps: files of this user can be read and written; a program among the "
            "readable files can take the place of the command; names and sizes of files can be seen everywhere; native "
            "Lean is refused)",
        ),
    ],
)
def test_env_says_what_confines_lean_and_what_does_not_hold(
    means: Mechanism, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rltpf.sandbox.command.find_mechanism", lambda: means)
    assert cli.main(["env"]) == 0
    assert f"\nsandbox:               {line}\n" in capsys.readouterr().out


def with_command(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace, list[str]], int]) -> None:
    parser = cli.Parser(prog="rltpf")
    parser.add_argument("input", nargs="?")
    parser.set_defaults(run=run)
    monkeypatch.setattr(cli, "build_parser", lambda: parser)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            InputError("a.yaml: x: is missing", "a.yaml: y: is missing"),
            2,
            "a.yaml: x: is missing\na.yaml: y: is missing\n",
        ),
        (RunError("the server is dead"), 1, "the server is dead\n"),
        (
            OSError(28, "No space left on device", "runs/a"),
            1,
            "runs/a: No space left on device: make room and start the same command again\n",
        ),
        (
            KeyboardInterrupt(),
            130,
            "interrupted; what is finished is kept: start the same command again to go on\n",
        ),
    ],
    ids=["input", "run", "disk", "ctrl-c"],
)
def test_errors_are_lines_and_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, message: str
) -> None:
    def run(args: argparse.Namespace, overrides: list[str]) -> int:
        raise error

    with_command(monkeypatch, run)
    assert cli.main([]) == code
    assert capsys.readouterr() == ("", message)


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    with_command(monkeypatch, lambda args, overrides: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cli.main([])


@pytest.mark.parametrize(
    ("words", "given", "overrides"),
    [
        (["--llm.model", "m", "rows.jsonl"], "rows.jsonl", ["--llm.model=m"]),
        (["rows.jsonl", "--limit", "5", "--llm.model", "m"], "rows.jsonl", ["--limit", "5", "--llm.model=m"]),
        (["--a.b", "-1", "--c.d", "--e.f=x", "y"], "y", ["--a.b=-1", "--c.d", "--e.f=x"]),
    ],
)
def test_values_of_overrides_are_no_positionals(
    monkeypatch: pytest.MonkeyPatch, words: list[str], given: str, overrides: list[str]
) -> None:
    seen: list[object] = []
    with_command(monkeypatch, lambda args, rest: seen.append((args.input, rest)) or 0)  # type: ignore[func-returns-value]
    assert cli.main(words) == 0
    assert seen == [(given, overrides)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "rltpf: argument COMMAND: invalid choice: 'nope'"),
        ([], "rltpf: the following arguments are required: COMMAND"),
        (["report"], "rltpf report: the following arguments are required: RUN_DIR"),
    ],
    ids=["unknown command", "no command", "no argument"],
)
def test_wrong_arguments_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", [["env"], ["report", "x"], ["demo"]], ids=" ".join)
def test_commands_without_a_config_refuse_unknown_arguments(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*command, "--limit", "5"]) == 2
    assert "--limit 5" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["generate", "evaluate"])
def test_a_wrong_config_is_exit_2_with_every_fault(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("llm: {model: m, backend: opnai}\n")
    assert cli.main([command, "--config", str(config), "--nonsense"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert any("llm.backend: should be" in line and "(did you mean 'openai'?)" in line for line in lines)
    assert any(line.startswith("--nonsense: unknown key") for line in lines)
    assert any("output_dir: is missing" in line for line in lines)
