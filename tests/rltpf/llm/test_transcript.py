from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import Completion, Message, ModelError, Request, Sampling
from rltpf.llm.replay import ReplayModel
from rltpf.llm.settings import LLMConfig
from rltpf.llm.structured import MalformedReply, complete_json, read_json
from rltpf.llm.transcript import Transcript, exchange, request_key

ASK = Request(
    "judge",
    (Message("system", "Be short."), Message("user", "How much is two and two, said Ann, and who asks?")),
    Sampling(0.5, 1.0, 64, 7),
    {"type": "object"},
    attempt=1,
)


class Fake:
    """Answers by a function of the request and counts."""

    name = "m"

    def __init__(self, answer: Callable[[Request], str] = lambda request: "4", wait: float = 0.0) -> None:
        self.asked: list[Request] = []
        self._answer = answer
        self._wait = wait

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        await asyncio.sleep(self._wait)
        return Completion(self._answer(request), "stop", 10, 1)

    async def close(self) -> None:
        pass


def test_the_key_covers_all_that_decides_the_reply_and_not_the_role() -> None:
    others = [
        replace(ASK, messages=ASK.messages[:1]),
        replace(ASK, messages=(Message("user", "Be short."), ASK.messages[1])),
        replace(ASK, sampling=Sampling(0.6, 1.0, 64, 7)),
        replace(ASK, sampling=Sampling(0.5, 0.9, 64, 7)),
        replace(ASK, sampling=Sampling(0.5, 1.0, 65, 7)),
        replace(ASK, sampling=Sampling(0.5, 1.0, 64, None)),
        replace(ASK, schema=None),
        replace(ASK, attempt=0),
    ]
    keys = {request_key("m", request) for request in [ASK, *others]} | {request_key("n", ASK)}
    assert len(keys) == 10
    assert request_key("m", replace(ASK, role="solver")) == request_key("m", ASK)
    whole = replace(ASK, sampling=Sampling(0, 1, 64, 7))
    assert request_key("m", whole) == request_key("m", replace(ASK, sampling=Sampling(0.0, 1.0, 64, 7)))


def test_keys_stay_what_they_are() -> None:
    """Transcripts are kept, and shared: their keys may not change."""
    assert request_key("m", ASK) == "4a7ac8b58de9aab4"
    assert request_key("m", Request("judge", (Message("user", "2 + 2?"),))) == "6761c7dce0ca809c"


def test_logprobs_have_a_key_of_their_own_and_are_recorded(tmp_path: Path) -> None:
    asked = replace(ASK, sampling=replace(ASK.sampling, logprobs=True))
    reply = Completion("4", "stop", 10, 1, logprobs=(("4", -0.5),))
    assert request_key("m", asked) != request_key("m", ASK)
    for number in range(2):
        transcript = Transcript(tmp_path / "t.jsonl")
        if number == 0:
            transcript.add("m", asked, reply)
            transcript.add("m", ASK, Completion("4"))
        assert transcript.get("m", asked) == replace(reply, cached=True)
        transcript.close()
    first, second = (json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines())
    assert (first["request"]["sampling"]["logprobs"], first["completion"]["logprobs"]) == (True, [["4", -0.5]])
    assert "logprobs" not in {**second["request"]["sampling"], **second["completion"]}


