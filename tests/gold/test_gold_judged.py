"""The labelled set judged without a model, by real Lean: what the README says of it."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from data_gen.agreement import scores, steps, summary, wrong
from data_gen.calculated import judge_calculations
from data_gen.gold import read_gold
from gold.build import CHAINS
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
    compared = steps(judged, read_gold(CHAINS, judged))
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
