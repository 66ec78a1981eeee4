"""The labelled set judged by real Lean, without a model and with authored formalisations: what its README says."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from data_gen.agreement import answers, scores, steps, summary, wrong
from data_gen.calculated import judge_calculations
from data_gen.config import JudgeConfig
from data_gen.gold import read_gold
from data_gen.judge import Judge
from data_gen.prompting import Prompts
from gold.build import CHAINS, FOLDER
from gold.record import FORMALISED, RECORDED
from rltpf.config import load
from rltpf.llm.replay import ReplayModel
from rltpf.prover.prover import Prover

pytestmark = pytest.mark.lean
ARITHMETIC = ("number", "operator")


@pytest.fixture(scope="module")
def judged(prover: Prover) -> list[dict[str, Any]]:
    async def judge(row: dict[str, Any]) -> dict[str, Any]:
        judgement = await judge_calculations(prover, row["answer"])
        return {**row, "verdict": judgement.verdict, "steps": [step.to_json() for step in judgement.steps]}

    async def judge_all() -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in CHAINS.read_text().splitlines()]
        return await asyncio.gather(*map(judge, rows))

    return asyncio.run(judge_all())


def test_nothing_is_decided_wrongly_and_changed_calculations_are_found(judged: list[dict[str, Any]]) -> None:
    compared = steps(judged, read_gold(str(CHAINS), judged))
    assert wrong(compared) == []
    assert not any(item.outcome == "verified" for item in compared)
    found = summary(compared)
    assert [found[kind]["confusion"]["false"]["false"] for kind in ARITHMETIC] == [54, 49]
    assert [sum(found[kind]["confusion"]["false"].values()) for kind in ARITHMETIC] == [55, 54]
    arithmetic = summary([item for item in compared if item.kind in ARITHMETIC])["all"]
    assert arithmetic["scores"]["false"] == {"precision": 1.0, "recall": 103 / 109, "f1": 206 / 212}
    assert arithmetic["scores"] == scores(arithmetic["confusion"])


def test_what_is_no_calculation_is_left_undecided(judged: list[dict[str, Any]]) -> None:
    verdicts = Counter((row["kind"], row["verdict"]) for row in judged if row["kind"] not in ARITHMETIC)
    assert verdicts == {
        ("none", "error"): 55,
        ("step", "error"): 54,
        ("quantity", "error"): 54,
        ("answer", "error"): 54,
    }


@pytest.fixture(scope="module")
def formalised(prover: Prover) -> list[dict[str, Any]]:
    config = load(JudgeConfig, FOLDER / "judge.yaml")
    assert config.llm is not None
    model = ReplayModel(RECORDED, config.llm.model)
    sampling = config.llm.sampling("formaliser", seed=config.seed)
    judge = Judge(model, prover, sampling, config.repairs, Prompts(config.prompts, prover.library))

    async def judged(row: dict[str, Any]) -> dict[str, Any]:
        judgement = await judge.judge(row["question"], row["formal"], row["answer"])
        return {**row, "verdict": judgement.verdict, "steps": [step.to_json() for step in judgement.steps]}

    async def judge_all() -> list[dict[str, Any]]:
        return await asyncio.gather(*map(judged, map(json.loads, FORMALISED.read_text().splitlines())))

    return asyncio.run(judge_all())


def test_formalised_answers_of_every_kind(formalised: list[dict[str, Any]]) -> None:
    gold = read_gold(str(FORMALISED), formalised)
    found = {(item.kind, item.label, item.outcome) for item in answers(formalised, gold)}
    assert found == {
        ("none", "verified", "verified"),
        ("quantity", "false", "false"),
        ("answer", "false", "false"),
        ("step", "error", "error"),
    }
    assert Counter(gold[row["id"]].kind for row in formalised) == {"none": 4, "step": 4, "quantity": 4, "answer": 4}
    compared = steps(formalised, gold)
    assert wrong(compared) == []
    # The step after the gap calculates with the number that is missing.
    assert {(item.id, item.step, item.reason) for item in compared if item.label == "error"} == {
        ("gsm8k-test-4", 1, "unstated"),
        ("gsm8k-test-18", 2, "unstated"),
        ("gsm8k-test-24", 1, "unstated"),
        ("gsm8k-test-33", 1, "unstated"),
    }


def test_formalised_answers_are_those_of_the_set() -> None:
    chains = {row["id"]: row for row in map(json.loads, CHAINS.read_text().splitlines())}
    for row in map(json.loads, FORMALISED.read_text().splitlines()):
        assert {key: value for key, value in row.items() if key != "formal"} == chains[row["id"]]
