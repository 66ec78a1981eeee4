from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from rltpf.llm.cached import CachedModel
from rltpf.llm.model import Completion, Message, Request
from rltpf.llm.settings import LLMConfig, Roles
from rltpf.llm.transcript import Transcript
from rltpf.llm.usage import Account, Usage
from rltpf.progress import Progress

REPLY = Completion("4", prompt_tokens=3000, completion_tokens=500)
PRICED = LLMConfig(
    model="m",
    prompt_price=2.0,
    completion_price=8.0,
    roles=Roles.model_validate(
        {
            "judge": {"temperature": 0.0},
            "solver": {"model": "own", "prompt_price": 0.5, "completion_price": 0.0},
            "prover": {"base_url": "http://localhost/v1"},
            "generator": {"backend": "replay", "transcript": Path("t.jsonl")},
        }
    ),
)


@pytest.mark.parametrize(
    ("role", "cost"),
    [("formaliser", 0.010), ("judge", 0.010), ("solver", 0.0015), ("prover", None), ("generator", 0.0)],
)
def test_a_reply_costs_what_its_roles_model_costs(role: str, cost: float | None) -> None:
    """3000 and 500 tokens at 2 and 8 a million; another model or server inherits no price, and replays are free."""
    assert PRICED.cost(role, REPLY) == (None if cost is None else pytest.approx(cost))


def test_one_price_alone_is_no_cost() -> None:
    assert LLMConfig(model="m", prompt_price=2.0).cost("judge", REPLY) is None


def test_accounts_add_up_and_cached_replies_cost_nothing() -> None:
    usage = Usage(PRICED.cost)
    for role in ("judge", "judge", "solver"):
        usage.count(role, REPLY)
    usage.count("judge", Completion("4", prompt_tokens=3000, completion_tokens=500, cached=True))
    usage.count("solver", None)
    assert usage.roles["judge"] == Account(2, 1, 0, 6000, 1000, pytest.approx(0.020))
    assert usage.roles["solver"] == Account(1, 0, 1, 3000, 500, pytest.approx(0.0015))
    assert usage.total == Account(3, 1, 1, 9000, 1500, pytest.approx(0.0215))
    assert usage.to_json()["solver"]["cost"] == pytest.approx(0.0015)


def test_what_an_unpriced_model_answered_makes_the_total_unknown() -> None:
    usage = Usage(PRICED.cost)
    usage.count("judge", REPLY)
    usage.count("prover", Completion("4", cached=True))
    assert usage.total.cost == pytest.approx(0.010)
    usage.count("prover", REPLY)
    assert usage.roles["prover"].cost is None
    assert usage.total.cost is None


def test_a_second_start_costs_nothing(tmp_path: Path) -> None:
    class Paid:
        name = "m"

        async def complete(self, request: Request) -> Completion:
            return REPLY

        async def close(self) -> None:
            pass

    async def start() -> float | None:
        model = CachedModel(Paid(), Transcript(tmp_path / "t.jsonl"), usage=Usage(PRICED.cost))
        await model.complete(Request("judge", (Message("user", "2 + 2?"),)))
        await model.close()
        return model.usage.total.cost

    assert asyncio.run(start()) == pytest.approx(0.010)
    assert asyncio.run(start()) == 0.0


def test_the_progress_line_tells_a_cost_that_is_known() -> None:
    usage = Usage(PRICED.cost)
    progress = Progress("rows", usage=usage, stream=io.StringIO())
    assert progress.line().endswith("0 calls (0 cached), 0 tokens")
    usage.count("judge", REPLY)
    assert progress.line().endswith("1 calls (0 cached), 3,500 tokens, cost 0.0100")
    usage.count("prover", REPLY)
    assert progress.line().endswith("2 calls (0 cached), 7,000 tokens")
