"""Every command of README and docs is run, or at least read by the real parsers; links lead somewhere.

A command is in `RUN` (really run, in a furnished folder), or a line of `NOT_RUN` says why it is not. All of them are
read by the parser and the config class of the command itself, whether they run or not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pages
import pytest
import yaml
from checks import fault
from scene import Scene, furnish, opened, put_rows

from rltpf import __version__, demo
from rltpf.config import load
from rltpf.llm.settings import LLMConfig

# What the pages new_*.md add has to be there for their commands: see test_extending.
USING = [page for page in pages.PAGES if not page.name.startswith("new_")]
COMMANDS = [(page, command) for page in USING for command in dict.fromkeys(pages.commands(page))]


@dataclass(frozen=True)
class Run:
    """`more` words keep a run small; `said` has to be in what it says."""

    command: str
    more: str = ""
    said: str = ""


_GSM8K = "rltpf evaluate --config configs/evaluate/gsm8k.yaml"
_SMALL = "--dataset.path demo/gsm8k_test.jsonl --dataset.limit 3"
WITHOUT_LEAN = [
    Run("rltpf env", said="embedded lean:"),
    Run(
        "rltpf config validate configs/generate/demo.yaml configs/train/smollm2_sft.yaml",
        said="configs/generate/demo.yaml: valid for `rltpf generate`",
    ),
    Run(
        "rltpf generate --config configs/generate/demo.yaml --llm.backend openai --llm.model NAME "
        "--dataset.path FILE.jsonl --output_dir runs/mine --dry_run",
        said="2 + 3?",
    ),
    Run("rltpf evaluate --list", said="| gsm8k | 1 | question, answer |"),
    Run(f"{_GSM8K} --llm.model NAME --output_dir runs/gsm8k/NAME", _SMALL, said="gsm8k v1, pass@1"),
    Run(
        f"{_GSM8K} --llm.model NAME --samples 8 --llm.temperature 0.7 --output_dir runs/gsm8k/NAME_8",
        _SMALL,
        said="maj@8",
    ),
    Run(
        f"{_GSM8K} --benchmark jsonl --dataset.path FILE.jsonl --llm.model NAME --output_dir runs/own/NAME",
        said="| strict | 1 / 2 | 50.0 |",
    ),
    Run(
        f"{_GSM8K} --benchmark repro_originals --dataset.path SET.jsonl --llm.model NAME --output_dir runs/ori/NAME",
        said="| strict | 0 / 1 |",
    ),
    Run(
        f"{_GSM8K} --benchmark repro --dataset.path SET.jsonl --llm.model NAME --output_dir runs/rew/NAME",
        said="| strict | 1 / 1 |",
    ),
    Run(
        "rltpf sensitivity SET.jsonl --scores NAME=runs/ori/NAME,runs/rew/NAME --output runs/sensitivity",
        said="NAME +100.0",
    ),
    Run("rltpf report runs/gsm8k/NAME runs/gsm8k/NAME_8 --output runs/gsm8k", said="runs/gsm8k/comparison.md"),
]
WITH_LEAN = [
    Run(
        "rltpf generate --config configs/generate/demo.yaml --dataset.limit 5 --output_dir runs/five",
        said="runs/five/dpo.jsonl: 3 pairs",
    ),
    Run("rltpf rewrite --config configs/rewrite/demo.yaml", "--dataset.limit 1 --prover.workers 1", said="1 in = "),
    Run(
        "rltpf judge answers.jsonl --config configs/generate/judge.yaml --llm.model NAME --output verdicts.jsonl",
        said="answers: 1/1 done",
    ),
    Run("rltpf judge answers.jsonl --output_dir runs/judge_alone --output verdicts.jsonl", said="no llm"),
    Run("rltpf lean check proofs.jsonl --output verdicts.jsonl --workers 2", said="3/3 done"),
    Run("rltpf lean selftest --cases attack.jsonl", said="axioms"),
    Run("rltpf rpe answers.jsonl --output verdicts.jsonl", said="2 equal, 1 no_answer, 1 not_proved, 1 refuted"),
    Run(
        "rltpf select candidates.jsonl --config configs/select/base.yaml --llm.model NAME --output selected.jsonl",
        said="calls of the formaliser    1.00",
    ),
    Run(
        "rltpf scribe candidates.jsonl --config configs/scribe/seed.yaml --llm.model NAME",
        said="problems: 1 in = 1 kept",
    ),
]
"""In their order: what one leaves is there for the next."""

MODEL = "needs a model, a GPU or the hub"
LONG = "takes minutes; what it does is run by the tests of its command"
LATER = "needs what a long run left"
SHELL = "changes the shell alone"
TOOL = "needs a program or server that is not here"
NOT_RUN = {
    r"make (demo|test|setup|lint|test-fast)|pytest .*": "installs an environment, or is what runs this",
    r"make transcript|python -m demo.record .*": "writes into the checkout; tests replay what it wrote",
    r"source .*|export .*|cd .*|mkdir .*": SHELL,
    r"(RLTPF_SERVE=MODEL )?sbatch .*": "needs a SLURM, on which tests/slurm runs each of these files",
    r"rltpf submit .*": "needs a SLURM; tests/slurm runs a whole chain, tests/rltpf/test_submit.py the rest",
    r"rltpf lean install": "fetches 122 MB, once for all tests that need Lean",
    r"lake .*|rltpf lean selftest --toolchain (native|kimina).*": TOOL,
    r"rltpf generate .* --prover.toolchain (native|kimina) .*": TOOL,
    r"rltpf rewrite .* --prover.toolchain native .*": TOOL,
    r"rltpf rewrite .* --method itd .*": LATER,
    r"rltpf generate .* --dataset.path YOUR.jsonl .* --dry_run": "is run with FILE.jsonl",
    r"rltpf judge gold/.*": LONG,
    r"(rltpf train|accelerate launch) .*": LONG,
    r"rltpf evaluate .* --llm.backend transformers .*": MODEL,
    r"rltpf select .* --llm.roles.rewriter.backend transformers .*": MODEL,
    r"rltpf scribe .* configs/scribe/(strict|hard).yaml .*": LATER,
    r"rltpf evaluate .* --dataset.path runs/math/.*|rltpf sensitivity runs/math/.*": LATER,
    r"rltpf audit runs/(math|mine .*)": LATER,
    r"rltpf quality .*|rltpf report runs/(demo|gsm8k/base .*|mine .*)": LATER,
}
"""Regular expression of whole commands, and why they are not run."""


def of_page(parts: tuple[Path, str]) -> str:
    return f"{parts[0].name}: {parts[1]}"


@pytest.mark.parametrize("parts", COMMANDS, ids=of_page)
def test_a_command_is_what_the_real_parsers_take(
    parts: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert fault(parts[1]) == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rltpf evalute --list", "invalid choice: 'evalute'"),
        ("rltpf env --all", "unknown arguments: --all"),
        ("rltpf evaluate --config configs/evaluate/gsm8k.yaml --llm.modell m --output_dir o", "did you mean 'model'?"),
        ("rltpf evaluate --config configs/evaluate/no.yaml --llm.model m --output_dir o", "No such file"),
        ("rltpf train sft --config configs/train/smollm2_sft.yaml --learning_rat 1", "did you mean `learning_rate`?"),
        ("rltpf train rltpf --config configs/train/smollm2_rltpf.yaml --dpo.bet 1", "did you mean `dpo.beta`?"),
        ("rltpf config validate configs/accelerate/cpu.yaml --for sft", "unknown"),
        ("X=1 sbatch --array=0-1 slurm/generate.sbatch --config configs/generate/demo.yaml --sed 1", "mean 'seed'?"),
        ("sbatch slurm/evaluate.sbatch o a=m -- --config configs/evaluate/gsm8k.yaml --sample 1", "mean 'samples'?"),
        ("sbatch slurm/no.sbatch o", "there is no slurm/no.sbatch"),
        ("rltpf submit configs/pipelines/demo.yaml --generate.shard 2", "did you mean 'shards'?"),
        ("make dmeo", "the Makefile has no dmeo"),
        ("accelerate launch --config_file configs/no.yaml -m rltpf.train.sft", "No such file"),
        ("python -m rltpf.smolm2", "there is no module rltpf.smolm2"),
    ],
)
def test_a_wrong_command_is_found(command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert said in fault(command)


def test_every_command_is_run_or_has_a_reason_not_to() -> None:
    run = {item.command for item in (*WITHOUT_LEAN, *WITH_LEAN)}
    given = {command for _, command in COMMANDS}
    assert run <= given, "no page has these any more"
    reasons = {command: [r for r in NOT_RUN if re.fullmatch(r, command)] for command in given - run}
    assert [command for command, found in reasons.items() if not found] == []
    assert set(NOT_RUN) == {reason for found in reasons.values() for reason in found}, "reasons that no command needs"


def test_shell_blocks_say_that_they_are() -> None:
    """What is typed stands in blocks of `sh`, or no test would see it."""
    programs = re.compile(r"(?:rltpf|make|python|pip|accelerate|export|source|git|ruff|pytest) ")
    bare = [block.text for page in pages.PAGES for block in pages.blocks(page) if block.language == ""]
    assert [text for text in bare if programs.match(text)] == []


def test_commands_within_the_prose_exist() -> None:
    """`rltpf NAME ...` in a line of text names a command, whatever it leaves out."""
    faults = []
    for page in USING:
        for words in re.findall(r"(?<!`)`rltpf ([a-z][^`]*)`(?!`)", page.read_text(encoding="utf-8")):
            names = [name for name in re.split(r"[|\s]", words) if re.fullmatch("[a-z]+", name)]
            found = fault(f"rltpf {names[0]} --no_such_option")
            if "invalid choice" in found:
                faults.append(f"{page.name}: {words}: {found}")
    assert faults == []


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in pages.links(page):
        target, _, anchor = link.partition("#")
        place = page.parent / target if target else page
        if not place.exists() or (anchor and anchor not in pages.anchors(place)):
            broken.append(link)
    assert broken == []


def test_every_page_is_in_the_index() -> None:
    index = {Path(link.partition("#")[0]).name for link in pages.links(pages.ROOT / "README.md")}
    assert {page.name for page in (pages.ROOT / "docs").glob("*.md")} <= index


def test_the_demo_has_as_many_steps_as_is_said() -> None:
    said = re.search(r"in (\d+) steps", page_text("getting_started.md"))
    assert said is not None
    assert int(said[1]) == len(demo._steps())


def test_the_version_is_the_same_everywhere() -> None:
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (pages.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((pages.ROOT / "CITATION.cff").read_text())["version"]
    assert {versions[0], project, citation} == {__version__}


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_blocks_of_data_are_what_they_say(page: Path) -> None:
    for block in pages.blocks(page, "json"):
        for line in block.text.splitlines():
            assert isinstance(json.loads(line), dict)
    for block in pages.blocks(page, "python"):
        compile(block.text, str(page), "exec")


def test_the_sections_of_roles_are_configs(tmp_path: Path) -> None:
    found = [block for page in pages.PAGES for block in pages.blocks(page, "yaml") if block.text.startswith("llm:")]
    assert len(found) == 2
    for block in found:
        path = tmp_path / "llm.yaml"
        path.write_text("".join(line[2:] + "\n" for line in block.text.splitlines()[1:]))
        assert load(LLMConfig, path).for_role("judge").model == "Qwen3-4B"


def _run(scene: Scene, runs: list[Run], before: dict[str, Callable[[], object]]) -> None:
    for item in runs:
        before.get(item.command.split()[1], lambda: None)()
        assert item.said in scene.run(f"{item.command} {item.more}"), item.command


def test_the_commands_without_lean_run(tmp_path: Path) -> None:
    with opened(tmp_path) as scene:
        _run(scene, WITHOUT_LEAN, {})


@pytest.mark.lean
@pytest.mark.slow
def test_the_commands_with_lean_run(lean_installed: None, tmp_path: Path) -> None:
    before = {
        # A wrong calculation is refuted before a model is asked, where the question is stated already.
        "judge": lambda: put_rows(
            tmp_path, "docs/judge.md", 0, "answers.jsonl", formal="(answer : Rat) (h : answer = 12)"
        ),
        "lean": lambda: (
            put_rows(tmp_path, "docs/judge.md", 1, "proofs.jsonl"),
            put_rows(tmp_path, "CONTRIBUTING.md", 0, "attack.jsonl"),
        ),
        "rpe": lambda: put_rows(tmp_path, "docs/rpe.md", 0, "answers.jsonl"),
        "select": lambda: put_rows(tmp_path, "docs/selection.md", 0, "candidates.jsonl"),
    }
    with opened(tmp_path) as scene:
        _run(scene, WITH_LEAN[:4], before)
        (judged,) = rows(tmp_path / "verdicts.jsonl")
        assert (judged["verdict"], judged["reason"]) == ("false", "refuted_calculation")
        _run(scene, WITH_LEAN[4:6], before)
        assert [row["status"] for row in rows(tmp_path / "verdicts.jsonl")] == ["verified", "rejected", "rejected"]
        _run(scene, WITH_LEAN[6:], before)
    table = re.findall(r"^\| ([a-e]) \| (true|false) \| `?(\w*)`? ?\| `(\w+)` \|$", page_text("rpe.md"), re.MULTILINE)
    assert table == [
        (row["id"], str(row["equivalent"]).lower(), row["closed_by"], row["reason"])
        for row in rows(tmp_path / "verdicts.jsonl")
    ]
    (selected,) = rows(tmp_path / "selected.jsonl")
    assert (selected["selected"], selected["rank"], selected["base_rank"]) == ("18", 2, 1)


def page_text(name: str) -> str:
    return (pages.ROOT / "docs" / name).read_text(encoding="utf-8")


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