def test_the_transcript_is_the_cache_of_the_next_start(tmp_path: Path) -> None:
    async def once() -> tuple[Completion, Fake, Any]:
        backend = Fake()
        model = CachedModel(backend, Transcript(tmp_path / "t.jsonl"))
        reply = await model.complete(ASK)
        await model.close()
        return reply, backend, model.usage.to_json()

    first, backend, usage = asyncio.run(once())
    assert (first, len(backend.asked)) == (Completion("4", "stop", 10, 1, cached=False), 1)
    assert usage == {
        "judge": {"calls": 1, "cached": 0, "failed": 0, "prompt_tokens": 10, "completion_tokens": 1, "cost": None}
    }
    second, backend, usage = asyncio.run(once())
    assert (second, len(backend.asked)) == (Completion("4", "stop", 10, 1, cached=True), 0)
    assert usage == {
        "judge": {"calls": 0, "cached": 1, "failed": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0}
    }
    (line,) = (tmp_path / "t.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert row["key"] == request_key("m", ASK)
    assert row["model"] == "m"
    assert Request.from_json(row["request"]) == ASK
    assert row["completion"] == {"text": "4", "finish_reason": "stop", "prompt_tokens": 10, "completion_tokens": 1}


def test_an_exchange_is_kept_before_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    seen = []

    async def main() -> None:
        model = CachedModel(Fake(), Transcript(path))
        await model.complete(ASK)
        seen.append(path.read_text().count("\n"))  # without closing anything

    asyncio.run(main())
    assert seen == [1]


def test_the_same_request_twice_in_flight_is_one_call(tmp_path: Path) -> None:
    async def main() -> tuple[list[Completion], int]:
        backend = Fake(wait=0.02)
        model = CachedModel(backend, Transcript(tmp_path / "t.jsonl"))
        return await asyncio.gather(*(model.complete(ASK) for _ in range(3))), len(backend.asked)

    replies, calls = asyncio.run(main())
    assert calls == 1
    assert [reply.cached for reply in replies] == [False, True, True]


def test_who_waited_for_an_asker_that_is_cancelled_asks_itself(tmp_path: Path) -> None:
    async def main() -> tuple[Completion, int]:
        backend = Fake(wait=0.05)
        model = CachedModel(backend, Transcript(tmp_path / "t.jsonl"))
        first = asyncio.create_task(model.complete(ASK))
        second = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0.01)
        first.cancel()
        return await second, len(backend.asked)

    assert asyncio.run(main()) == (Completion("4", "stop", 10, 1), 2)


def test_a_failed_request_is_counted_and_asked_again_later(tmp_path: Path) -> None:
    async def main() -> CachedModel:
        answers = iter([ModelError("gone"), "4"])

        def answer(request: Request) -> str:
            found = next(answers)
            if isinstance(found, ModelError):
                raise found
            return str(found)

        model = CachedModel(Fake(answer), Transcript(tmp_path / "t.jsonl"))
        with pytest.raises(ModelError, match="gone"):
            await model.complete(ASK)
        assert (await model.complete(ASK)).text == "4"
        return model

    total = asyncio.run(main()).usage.total
    assert (total.calls, total.failed) == (1, 1)


