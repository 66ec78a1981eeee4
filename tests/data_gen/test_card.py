"""The card of the data sets, and what decontamination does to a run, with a scripted model and an agreeable prover."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

from data_gen.card import card
from data_gen.config import GenerateConfig
from rltpf.cli import main
from rltpf.datasets import DatasetConfig
from rltpf.llm.model import Request
from rltpf.llm.settings import LLMConfig
from tests.data_gen.fakes import AgreeableProver, RoleModel, write_rows

SEED = "Janet's ducks lay 16 eggs. She eats 3 and sells the rest for $2 each. What does she earn?"
SOLUTION = "She sells 16 - 3 = 13 eggs.\nShe earns 13 * 2 = 26.\n#### 26"
REVERSED = "Janet's ducks lay some eggs. She eats 3, sells the rest for $2 each and earns $26. How many do they lay?"
CLEAN = "There are 16 eggs and 3 are eaten. How many are left?"
SHARED = "janet s ducks lay 16 eggs she eats 3 and sells the rest"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> RoleModel:
    """Every answer has a text of its own, so that none is a repeat of another."""

    def solve(request: Request) -> str:
        return f"Step 1: There are 16 - 3 = 13 eggs, says {request.sampling.seed}.\nThe answer is 13."

    steps = [{"definitions": [], "proof": None, "claim": claim} for claim in ("16 - 3 = 13", "answer = 13")]
    model = RoleModel(answer=solve, formalise={"steps": steps}, s0={"question": REVERSED, "given": "26", "asked": "16"})
    monkeypatch.setattr("data_gen.pipeline.build_prover", lambda _: AgreeableProver())

    def build(_: object, transcript: Path) -> RoleModel:
        transcript.touch()
        return model

    monkeypatch.setattr("data_gen.pipeline.build_model", build)
    return model


def generate(folder: Path, evaluation: list[str], *overrides: str, name: str = "run") -> Path:
    """A run on one question of the evaluation set's kind and one of its own."""
    data = write_rows(folder / "seeds.jsonl", (SEED, SOLUTION), (CLEAN, "13"))
    test = write_rows(folder / "test.jsonl", *((question, "1") for question in evaluation))
    arguments = ["--dataset.path", str(data), "--llm.model", "m", "--output_dir", str(folder / name)]
    if evaluation:
        arguments += ["--decontaminate.datasets", json.dumps([{"path": str(test)}])]
    assert main(["generate", *arguments, *overrides]) == 0
    return folder / name


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def folder(path: Path) -> dict[str, bytes]:
    """All that a folder holds, the card too."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_question_of_an_evaluation_set_is_lost_before_anything_is_spent(model: RoleModel, tmp_path: Path) -> None:
    run = generate(tmp_path, [f"{SEED} Say it in dollars."])
    metrics = read(run / "metrics.json")
    assert metrics["questions"]["lost"] == {"s0:contaminated": 1}
    assert not any(SEED in message.content for _, request in model.requests for message in request.messages)
    (lost,) = [row for row in rows(run / "questions.jsonl") if row["error"]]
    assert lost["error"]["detail"] == f"test.jsonl has: {SHARED}"
    assert rows(run / "contaminated.jsonl") == [
        {"id": lost["id"], "question": SEED, "shared": f"test.jsonl has: {SHARED}"}
    ]
    assert metrics["rows"]["sft"] == len(rows(run / "sft.jsonl")) == 2


def test_a_question_that_a_model_made_is_compared_too(model: RoleModel, tmp_path: Path) -> None:
    run = generate(tmp_path, [REVERSED], "--strategy", "reverse_qa")
    assert read(run / "metrics.json")["questions"]["lost"]["s0:contaminated"] == 1
    assert not model.asked("s1")
    assert [row["question"] for row in rows(run / "contaminated.jsonl")] == [REVERSED]


def test_shorter_runs_of_words_lose_more(model: RoleModel, tmp_path: Path) -> None:
    phrase = ["There are 5 hens. How many are left?"]
    assert read(generate(tmp_path, phrase, name="13") / "metrics.json")["questions"]["kept"] == 2
    shorter = generate(tmp_path, phrase, "--decontaminate.ngram_size", "4", name="4")
    assert read(shorter / "metrics.json")["questions"]["kept"] == 1


def test_shards_lose_the_same_questions(model: RoleModel, tmp_path: Path) -> None:
    whole = generate(tmp_path, [SEED], name="whole")
    for number in range(2):
        run = generate(tmp_path, [SEED], "--num_shards", "2", "--shard_id", str(number), name="divided")
        # The parts of a divided run are nobody's data set.
        assert not (run / "shards" / f"{number}-of-2" / "dataset").exists()
    for name in ("sft", "dpo", "unpaired", "stepwise", "contaminated"):
        assert (run / f"{name}.jsonl").read_bytes() == (whole / f"{name}.jsonl").read_bytes()
    assert folder(run / "dataset") == folder(whole / "dataset")
    assert set(datasets.load_from_disk(run / "dataset")) == {"sft", "unpaired", "stepwise"}


def test_the_folder_of_a_run_opens_and_has_its_card(model: RoleModel, tmp_path: Path) -> None:
    run = generate(tmp_path, [], "--license", "mit")
    saved = run / "dataset"
    assert not (run / "contaminated.jsonl").exists()
    for kind, found in datasets.load_from_disk(saved).items():
        assert found.to_list() == rows(run / f"{kind}.jsonl")
    # As from the hub: the card says which files are which data set.
    found = datasets.load_dataset(str(saved), "sft", split="train", cache_dir=str(tmp_path / "cache"))
    assert found.to_list() == rows(run / "sft.jsonl")
    head = yaml.safe_load((saved / "README.md").read_text().split("---\n")[1])
    assert head["license"] == "mit"
    # Started again, the run has the same data sets and a folder that opens.
    before = (run / "sft.jsonl").read_bytes()
    again = generate(tmp_path, [], "--license", "apache-2.0")
    assert (again / "sft.jsonl").read_bytes() == before
    assert "license: apache-2.0" in (saved / "README.md").read_text()


METRICS: dict[str, Any] = {
    "rows": {"sft": 1200, "dpo": 15, "unpaired": 0, "stepwise": 8},
    "questions": {"in": 1036, "kept": 1031, "lost": {"s0:contaminated": 2, "s4:not_aligned": 3}, "unfinished": 4},
    "answers": {"in": 2062, "verified": 1500, "false": 500, "error": 62},
    "lean": {"toolchain": "Lean 4.28.0"},
    "prompts": {"s1": "aaaa", "s2": "bbbb"},
    "lengths": {
        unit: {side: {"min": 1, "median": 2, "mean": 2.5, "max": 9} for side in ("chosen", "rejected")}
        for unit in ("words", "characters")
    }
    | {"chosen_longer": 7, "rejected_longer": 5},
}


def config(tmp_path: Path, **values: Any) -> GenerateConfig:
    local = tmp_path / "mine.jsonl"
    local.touch()
    return GenerateConfig(
        output_dir=tmp_path,
        dataset=DatasetConfig(path=str(local)),
        llm=LLMConfig.model_validate({"model": "large", "roles": {"judge": {"model": "small"}}}),
        **values,
    )


def test_what_the_card_says(tmp_path: Path) -> None:
    sets = {"datasets": [{"path": "openai/gsm8k", "name": "main", "split": "test"}, {"path": "mine/test.csv"}]}
    text = card(config(tmp_path, license="mit", decontaminate=sets), METRICS)
    head = yaml.safe_load(text.split("---\n")[1])
    assert head["license"] == "mit"
    assert [entry["config_name"] for entry in head["configs"]] == ["sft", "dpo", "stepwise"]
    for line in (
        "| sft | 1,200 | `prompt`, `completion` | verified answers to questions with no false answer |",
        "- seed problems: mine.jsonl, licence mit; their questions as they are",
        "- model: small (judge), whose terms may bind the use of its answers",
        "- model: large (formaliser, back_translator, solver), whose terms may bind the use of its answers",
        "- Lean: Lean 4.28.0",
        "- prompts: s1 aaaa, s2 bbbb",
        "- without questions that share 13 words in a row with openai/gsm8k, main, split test; test.csv",
        "| lost: s0:contaminated | 2 |",
        "| without a verdict yet | 4 |",
        "| chosen, words | 1 | 2 | 2.5 | 9 |",
        "7 chosen answers have more words than the rejected one, and 5 have fewer.",
        "rltpf audit FOLDER",
    ):
        assert line in text.splitlines()
    assert str(tmp_path) not in text


def test_what_is_not_known_is_said_to_be_unknown(tmp_path: Path) -> None:
    none: dict[str, Any] = {"chosen": {}, "rejected": {}}
    rows = {**METRICS["rows"], "dpo": 0}
    empty = {
        **METRICS,
        "rows": rows,
        "lengths": {"words": none, "characters": none, "chosen_longer": 0, "rejected_longer": 0},
    }
    text = card(config(tmp_path), empty)
    assert "license: unknown" in text
    assert "## Lengths" not in text
    assert "without questions" not in text
