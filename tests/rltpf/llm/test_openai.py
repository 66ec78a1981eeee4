from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rltpf.errors import InputError
from rltpf.llm import openai as backend_module
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import Completion, Message, ModelError, ModelUnavailable, Request, Sampling
from rltpf.llm.openai import OpenAIModel
from rltpf.llm.settings import LLMConfig
from rltpf.llm.structured import complete_json
from rltpf.llm.transcript import Transcript

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
ASK = Request("judge", (Message("system", "Be short."), Message("user", "2 + 2?")), Sampling(0.5, 0.9, 7, 3))


def reply(text: str | None = "4", finish_reason: str = "stop") -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13},
    }


class Server(ThreadingHTTPServer):
    """Answers each request by the next entry of `script`, and by a good reply when it is used up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Any] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.bodies.append(body)
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        server.times.append(time.monotonic())
        act = server.script.pop(0) if server.script else reply()
        if callable(act):
            act = act(body)
        if act == "hang":
            server.released.wait(10)
            self.close_connection = True
        elif act == "break":
            self.close_connection = True
        elif act == "cut":  # a whole answer whose JSON is not
            self._send(200, json.dumps(reply())[:60].encode(), {})
        elif act == "half":  # an answer that ends before its announced length
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "500")
            self.end_headers()
            self.wfile.write(b'{"id": ')
            self.close_connection = True
        elif isinstance(act, tuple):
            status, message, headers = act
            error = {"message": message, "code": headers.pop("code", None)}
            self._send(status, json.dumps({"error": error}).encode(), headers)
        else:
            self._send(200, json.dumps(act).encode(), {})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(backend_module, "FIRST_WAIT", 0.01)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


def ask(server: Server, *requests: Request, **settings: Any) -> list[Completion | BaseException]:
    """The outcomes of requests made one after the other."""

    async def main() -> list[Completion | BaseException]:
        model = OpenAIModel(LLMConfig(**{"model": "m", "base_url": server.url, "retries": 3, **settings}))
        try:
            return [(await asyncio.gather(model.complete(request), return_exceptions=True))[0] for request in requests]
        finally:
            await model.close()

    return asyncio.run(main())


def test_a_request_is_sent_as_the_api_names_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")
    assert ask(server, ASK) == [Completion("4", "stop", 11, 2)]
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2 + 2?"}],
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "seed": 3,
        }
    ]
    assert server.headers[0]["authorization"] == "Bearer key-1"


def test_without_a_key_a_server_of_ones_own_is_asked_with_the_key_empty(server: Server) -> None:
    ask(server, ASK)
    assert server.headers[0]["authorization"] == "Bearer EMPTY"


def test_the_address_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert ask(server, ASK, base_url=None) == [Completion("4", "stop", 11, 2)]


def test_neither_key_nor_address_is_a_fault_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        OpenAIModel(LLMConfig(model="m"))


@pytest.mark.parametrize(
    "fault",
    [
        (429, "slow down", {}),
        (500, "oops", {}),
        (503, "overloaded", {}),
        (408, "too slow", {}),
        "hang",
        "break",
        "cut",
        "half",
        reply(""),
        reply("  \n"),
        reply(None),
        {"choices": []},
        {},
    ],
    ids=str,
)
def test_a_passing_fault_is_tried_again(server: Server, fault: Any) -> None:
    server.script = [fault, fault]
    assert ask(server, ASK, timeout=0.3) == [Completion("4", "stop", 11, 2)]
    assert len(server.bodies) == 3
    assert server.bodies[0] == server.bodies[2]


def test_retry_after_is_honoured(server: Server) -> None:
    server.script = [(429, "slow down", {"retry-after": "0.4"})]
    ask(server, ASK)
    assert server.times[1] - server.times[0] >= 0.4


def test_retry_after_as_a_date_is_honoured(server: Server) -> None:
    import email.utils

    server.script = [lambda body: (503, "later", {"retry-after": email.utils.formatdate(time.time() + 2, usegmt=True)})]
    ask(server, ASK)
    # The date has whole seconds: between one and two are left of the two.
    assert 0.9 <= server.times[1] - server.times[0] <= 2.5


def test_waits_double_and_are_jittered_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "FIRST_WAIT", 0.5)
    draws = [[backend_module._wait(number, None) for _ in range(200)] for number in (1, 2, 3, 20)]
    for middle, waits in zip((0.5, 1.0, 2.0, 60.0), draws, strict=True):
        assert 0.5 * middle <= min(waits) < 0.7 * middle
        assert 1.3 * middle < max(waits) <= 1.5 * middle
    assert backend_module._wait(1, 10_000.0) == 600.0


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((401, "bad key: key-very-secret", {}), "refuses the key in OPENAI_API_KEY"),
        ((404, "no such model", {}), "has no model m (Error code: 404"),
        ((429, "pay", {"code": "insufficient_quota"}), "quota"),
    ],
    ids=["401", "404", "quota"],
)
def test_what_no_request_survives_ends_the_run_at_once(
    server: Server, fault: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-very-secret")
    server.script = [fault]
    (outcome,) = ask(server, ASK)
    assert isinstance(outcome, ModelUnavailable)
    assert message in str(outcome)
    assert server.url in str(outcome)
    assert "key-very-secret" not in repr(outcome)
    assert len(server.bodies) == 1


def test_a_refused_request_fails_alone(server: Server) -> None:
    server.script = [(400, "the prompt is too long", {})]
    first, second = ask(server, ASK, ASK)
    assert isinstance(first, ModelError)
    assert "the prompt is too long" in str(first)
    assert second == Completion("4", "stop", 11, 2)
    assert len(server.bodies) == 2


def test_a_dead_server_ends_the_run_after_the_retries(server: Server) -> None:
    server.script = ["break"] * 9
    (outcome,) = ask(server, ASK)
    assert isinstance(outcome, ModelUnavailable)
    assert "after 4 tries: connection failed" in str(outcome)
    assert len(server.bodies) == 4


def test_a_port_where_nobody_listens_ends_the_run(server: Server) -> None:
    (outcome,) = ask(server, ASK, base_url="http://127.0.0.1:9/v1", retries=1)
    assert isinstance(outcome, ModelUnavailable)
    assert "http://127.0.0.1:9/v1" in str(outcome)


def test_who_waits_for_a_dead_server_is_told_so_once_and_for_how_long(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two requests, four tries each; from the second try on, after 2, 4 s and so on, two tries are left."""
    monkeypatch.setattr(backend_module, "FIRST_WAIT", 2.0)
    monkeypatch.setattr(backend_module.random, "uniform", lambda low, high: 0.1)
    (first, second) = ask(server, ASK, replace(ASK, attempt=1), base_url="http://127.0.0.1:9/v1", retries=3)
    assert isinstance(first, ModelUnavailable)
    assert isinstance(second, ModelUnavailable)
    fault = str(first).partition("tries: ")[2].partition(";")[0]
    assert fault.startswith("connection failed (")
    line = f"m at http://127.0.0.1:9/v1/: {fault}: trying again, 2 times in about 12 s\n"
    assert capsys.readouterr().err == line