def record(path: Path, *requests: Request, model: str = "m") -> None:
    rows = [exchange(model, request, Completion(f"reply {n}", "stop", 1, 1)) for n, request in enumerate(requests)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def replay(path: Path, request: Request) -> Completion:
    return asyncio.run(ReplayModel(path, "m").complete(request))


def test_a_recorded_run_is_replayed_and_recorded_again(tmp_path: Path) -> None:
    record(tmp_path / "old.jsonl", ASK, replace(ASK, attempt=2))
    before = (tmp_path / "old.jsonl").read_bytes()
    config = LLMConfig(backend="replay", model="m", transcript=tmp_path / "old.jsonl")

    async def main() -> list[Completion]:
        model = build_model(config, tmp_path / "new.jsonl")
        replies = [await model.complete(replace(ASK, attempt=2)), await model.complete(ASK)]
        await model.close()
        return replies

    assert [reply.text for reply in asyncio.run(main())] == ["reply 1", "reply 0"]
    assert (tmp_path / "old.jsonl").read_bytes() == before
    new = sorted(json.loads(line)["key"] for line in (tmp_path / "new.jsonl").read_text().splitlines())
    assert new == sorted(request_key("m", replace(ASK, attempt=attempt)) for attempt in (1, 2))


def test_a_half_written_last_line_of_a_transcript_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    record(path, ASK, replace(ASK, attempt=2))
    path.write_bytes(path.read_bytes()[:-10])
    assert replay(path, ASK).text == "reply 0"
    with pytest.raises(ModelError):
        replay(path, replace(ASK, attempt=2))


OTHER = Request("solver", (Message("system", "Be short."), Message("user", "Something else altogether.")))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            replace(ASK, messages=(ASK.messages[0], Message("user", ASK.messages[1].content.replace("Ann", "Bob")))),
            "judge request: the nearest one, line 2 differs first in message 2 (user) at character 31: "
            "recorded 's two and two, said Ann, and who asks?', asked 's two and two, said Bob, and who asks?'",
        ),
        (
            replace(ASK, messages=ASK.messages[:1]),
            "judge request: the nearest one, line 2 has 2 messages, and this one 1",
        ),
        (
            replace(ASK, messages=(ASK.messages[0], Message("assistant", "4"))),
            "judge request: the nearest one, line 2 has a message of user as number 2, and this one of assistant",
        ),
        (
            replace(ASK, attempt=3),
            "judge request: the nearest one, line 2 has the same messages and differs in attempt (recorded 1, asked 3)",
        ),
        (
            replace(ASK, role="nobody", schema=None),
            "nobody request: the nearest one, line 2, asked by judge, has the same messages and "
            'differs in schema (recorded {"type":"object"}, asked null)',
        ),
    ],
)
def test_an_unknown_request_says_how_it_differs_from_the_nearest(tmp_path: Path, asked: Request, message: str) -> None:
    path = tmp_path / "t.jsonl"
    record(path, OTHER, ASK)
    with pytest.raises(ModelError) as caught:
        replay(path, asked)
    assert str(caught.value) == (
        f"{path}: a replay knows only the recorded questions, and has no reply to this {message}; "
        "take the recorded questions and settings, or a backend that answers"
    )


def test_wrong_transcripts_are_faults_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(InputError, match=r"t\.jsonl: No such file or directory: llm\.transcript names"):
        ReplayModel(path, "m")
    record(path, ASK, model="gpt")
    with pytest.raises(InputError, match=r"is a transcript of gpt, not of llm\.model m"):
        ReplayModel(path, "m")
    path.write_text('{"model": "m"}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:1: is no recorded exchange: lacks 'completion'"):
        ReplayModel(path, "m")


def number(value: Any) -> int:
    if not isinstance(value, dict) or not isinstance(value.get("n"), int):
        raise ValueError("n has to be an integer")
    return int(value["n"])


def test_a_malformed_reply_is_asked_for_again_with_another_attempt_and_seed() -> None:
    replies = ["no", '{"n": "4"}', 'Here:\n```json\n{"n": 4}\n```']
    backend = Fake(lambda request: replies[request.attempt - 1])
    assert asyncio.run(complete_json(backend, ASK, number)) == 4
    assert [request.attempt for request in backend.asked] == [1, 2, 3]
    assert len({request.sampling.seed for request in backend.asked}) == 3
    assert backend.asked[0] == ASK


def test_a_reply_that_stays_malformed_is_a_model_error() -> None:
    backend = Fake(lambda request: '{"n": "4"}')
    with pytest.raises(MalformedReply, match="2 replies did not obey the schema, the last one: n has to be an integer"):
        asyncio.run(complete_json(backend, replace(ASK, sampling=Sampling()), number, tries=2))
    assert [request.sampling.seed for request in backend.asked] == [None, None]


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"n": 1}', {"n": 1}), (" [1] \n", [1]), ("```\n1\n```", 1), ("```json\n1\n```\nno:\n```json\n2\n```", 2)],
)
def test_json_is_read_plain_or_from_the_last_fenced_block(text: str, value: Any) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "four", '{"n": 1', "```json\n{\n```"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="Expecting"):
        read_json(text)
