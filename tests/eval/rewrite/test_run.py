"""`rltpf rewrite` as its user runs it: real process, real Lean, replayed models."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from demo.authors import Authors
from demo.server import serve
from eval.rewrite.prompting import build_prompts
from eval.rewrite.settings import RewriteConfig
from eval.rewrite.stages import Rewriting
from rltpf.cli import main
from rltpf.config import load
from rltpf.datasets import load_problems
from rltpf.llm.model import Request
from rltpf.llm.replay import ReplayModel
from tests.data_gen.run_files import lines, wait_until

CONFIG = "configs/rewrite/demo.yaml"
FIELDS = ("original_question", "original_answer", "rewritten_question", "new_answer", "lean_proof")


def command(output_dir: Path, *overrides: str) -> list[str]:
    return [sys.executable, "-m", "rltpf", "rewrite", "--config", CONFIG, "--output_dir", str(output_dir), *overrides]


@pytest.fixture(scope="module")
def undisturbed(lean_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole demo."""
    output_dir = tmp_path_factory.mktemp("undisturbed") / "run"
    subprocess.run(command(output_dir), check=True)
    return output_dir


def data_set(output_dir: Path) -> tuple[bytes, bytes]:
    folder = output_dir / "data"
    return (folder / "rewritten.jsonl").read_bytes(), (folder / "README.md").read_bytes()


@pytest.mark.lean
@pytest.mark.slow
def test_the_demo_retains_some_and_loses_one_at_every_stage(undisturbed: Path) -> None:
    metrics = json.loads((undisturbed / "metrics.json").read_text())
    assert metrics["candidates"] == {
        "in": 16,
        "kept": 7,
        "ended": {
            "rewrite:too_similar": 1,
            "screen:applied_no": 1,
            "formalise:statement_error": 1,
            "check:semantic_mismatch": 1,
            "prove:no_proof": 1,
            "verify:proof_rejected": 1,
            "guard:nat_division": 1,
            "extract:unknown": 1,
            "classify:intermediate": 1,
        },
        "unfinished": 0,
    }
    assert metrics["levels"] == [
        {"level": "", "sampled": 16, "retained": 7, "generation_rate": 7 / 16, "pass": [5 / 16, 6 / 16, 7 / 16]}
    ]
    assert metrics["rewrites"]["ended"]["guard:vacuous"] == 1
    assert metrics["prover_failures"]["kinds"]["boundary_corruption"] == 1
    assert len({json.loads(line)["id"] for line in (undisturbed / "candidates.jsonl").open()}) == 16


@pytest.mark.lean
@pytest.mark.slow
def test_the_data_set_loads_and_every_row_is_proved_again(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    loaded = datasets.load_dataset(str(undisturbed / "data"), split="test", cache_dir=str(tmp_path / "cache"))
    assert set(FIELDS) < set(loaded.column_names)
    answers = {row["rewritten_question"].split()[1]: row["new_answer"] for row in loaded}
    assert answers == {
        "messenger": "20",
        "each": "140",
        "village": "90",
        "painter": "960",
        "one": "10",
        "cinema": "105",
        "farmer": "140",
    }
    rows, verdicts = tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl"
    rows.write_text(
        "".join(
            json.dumps(
                {
                    "id": row["id"],
                    "statement": row["lean_statement"],
                    "submission": row["lean_proof"],
                    "header": row["lean_header"],
                }
            )
            + "\n"
            for row in loaded
        )
    )
    assert main(["lean", "check", str(rows), "--output", str(verdicts), "--toolchain", "embedded"]) == 0
    assert [json.loads(line)["status"] for line in verdicts.open()] == ["verified"] * 7


@pytest.mark.lean
@pytest.mark.slow
def test_an_audit_finds_what_was_changed(undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(undisturbed), "--toolchain", "embedded"]) == 0
    row = json.loads((undisturbed / "data" / "rewritten.jsonl").read_text().splitlines()[0])
    answer, statement, proof = row["new_answer"], row["lean_statement"], row["lean_proof"]
    wrong = {
        "lean_statement": statement.replace(f"= {answer}", "= 7"),
        "lean_proof": proof.replace(f"= {answer}", "= 7"),
    }
    changed = [
        row | {"new_answer": "7"},
        row | wrong,
        row | wrong | {"new_answer": "7"},
        row | {"lean_header": "import Mathlib"},
        row | {"original_answer": "7"},
    ]
    source = tmp_path / "changed.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in changed))
    capsys.readouterr()
    assert main(["audit", str(source), "--toolchain", "embedded"]) == 1
    found = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines() if line.startswith(f"{source}:")]
    assert found == ["answer", "answer", "elaboration_error", "header", "seal"]
    source.write_text(json.dumps({name: value for name, value in row.items() if name != "lean_statement"}))
    assert main(["audit", str(source)]) == 2
    assert capsys.readouterr().err == f"{source}:1: `lean_statement` has to be a text, and is None\n"