def test_the_notice_of_a_server_that_hangs_counts_its_time_outs(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten more tries of a quarter of a second, and hundredths between them."""
    server.script = ["hang", reply()]
    monkeypatch.setattr(backend_module, "LONGEST_WAIT", 0.01)
    assert ask(server, ASK, timeout=0.25, retries=10) == [Completion("4", "stop", 11, 2)]
    line = f"m at {server.url}/: time-out after 0.25 s: trying again, 10 times in about 3 s\n"
    assert capsys.readouterr().err == line


def test_a_fault_that_passes_at_once_is_not_worth_a_line(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.script = [(503, "busy", {}), "break", reply()]
    assert ask(server, ASK) == [Completion("4", "stop", 11, 2)]
    assert len(server.bodies) == 3
    assert capsys.readouterr().err == ""


def test_a_request_that_only_fails_itself_is_an_error_of_its_item(server: Server) -> None:
    """While one request times out again and again, others are answered: the server lives."""

    def judge(body: dict[str, Any]) -> Any:
        return "hang" if body["messages"][0]["content"] == "endless" else reply()

    async def main() -> tuple[Any, list[Any]]:
        config = LLMConfig(model="m", base_url=server.url, retries=1, timeout=0.3)
        model = OpenAIModel(config)
        endless = asyncio.ensure_future(model.complete(Request("judge", (Message("user", "endless"),))))
        others = []
        while not endless.done():
            others.append(await model.complete(ASK))
            await asyncio.sleep(0.02)
        outcome = (await asyncio.gather(endless, return_exceptions=True))[0]
        await model.close()
        return outcome, others

    server.script = [judge] * 500
    outcome, others = asyncio.run(main())
    assert isinstance(outcome, ModelError)
    assert "time-out after 0.3 s" in str(outcome)
    assert others


def test_an_empty_reply_that_was_cut_says_how_to_mend_it(server: Server) -> None:
    server.script = [reply("", "length")] * 4
    (outcome,) = ask(server, ASK)
    assert isinstance(outcome, ModelError)
    assert "raise llm.max_tokens" in str(outcome)


def with_schema() -> Request:
    return Request("judge", ASK.messages, schema=SCHEMA)


def formats(server: Server) -> list[bool]:
    return ["response_format" in body for body in server.bodies]


def test_a_schema_is_sent_as_response_format(server: Server) -> None:
    ask(server, with_schema())
    expected = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
    assert server.bodies[0]["response_format"] == expected


def test_a_server_that_refuses_schemas_with_400_is_asked_without_from_then_on(server: Server) -> None:
    server.script = [(400, "response_format is not supported", {})]
    outcomes = ask(server, with_schema(), with_schema())
    assert outcomes == [Completion("4", "stop", 11, 2)] * 2
    assert formats(server) == [True, False, False]


def test_a_server_that_refuses_schemas_with_500_is_asked_without_after_three_tries(server: Server) -> None:
    server.script = [(500, "grammar", {})] * 3
    outcomes = ask(server, with_schema(), with_schema())
    assert outcomes == [Completion("4", "stop", 11, 2)] * 2
    assert formats(server) == [True, True, True, False, False]


def test_a_server_that_took_a_schema_keeps_getting_it(server: Server) -> None:
    server.script = [reply(), *[(500, "oops", {})] * 3, reply(), (400, "too long", {})]
    first, second, third = ask(server, with_schema(), with_schema(), with_schema())
    assert first == second == Completion("4", "stop", 11, 2)
    assert isinstance(third, ModelError)
    assert formats(server) == [True] * 6


def test_a_model_that_declines_to_answer_fails_its_request_at_once(server: Server) -> None:
    declined = reply(None)
    declined["choices"][0]["message"]["refusal"] = "I cannot\nhelp with that."
    server.script = [declined]
    (outcome,) = ask(server, with_schema())
    assert isinstance(outcome, ModelError)
    assert str(outcome) == "m declines to answer: I cannot help with that."
    assert len(server.bodies) == 1


class Number(BaseModel):
    n: int


def numbers(server: Server, transcript: Path, *requests: Request) -> list[Number | BaseException]:
    """One start of a run that asks for JSON, one request after the other."""

    async def main() -> list[Number | BaseException]:
        model = CachedModel(OpenAIModel(LLMConfig(model="m", base_url=server.url, retries=0)), Transcript(transcript))
        outcomes = []
        for request in requests:
            asked = complete_json(model, request, Number.model_validate)
            outcomes += await asyncio.gather(asked, return_exceptions=True)
        await model.close()
        return outcomes

    return asyncio.run(main())


JSON = Request("judge", ASK.messages, ASK.sampling, Number.model_json_schema())


@pytest.mark.parametrize("takes_schemas", [True, False])
def test_json_is_asked_for_until_it_obeys_and_then_never_again(
    server: Server, tmp_path: Path, takes_schemas: bool
) -> None:
    script = [reply("four"), reply('{"n": "four"}'), reply('```json\n{"n": 4}\n```')]
    server.script = [*([] if takes_schemas else [(400, "no response_format here", {})]), *script]
    for _ in range(2):
        assert numbers(server, tmp_path / "t.jsonl", JSON) == [Number(n=4)]
    sent = server.bodies[-3:]
    assert len(server.bodies) == 3 + (not takes_schemas)
    assert [body["seed"] for body in sent] == [3, 1_000_006, 2_000_009]
    assert ["response_format" in body for body in sent] == [takes_schemas] * 3


def test_json_that_never_obeys_is_an_error_of_its_item_and_is_not_paid_twice(server: Server, tmp_path: Path) -> None:
    server.script = [reply("four")] * 2 + [reply('{"n": ', "length"), reply('{"n": 5}')]
    other = replace(JSON, messages=ASK.messages[:1])
    for _ in range(2):
        malformed, good = numbers(server, tmp_path / "t.jsonl", JSON, other)
        assert isinstance(malformed, ModelError)
        assert str(malformed) == (
            "3 replies did not obey the schema, the last one: "
            "cut off at max_tokens 7: Expecting value: line 1 column 7 (char 6)"
        )
        assert good == Number(n=5)
    assert len(server.bodies) == 4


def test_samples_are_asked_for_with_a_seed_each_and_are_cached_each(server: Server, tmp_path: Path) -> None:
    async def start() -> list[Completion]:
        model = CachedModel(OpenAIModel(LLMConfig(model="m", base_url=server.url)), Transcript(tmp_path / "t.jsonl"))
        replies = [await model.complete(ASK.sample(number)) for number in range(4)]
        await model.close()
        return replies

    server.script = [lambda body: reply(f"sample of seed {body['seed']}")] * 4
    first, second = asyncio.run(start()), asyncio.run(start())
    assert [reply.text for reply in first] == [f"sample of seed {seed}" for seed in (3, 4, 5, 6)]
    assert [replace(reply, cached=True) for reply in first] == second
    assert len(server.bodies) == 4


def with_logprobs() -> Request:
    return Request("judge", ASK.messages, Sampling(0.5, 0.9, 7, 3, logprobs=True))


@pytest.mark.parametrize("ending", [[], [{"token": "<|im_end|>", "logprob": -1}], [{"token": "", "logprob": -1}]])
def test_logprobs_are_asked_for_and_read(server: Server, ending: list[dict[str, Any]]) -> None:
    good = reply("4!")
    good["choices"][0]["logprobs"] = {
        "content": [
            {"token": "4", "logprob": -0.25, "bytes": [52], "top_logprobs": []},
            {"token": "!", "logprob": 0, "bytes": None, "top_logprobs": []},
            *ending,
        ]
    }
    server.script = [good, good]
    asked, unasked = ask(server, with_logprobs(), ASK)
    assert asked == Completion("4!", "stop", 11, 2, logprobs=(("4", -0.25), ("!", 0.0)))
    assert unasked == Completion("4!", "stop", 11, 2)
    assert [body.get("logprobs") for body in server.bodies] == [True, None]


@pytest.mark.parametrize("sent", [None, {}, {"content": None}, {"content": []}])
def test_a_server_that_sends_no_logprobs_ends_the_run(server: Server, sent: Any) -> None:
    bare = reply()
    bare["choices"][0]["logprobs"] = sent
    server.script = [bare]
    (outcome,) = ask(server, with_logprobs())
    assert isinstance(outcome, ModelUnavailable)
    assert str(outcome) == f"{server.url}/ sends no logprobs for m: ask another server"


def test_waiting_for_a_rate_limit_is_no_time_out_and_holds_no_slot(server: Server) -> None:
    def slow(body: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.1)
        return reply()

    async def main() -> list[Completion]:
        config = LLMConfig(model="m", base_url=server.url, timeout=0.5, retries=0, requests_per_minute=60)
        model = OpenAIModel(config)
        replies = asyncio.gather(model.complete(ASK), model.complete(ASK))
        await asyncio.sleep(0.5)
        # The first one is answered, the second waits for its minute's share, and all slots are free.
        assert (len(server.bodies), model._slots._value) == (1, config.max_concurrent)
        try:
            return await replies
        finally:
            await model.close()

    server.script = [slow, slow]
    assert asyncio.run(main()) == [Completion("4", "stop", 11, 2)] * 2
    assert 0.9 <= server.times[1] - server.times[0] <= 2.0


@pytest.mark.parametrize(
    ("asked", "first"), [(ASK, (500, "oops", {})), (with_schema(), (400, "response_format is not supported", {}))]
)
def test_every_try_draws_from_the_rate_limit(server: Server, asked: Request, first: tuple[Any, ...]) -> None:
    server.script = [first]
    assert ask(server, asked, requests_per_minute=60) == [Completion("4", "stop", 11, 2)]
    assert server.times[1] - server.times[0] >= 0.9


def test_tokens_are_booked_as_the_server_counts_them(server: Server) -> None:
    """Estimated at 1003 each, these would take a minute and a half each; the server counts 13."""
    lavish = Request("judge", ASK.messages, Sampling(0.5, 0.9, 1000, 3))
    assert ask(server, lavish, lavish, tokens_per_minute=660) == [Completion("4", "stop", 11, 2)] * 2
    assert server.times[1] - server.times[0] <= 3.0


def test_no_more_requests_at_once_than_allowed(server: Server) -> None:
    lock = threading.Lock()
    now, most = 0, 0

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1
        return reply()

    async def main() -> None:
        model = OpenAIModel(LLMConfig(model="m", base_url=server.url, max_concurrent=3))
        await asyncio.gather(*(model.complete(ASK) for _ in range(9)))
        await model.close()

    server.script = [slow] * 9
    asyncio.run(main())
    assert most == 3
