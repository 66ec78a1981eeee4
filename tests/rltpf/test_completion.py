"""What a shell completes, asked of a real bash."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from rltpf.cli import main

_ASK = 'COMP_WORDS=({words}); COMP_CWORD={index}; _rltpf; printf "%s\\n" "${{COMPREPLY[@]}}"'


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "rltpf"
    with path.open("w") as file, redirect_stdout(file):
        assert main(["completion", "bash"]) == 0
    return path


def completed(script: Path, line: str, folder: Path) -> list[str]:
    """What bash offers for the last word of a line, which is empty after a space."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    quoted = " ".join(map(shlex.quote, words))
    ask = _ASK.format(words=quoted, index=len(words) - 1)
    command = ["bash", "--norc", "-c", f"source {script}\n{ask}"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    assert answer.stderr == ""
    return answer.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rltpf re", ["report", "rewrite"]),
        ("rltpf lean ", ["install", "check", "selftest"]),
        ("rltpf train k", ["kto"]),
        ("rltpf --v", ["--version"]),
        ("rltpf merge --o", ["--overwrite"]),
        ("rltpf generate --prover.w", ["--prover.workers"]),
        ("rltpf evaluate --config x.yaml --benchm", ["--benchmark"]),
        ("rltpf train dpo --bet", ["--beta"]),
        ("rltpf train rltpf --vari", ["--variant"]),
        ("rltpf submit p.yaml --train.v", ["--train.variant"]),
        ("rltpf lean check --toolchain e", ["embedded"]),
        ("rltpf generate --config ", ["sub", "b.yaml"]),
        ("rltpf train rltpf --sft.config b", ["b.yaml"]),
        ("rltpf submit ", ["sub", "b.yaml"]),
        ("rltpf report ", []),
        ("rltpf generate --no_such", []),
    ],
)
def test_what_bash_offers(script: Path, line: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.jsonl", "b.yaml"):
        (tmp_path / name).touch()
    assert completed(script, line, tmp_path) == words


def test_zsh_is_told_to_read_bash(capsys: pytest.CaptureFixture[str], script: Path) -> None:
    assert main(["completion", "zsh"]) == 0
    first, loading, *rest = capsys.readouterr().out.splitlines()
    assert first.endswith("written by `rltpf completion zsh`.")
    assert loading == "autoload -Uz bashcompinit && bashcompinit"
    assert rest == script.read_text().splitlines()[1:]