@pytest.mark.lean
@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    for name, number in (("transcript", 4), ("candidates", 3)):
        process = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda name=name, number=number: lines(killed / f"{name}.jsonl") >= number, process)
        process.kill()
        process.wait()
    # What a kill in the middle of a write leaves.
    journal = killed / "candidates.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    subprocess.run(command(killed), check=True)
    assert data_set(killed) == data_set(undisturbed)
    again = subprocess.run(command(killed), check=True, capture_output=True, text=True)
    assert "candidates: resuming: 16 done" in again.stderr
    changed = subprocess.run(command(killed, "--proofs", "2"), check=False, capture_output=True, text=True)
    assert changed.returncode == 2
    assert "proofs: this run has 3, and now it is 2" in changed.stderr


@pytest.mark.lean
@pytest.mark.slow
def test_shards_are_joined_to_the_bytes_of_one_run(undisturbed: Path, tmp_path: Path) -> None:
    for shard in ("0", "1"):
        subprocess.run(
            command(tmp_path / "run", "--num_shards", "2", "--shard_id", shard), check=True, capture_output=True
        )
    assert data_set(tmp_path / "run") == data_set(undisturbed)
    assert main(["merge", str(tmp_path / "run")]) == 0
    assert data_set(tmp_path / "run") == data_set(undisturbed)


@pytest.mark.lean
@pytest.mark.slow
def test_a_live_server_and_a_target(undisturbed: Path, tmp_path: Path) -> None:
    """Drawing ends at the target, and what is drawn is the beginning of what an open run draws."""
    with serve(Authors(Path("demo/rewriter/gsm8k.yaml")), "authored-models", len) as url:
        live = ("--llm.backend", "openai", "--llm.base_url", url, "--target", "3")
        subprocess.run(command(tmp_path / "live", *live), check=True)
    rows, whole = (data_set(folder)[0].splitlines() for folder in (tmp_path / "live", undisturbed))
    assert rows == whole[:3]
    metrics = json.loads((tmp_path / "live" / "metrics.json").read_text())
    assert metrics["candidates"]["kept"] == 3
    assert metrics["candidates"]["in"] == lines(tmp_path / "live" / "candidates.jsonl") < 16


def test_a_dry_run_shows_the_first_prompt_of_each_role(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["rewrite", "--config", CONFIG, "--output_dir", str(tmp_path / "run"), "--dry_run"]) == 0
    shown = capsys.readouterr().out
    for role in ("rewriter", "screener", "formaliser", "checker", "prover", "extractor", "classifier"):
        assert f"--- {role}: " in shown
    assert "Core Lean only" in shown
    assert not (tmp_path / "run").exists()
    mathlib = ("--prover.toolchain", "native", "--prover.header", "import Mathlib")
    assert main(["rewrite", "--config", CONFIG, *mathlib, "--dry_run"]) == 0
    assert "Mathlib is imported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("--target", "0"), "--target: should be greater than or equal to 1, and is 0"),
        (("--proof", "3"), "--proof: unknown key (did you mean 'proofs'?)"),
        (
            ("--level_column", "level"),
            "demo/gsm8k_test.jsonl: 16 of 16 rows have no text or number in the column 'level'",
        ),
        (("--atp", "hammer"), "--atp: "),
        (("--num_shards", "2"), "shard_id: is missing"),
    ],
)
def test_bad_input_is_a_line(
    overrides: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["rewrite", "--config", CONFIG, "--output_dir", str(tmp_path / "run"), *overrides]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "run").exists()


def test_the_config_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "validate", CONFIG]) == 0
    assert capsys.readouterr().out == f"{CONFIG}: valid for `rltpf rewrite`\n"


def test_every_question_of_the_demo_is_recorded() -> None:
    """After a change of a prompt, `make transcript` records anew what the demo replays."""
    config = load(RewriteConfig, CONFIG)
    assert config.llm.transcript is not None
    model, prompts = ReplayModel(config.llm.transcript, config.llm.model), build_prompts()
    sampling = config.llm.sampling("rewriter", config.seed)

    async def ask() -> int:
        problems = load_problems(config.dataset)
        for problem in problems:
            messages = prompts.messages("rewrite", question=problem.question)
            await model.complete(Request("rewriter", messages, sampling, Rewriting.model_json_schema()))
        return len(problems)

    assert asyncio.run(ask()) == 16
