"""A Kimina Lean Server as the judge: before real Lean, and before servers that lie, stop and drop."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kimina_server import TRIAL, LeanBehind, Reply, Script, failed, good, info, message, said, serving

from rltpf.cli import main
from rltpf.errors import InputError, RunError
from rltpf.prover import build_prover, kimina, toolchains
from rltpf.prover import prover as prover_module
from rltpf.prover.answer import Answer, WorkerError
from rltpf.prover.kimina import KiminaWorker
from rltpf.prover.prover import Prover, limited
from rltpf.prover.report import Report
from rltpf.prover.settings import ProverConfig
from rltpf.prover.snippet import Request, answers, imports_of, judge_snippet, literal
from rltpf.prover.toolchains import find_toolchain
from rltpf.sandbox.command import Limits

Answering = Callable[[dict[str, Any], str, list[dict[str, Any]]], Reply]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kimina, "FIRST_WAIT", 0.01)
    monkeypatch.delenv(kimina.KEY, raising=False)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def worker(script: Script) -> Iterator[KiminaWorker]:
    with serving(script.run) as url:
        worker = KiminaWorker(url, 60)
        yield worker
        worker.close()


def ask(worker: KiminaWorker, name: str = "t", submission: str = "", header: str = "") -> Answer:
    return worker.ask("check", {"header": header, "statement": name, "submission": submission})


def ask_all(worker: KiminaWorker, submissions: list[str], header: str = "") -> list[Answer | WorkerError]:
    """What several threads are told that ask at once; each statement is the number of its thread."""
    barrier = threading.Barrier(len(submissions))

    def one(number: int) -> Answer | WorkerError:
        barrier.wait()
        try:
            return ask(worker, str(number), submissions[number], header)
        except WorkerError as error:
            return error

    with ThreadPoolExecutor(len(submissions)) as threads:
        return list(threads.map(one, range(len(submissions))))


def whose(outcomes: list[Answer | WorkerError]) -> list[str]:
    return [outcome.detail if isinstance(outcome, Answer) else outcome.reason for outcome in outcomes]


# --- The snippet


@pytest.fixture
def gathering(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests made at the same time arrive far apart on a busy machine."""
    monkeypatch.setattr(kimina, "GATHER_SECONDS", 0.7)


@given(st.text())
def test_a_literal_is_one_line_and_stands_for_its_text(text: str) -> None:
    assert len(literal(text).splitlines()) == 1
    # Of the escapes of Lean and of JSON only common ones are used.
    assert json.loads(literal(text)) == text


@given(st.text())
def test_a_submission_stays_inside_its_literal(submission: str) -> None:
    def snippet(text: str) -> list[str]:
        request = ("check", {"header": "", "statement": text, "submission": text})
        return judge_snippet(["import Lean"], "judge", [request], "T", ["1"], 0).splitlines()

    place = next(i for i, line in enumerate(snippet("")) if ".mkSimple" in line)
    lines, empty = snippet(submission), snippet("")
    assert lines[:place] + lines[place + 1 :] == empty[:place] + empty[place + 1 :]
    # Neither a quotation mark nor a backslash of the text is there to end the literal or to escape its end.
    assert lines[place].count('"') - empty[place].count('"') == 0


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ("import Lean",)),
        ("import Mathlib\n\n  import Lean\nopen Nat\nimport Late", ("import Lean", "import Mathlib")),
        ("import Std def x := 1", ("import Lean",)),
        ("import Std\u2028axiom x : False", ("import Lean", "import Std")),
    ],
)
def test_imports(header: str, expected: tuple[str, ...]) -> None:
    assert imports_of(header) == expected


# --- Answers


def test_threads_share_snippets_and_each_gets_its_own_answer(worker: KiminaWorker, script: Script) -> None:
    assert whose(ask_all(worker, [""] * 40)) == [str(number) for number in range(40)]
    sizes = [len(batch) for batch in script.batches]
    assert sum(sizes) == 40
    assert max(sizes) == 16
    assert len(sizes) <= 6


def test_an_answer_is_the_judges(worker: KiminaWorker) -> None:
    accepted, refused = ask(worker, "t", "exact h"), ask(worker, "t", "sorry")
    assert (accepted.ok, accepted.reason, accepted.seconds) == (True, "ok", 0.25)
    assert (refused.ok, refused.reason) == (False, "axioms")


def test_other_imports_take_another_snippet(worker: KiminaWorker, script: Script) -> None:
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda header: ask(worker, header=header), ("", "import Std\nopen Nat")))
    codes = sorted(request["snippets"][0]["code"] for request in script.requests)
    assert [code.partition("\nset_option")[0] for code in codes] == ["import Lean\nimport Std", "import Lean"]


@pytest.mark.usefixtures("gathering")
def test_one_that_hangs_costs_the_others_nothing(worker: KiminaWorker, script: Script) -> None:
    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        if "hang" in json.dumps(batch):
            return failed(body, f"Lean REPL command timed out in {body['timeout']} seconds")
        return said(body, message(token, batch))

    script.answer = answer
    assert whose(ask_all(worker, ["", "hang", ""])) == ["0", "timeout", "2"]
    # All together, and each alone; what hangs alone is not tried again.
    assert [len(batch) for batch in script.batches] == [3, 1, 1, 1]


@pytest.mark.usefixtures("gathering")
def test_what_was_not_begun_in_time_goes_next(worker: KiminaWorker, script: Script) -> None:
    script.answer = lambda body, token, batch: said(body, message(token, batch[:3]))
    assert whose(ask_all(worker, [""] * 8)) == [str(number) for number in range(8)]
    assert [len(batch) for batch in script.batches] == [8, 5, 2]


@pytest.mark.usefixtures("gathering")
def test_requests_wait_together_while_the_server_has_enough_to_do(worker: KiminaWorker, script: Script) -> None:
    asked, free = threading.Event(), threading.Event()

    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        asked.set()
        free.wait(30)
        return said(body, message(token, batch))

    script.answer = answer
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(ask, worker)
        assert asked.wait(10)
        others = [threads.submit(ask, worker, str(number)) for number in range(8)]
        time.sleep(0.3)
        free.set()
        assert whose([future.result(10) for future in others]) == [str(number) for number in range(8)]
        assert first.result(10).ok
    assert [len(batch) for batch in script.batches] == [1, 8]


@pytest.mark.usefixtures("gathering")
def test_several_snippets_at_once_if_so_many_are_allowed(script: Script) -> None:
    both = threading.Barrier(2)

    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        both.wait(10)
        return said(body, message(token, batch))

    script.answer = answer
    with serving(script.run) as url:
        worker = KiminaWorker(url, 60, snippets=2)
        assert whose(ask_all(worker, [""] * 32)) == [str(number) for number in range(32)]
        worker.close()
    assert [len(batch) for batch in script.batches] == [16, 16]


def test_a_batch_that_is_too_long_goes_one_by_one(worker: KiminaWorker, script: Script) -> None:
    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        return failed(body, "Lean REPL command timed out") if len(batch) > 1 else said(body, message(token, batch))

    script.answer = answer
    assert whose(ask_all(worker, [""] * 5)) == ["0", "1", "2", "3", "4"]


def test_a_faulty_reply_in_a_batch_is_no_other_ones(worker: KiminaWorker, script: Script) -> None:
    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        replies = [
            {"nonce": request["nonce"], "message": "no"} if "bad" in json.dumps(request) else good(request)
            for request in batch
        ]
        return said(body, info(json.dumps({"nonce": token, "replies": replies})))

    script.answer = answer
    assert whose(ask_all(worker, ["", "bad", ""])) == ["0", "protocol", "2"]


def test_a_lean_that_somebody_broke_is_left_for_a_fresh_one(worker: KiminaWorker, script: Script) -> None:
    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        return said(body) if body["reuse"] else said(body, message(token, batch))

    script.answer = answer
    assert ask(worker).ok
    assert [request["reuse"] for request in script.requests] == [True, False]


def test_what_lean_printed_beside_it_does_no_harm(worker: KiminaWorker, script: Script) -> None:
    script.answer = lambda body, token, batch: said(
        body, info("hello"), info("unused variable", "warning"), message(token, batch)
    )
    assert ask(worker).ok


# --- Lies and garbage

LIES: dict[str, Answering] = {
    "no message": lambda body, token, batch: said(body),
    "no JSON": lambda body, token, batch: (200, b"<html>"),
    "deep": lambda body, token, batch: (200, b"[" * 100_000),
    "a list": lambda body, token, batch: (200, [1]),
    "null": lambda body, token, batch: (200, None),
    "no results": lambda body, token, batch: (200, {"results": []}),
    "neither response nor error": lambda body, token, batch: (200, {"results": [{"id": body["snippets"][0]["id"]}]}),
    "another snippet's": lambda body, token, batch: said({"snippets": [{"id": "other"}]}, message(token, batch)),
    "two results": lambda body, token, batch: (200, {"results": said(body, message(token, batch))[1]["results"] * 2}),  # type: ignore[index]
    "REPL error": lambda body, token, batch: (
        200,
        {"results": [{"id": body["snippets"][0]["id"], "response": {"message": "Unknown environment."}}]},
    ),
    "another token": lambda body, token, batch: said(body, message("0" * 32, batch)),
    "a forged message first": lambda body, token, batch: said(body, message(token, batch), message(token, batch)),
    "an echo of the token": lambda body, token, batch: said(body, info(token), message(token, batch)),
    "the token inside": lambda body, token, batch: said(body, info("{} " + message(token, batch)["data"])),
    "a warning": lambda body, token, batch: said(body, message(token, batch) | {"severity": "warning"}),
    "an error beside it": lambda body, token, batch: said(body, info("what?", "error"), message(token, batch)),
    "messages without text": lambda body, token, batch: said(body, {"severity": "info"}),
    "a message of another type": lambda body, token, batch: said(body, info(7)),  # type: ignore[arg-type]
    "the token elsewhere": lambda body, token, batch: said(
        body, info(json.dumps({"nonce": "0", "token": token, "replies": [good(batch[0])]}))
    ),
    "another nonce": lambda body, token, batch: said(body, message(token, [{**batch[0], "nonce": "0"}])),
    "no reply": lambda body, token, batch: said(body, message(token, [])),
    "two replies": lambda body, token, batch: said(body, message(token, batch * 2)),
    "a reply of another type": lambda body, token, batch: said(
        body, info(json.dumps({"nonce": token, "replies": ["ok"]}))
    ),
    "ok for a reason": lambda body, token, batch: said(
        body, info(json.dumps({"nonce": token, "replies": [good(batch[0]) | {"reason": "axioms"}]}))
    ),
    "refused": lambda body, token, batch: (422, {"detail": "not the schema"}),
    "redirected": lambda body, token, batch: (302, b""),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_what_is_not_plain_is_no_verdict(worker: KiminaWorker, script: Script, lie: Answering) -> None:
    script.answer = lie
    with pytest.raises(WorkerError) as caught:
        ask(worker)
    assert caught.value.reason == "protocol"
    assert [request["reuse"] for request in script.requests] == [True, False]


def test_replies_in_another_order_are_no_verdicts(worker: KiminaWorker, script: Script) -> None:
    script.answer = lambda body, token, batch: said(body, message(token, batch[::-1]))
    # Alone there is no other order.
    assert whose(ask_all(worker, ["", "sorry", ""])) == ["0", "1", "2"]
    assert [len(batch) for batch in script.batches].count(1) >= 2


def test_a_reply_without_end_is_cut(worker: KiminaWorker, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kimina, "REPLY_BYTES", 1 << 20)
    script.answer = lambda body, token, batch: (200, b" " * (2 << 20))
    with pytest.raises(WorkerError, match="longer than 1 MiB"):
        ask(worker)


# --- Faults that may pass


@pytest.mark.parametrize("fault", [0, 429, 500, 503])
def test_a_passing_fault_is_waited_for(worker: KiminaWorker, script: Script, fault: int) -> None:
    script.answer = lambda body, token, batch: (
        (fault, {"detail": "busy"}) if len(script.requests) < 3 else said(body, message(token, batch))
    )
    assert ask(worker).ok
    assert len(script.requests) == 3


@pytest.mark.parametrize("fault", [0, 429, 500])
def test_a_lasting_fault_is_no_verdict(worker: KiminaWorker, script: Script, fault: int) -> None:
    script.answer = lambda body, token, batch: (fault, {"detail": "busy"})
    with pytest.raises(WorkerError, match="after 4 tries") as caught:
        ask(worker)
    assert (caught.value.reason, len(script.requests)) == ("crash", kimina.TRIES)


@pytest.mark.usefixtures("gathering")
def test_a_request_that_ends_lean_costs_the_others_nothing(worker: KiminaWorker, script: Script) -> None:
    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        return (500, {"detail": "boom"}) if "bomb" in json.dumps(batch) else said(body, message(token, batch))

    script.answer = answer
    assert whose(ask_all(worker, ["", "bomb", ""])) == ["0", "crash", "2"]
    # The batch is not tried again: alone the others have their verdicts at once.
    assert [len(batch) for batch in script.batches] == [3, *[1] * (2 + kimina.TRIES)]


def test_nobody_there_is_no_verdict() -> None:
    with serving(Script().run) as url:
        pass
    worker = KiminaWorker(url, 60)
    try:
        with pytest.raises(WorkerError, match="after 4 tries") as caught:
            ask(worker)
        assert caught.value.reason == "crash"
    finally:
        worker.close()


def test_imports_that_take_too_long_are_not_the_submissions_fault(worker: KiminaWorker, script: Script) -> None:
    script.answer = lambda body, token, batch: failed(body, "Lean REPL header command timed out in 120 seconds")
    with pytest.raises(WorkerError) as caught:
        ask(worker)
    assert caught.value.reason == "crash"


def test_a_server_that_is_silent_is_given_up(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kimina, "QUEUE_SECONDS", -120.8)
    silence = threading.Event()

    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        silence.wait(30)
        return 0, None

    script.answer = answer
    with serving(script.run) as url:
        worker = KiminaWorker(url, 0.5)  # 0.5 + 60 s for Lean, rounded up, twice, and the queue: 1.2 s
        try:
            began = time.monotonic()
            with pytest.raises(WorkerError, match="no answer within") as caught:
                ask(worker)
            assert time.monotonic() - began < 10
            assert (caught.value.reason, len(script.requests)) == ("crash", 1)
        finally:
            silence.set()
            worker.close()


def test_lean_has_the_requests_time_and_the_judges(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kimina, "GATHER_SECONDS", 0.5)
    with serving(script.run) as url:
        worker = KiminaWorker(url, 70.5)
        ask(worker)
        worker.try_out("")
        ask(worker)
        ask_all(worker, ["", ""])
        worker.close()
    # First a minute for the judge, then four times what it took; in a batch time to begin the last request.
    assert [request["timeout"] for request in script.requests] == [131, 73, 83]


def test_imports_have_time_even_where_requests_have_little(script: Script) -> None:
    with serving(script.run) as url:
        worker = KiminaWorker(url, 1)
        worker.try_out("")
        ask(worker)
        worker.close()
    assert script.requests[0]["timeout"] == kimina.IMPORT_SECONDS


def test_closing_ends_what_is_being_asked(worker: KiminaWorker, script: Script) -> None:
    asked, silence = threading.Event(), threading.Event()

    def answer(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        asked.set()
        silence.wait(30)
        return 0, None

    script.answer = answer
    try:
        with ThreadPoolExecutor(2) as threads:
            futures = [threads.submit(ask, worker) for _ in range(2)]
            assert asked.wait(10)
            worker.close()
            for future in futures:
                with pytest.raises(WorkerError, match="closed"):
                    future.result(5)
        with pytest.raises(WorkerError, match="closed"):
            ask(worker)
        worker.close()
    finally:
        silence.set()


# --- Setting up


def _build(url: str, **settings: Any) -> Prover:
    return build_prover(ProverConfig(toolchain="kimina", url=url, **{"cache": False, **settings}))


def _fault(url: str, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        asyncio.run(_build(url, **settings).close())
    (fault,) = caught.value.faults
    assert "\n" not in fault
    return fault


@pytest.mark.usefixtures("gathering")
def test_a_prover_behind_a_server(script: Script) -> None:
    async def check(prover: Prover) -> list[Report]:
        try:
            return await asyncio.gather(
                *(prover.check(f"theorem t : {n} = {n}", f"theorem t : {n} = {n} := rfl") for n in range(8))
            )
        finally:
            await prover.close()

    with serving(script.run) as url:
        reports = asyncio.run(check(_build(f"{url}/", workers=8)))
    assert [report.detail for report in reports] == [f"theorem t : {n} = {n}" for n in range(8)]
    assert all(report.verified for report in reports)
    assert reports[0].toolchain.startswith("kimina-lean4-4.28.0-mathlib-")
    assert [len(batch) for batch in script.batches] == [8]
    # Mathlib is what these servers have.
    assert script.requests[0]["snippets"][0]["code"].startswith("import Lean\nimport Mathlib\nset_option")


@pytest.mark.usefixtures("gathering")
def test_one_worker_asks_enough_at_once_to_fill_a_snippet(script: Script) -> None:
    async def check(prover: Prover) -> list[Report]:
        try:
            return await asyncio.gather(*(prover.elaborates(f"theorem t : {n} = {n}") for n in range(16)))
        finally:
            await prover.close()

    with serving(script.run) as url:
        assert all(report.verified for report in asyncio.run(check(_build(url))))
    assert [len(batch) for batch in script.batches] == [16]


def test_verdicts_are_kept_for_the_same_libraries_alone(
    script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path))
    monkeypatch.setenv(kimina.KEY, "s3cret")

    async def check(header: str | None) -> str:
        prover = _build(url, cache=True)
        try:
            report = await prover.check("theorem t : True", "theorem t : True := trivial", header)
            assert report.verified
        finally:
            await prover.close()
        return report.toolchain

    with serving(script.run, key="s3cret") as url:
        first = asyncio.run(check(None))
        assert (asyncio.run(check(None)), len(script.requests)) == (first, 1)
        # Of other modules the digest says nothing, so that their verdicts are not kept.
        asyncio.run(check("import Mathlib\nimport Mine"))
        asyncio.run(check("import Mathlib\nimport Mine"))
        assert len(script.requests) == 3
        script.libraries = "4.28.0, commit 0 1846 125260"
        assert asyncio.run(check(None)) != first
        assert len(script.requests) == 4
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not any(b"s3cret" in path.read_bytes() for path in kept)


def test_the_key_is_the_environments_and_never_shown(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(script.run, key="s3cret") as url:
        assert _fault(url) == f"prover.url: {url} refuses requests without a key: set LEAN_SERVER_API_KEY (status 401)"
        monkeypatch.setenv(kimina.KEY, "wr0ng")
        assert _fault(url) == f"prover.url: {url} refuses the key in LEAN_SERVER_API_KEY (status 401)"
        monkeypatch.setenv(kimina.KEY, "s3cret")
        asyncio.run(_build(url).close())
        monkeypatch.setenv(kimina.KEY, "s3 cret\n")
        assert "cret" not in _fault(url)


def test_a_server_that_repeats_the_key(script: Script) -> None:
    with serving(script.run) as url:
        worker = KiminaWorker(url, 60, key="s3cret")
        for reply in ((422, {"detail": "Bearer s3cret?"}), (500, {"detail": "s3cret"}), (200, ["s3cret"])):
            script.answer = lambda body, token, batch, reply=reply: reply  # type: ignore[misc]
            with pytest.raises(WorkerError) as caught:
                ask(worker)
            assert "***" in caught.value.detail
            assert "s3cret" not in caught.value.detail
        worker.close()


def test_a_key_that_expires_ends_the_run(worker: KiminaWorker, script: Script) -> None:
    script.answer = lambda body, token, batch: (403, {"detail": "expired"})
    for _ in range(2):
        with pytest.raises(RunError, match="refuses requests without a key"):
            ask(worker)


def test_addresses_that_are_none() -> None:
    addresses = (
        "localhost:8000",
        "http://",
        "ftp://localhost",
        "http://[::1",
        "http://localhost?x=1",
        "http://x:65536",
    )
    for address in addresses:
        assert "is no address" in _fault(address)
    fault = _fault("http://me:s3cret@localhost:8000")
    assert "must not hold a password" in fault
    assert "s3cret" not in fault


def _saying(reply: Callable[[dict[str, Any], str, list[dict[str, Any]]], Reply]) -> Callable[[dict[str, Any]], Reply]:
    """A server that answers a trial as told."""
    script = Script()

    def run(body: dict[str, Any]) -> Reply:
        code = body["snippets"][0]["code"]
        if TRIAL not in code:
            return script.run(body)
        block = json.loads(json.loads(code.rpartition(".mkSimple ")[2].partition(") {")[0]))
        return reply(body, block["nonce"], block["batch"])

    return run


def test_a_lean_that_does_not_know_the_judges_language_is_refused() -> None:
    with serving(_saying(lambda body, token, batch: said(body, info("unknown\n  constant `x`", "error")))) as url:
        fault = _fault(url)
    assert "does not judge" in fault
    assert "unknown constant `x` (its Lean is 4.28.0; the judge is written for 4.28.0)" in fault


def test_a_server_that_proves_everything_is_refused() -> None:
    def reply(body: dict[str, Any], token: str, batch: list[dict[str, Any]]) -> Reply:
        replies = [good(request) | {"ok": True, "reason": "ok"} for request in batch]
        return said(body, info(json.dumps({"nonce": token, "replies": replies})))

    with serving(_saying(reply)) as url:
        assert "its answer to a trial is ok" in _fault(url)


def test_a_server_of_another_kind_is_refused() -> None:
    with serving(lambda body: (404, {"detail": "Not Found"})) as url:
        assert "refuses the request (404" in _fault(url)
    assert "no answer" in _fault(url)


# --- The command


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    proofs = ("rfl", "by sorry")
    row = {"statement": "theorem t : 1 = 1"}
    path.write_text(
        "".join(json.dumps(row | {"id": p, "submission": f"theorem t : 1 = 1 := {p}"}) + "\n" for p in proofs)
    )
    return path


def _check(rows: Path, *options: str) -> int:
    return main(["lean", "check", str(rows), "--toolchain", "kimina", "--no_cache", *options])


def test_rows_are_checked_by_a_server(rows: Path, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(script.run) as url:
        assert _check(rows, "--url", url) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["id"], row["status"]) for row in found] == [("rfl", "verified"), ("by sorry", "rejected")]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (None, "no answer from http"),
        (lambda body: (200, b"<html>"), "the reply is no JSON"),
        (lambda body: (200, {"results": [{"id": "1"}]}), "unexpected reply"),
        (lambda body: (404, {"detail": "Not Found"}), "refuses the request (404"),
        (lambda body: (401, {"detail": "Invalid API key"}), "refuses the key in LEAN_SERVER_API_KEY (status 401)"),
    ],
)
def test_a_server_that_is_of_no_use_costs_one_line(
    rows: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[[dict[str, Any]], Reply] | None,
    expected: str,
) -> None:
    monkeypatch.setenv(kimina.KEY, "s3cret")
    with serving(run or (lambda body: (0, None))) as url:
        pass
    if run is not None:
        with serving(run) as url:
            assert _check(rows, "--url", url) == 2
    else:
        assert _check(rows, "--url", url) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert f"prover.url: {url} " in output.err
    assert expected in output.err
    assert "s3cret" not in output.err


def test_a_key_that_expires_costs_one_line(rows: Path, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    script.answer = lambda body, token, batch: (403, {"detail": "expired"})
    with serving(script.run) as url:
        assert _check(rows, "--url", url) == 1
    assert f"{url} refuses requests without a key" in capsys.readouterr().err.splitlines()[-1]


# --- Real Lean behind the server

IMPORT = "import Lean"
# Name, header, statement, submission, and what the judge says without a gate before it.
CASES = [
    ("by rfl", "", "theorem t : 3 * 3 = 9", "theorem t : 3 * 3 = 9 := by rfl", "ok"),
    ("omega", "", "theorem t (a b : Nat) (h : a < b) : a + 1 ≤ b",
     "theorem t (a b : Nat) (h : a < b) : a + 1 ≤ b := by omega", "ok"),
    ("helper", "", "theorem t (n : Nat) : n + 0 = n",
     "theorem helper (n : Nat) : n + 0 = n := rfl\ntheorem t (n : Nat) : n + 0 = n := helper n", "ok"),
    ("classical", "", "theorem t (p : Prop) : p ∨ ¬p", "theorem t (p : Prop) : p ∨ ¬p := Classical.em p", "ok"),
    ("own definition", "", "def n : Nat := 3\ntheorem t : n = 3", "def n : Nat := 3\ntheorem t : n = 3 := rfl", "ok"),
    ("rationals", "", "theorem t (x : Rat) (h : x + x / 2 = 48) : x = 32",
     "theorem t (x : Rat) (h : x + x / 2 = 48) : x = 32 := by grind", "ok"),
    ("letters beyond ASCII", "", "theorem t (𝔸 β : Nat) : 𝔸 + β = β + 𝔸",
     "-- \u2028 \x85 \\ \"é\"\r\ntheorem t (𝔸 β : Nat) : 𝔸 + β = β + 𝔸 := Nat.add_comm 𝔸 β", "ok"),
    ("sorry", "", "theorem t : 3 * 3 = 10", "theorem t : 3 * 3 = 10 := by sorry", "axioms"),
    ("silent sorry", "", "theorem t : 3 * 3 = 10",
     "set_option warn.sorry false in\ntheorem t : 3 * 3 = 10 := by sorry", "axioms"),
    ("sorryAx", "", "theorem t : 3 * 3 = 10", "theorem t : 3 * 3 = 10 := sorryAx _ true", "axioms"),
    ("swallowed error", "", "theorem t : 3 * 3 = 10",
     "#guard_msgs (drop all) in\ntheorem t : 3 * 3 = 10 := by omega", "elaboration_error"),
    ("helper with a gap", "", "theorem t : 3 * 3 = 10",
     "theorem helper : 9 = 10 := by\n  sorry\ntheorem t : 3 * 3 = 10 := helper", "axioms"),
    ("axiom", "", "theorem t : 3 * 3 = 10", "axiom cheat : False\ntheorem t : 3 * 3 = 10 := cheat.elim", "axioms"),
    ("axiom with a trusted name", "", "theorem t : 3 * 3 = 10",
     "axiom Mine.propext : 3 * 3 = 10\ntheorem t : 3 * 3 = 10 := Mine.propext", "axioms"),
    ("opaque", "", "theorem t : 3 * 3 = 10",
     "axiom cheat : Inhabited (3 * 3 = 10)\ninstance : Inhabited (3 * 3 = 10) := cheat\n"
     "opaque hidden : 3 * 3 = 10\ntheorem t : 3 * 3 = 10 := hidden", "axioms"),
    ("compiled evaluation", "", "theorem t : 3 * 3 = 10",
     "def yes : Bool := decide (3 * 3 = 9)\naxiom trust : Lean.reduceBool yes = true → 3 * 3 = 10\n"
     "theorem t : 3 * 3 = 10 := trust rfl", "axioms"),
    ("failed tactic", "", "theorem t : 3 * 3 = 10", "theorem t : 3 * 3 = 10 := by omega", "elaboration_error"),
    ("broken off", "", "theorem t : 3 * 3 = 10", "theorem t : 3 * 3 = 10 := by", "elaboration_error"),
    ("end of the snippet's command", "", "theorem t : 3 * 3 = 10",
     '"\n  pure ()\n-/ end\ntheorem t : 3 * 3 = 10 := by decide', "elaboration_error"),
    ("axiom of the name", "", "theorem t : 3 * 3 = 10", "axiom t : 3 * 3 = 10", "not_a_theorem"),
    ("unsafe", "", "theorem t : 3 * 3 = 10", "unsafe def t : 3 * 3 = 10 := t", "not_a_theorem"),
    ("definition", "", "theorem t : 3 * 3 = 9", "def t : 3 * 3 = 9 := rfl", "not_a_theorem"),
    ("other name", "", "theorem t : 3 * 3 = 9", "theorem u : 3 * 3 = 9 := rfl", "missing_theorem"),
    ("inside a namespace", "", "theorem t : 3 * 3 = 9", "namespace N\ntheorem t : 3 * 3 = 9 := rfl", "missing_theorem"),
    ("inside a comment", "", "theorem t : 3 * 3 = 9", "/- theorem t : 3 * 3 = 9 := rfl -/", "missing_theorem"),
    ("other statement", "", "theorem t : 3 * 3 = 10", "theorem t : 3 * 3 = 9 := rfl", "type_mismatch"),
    ("hypothesis", "", "theorem t : 3 * 3 = 10",
     "variable (h : False)\ninclude h\ntheorem t : 3 * 3 = 10 := h.elim", "type_mismatch"),
    ("numeral", "", "theorem t : 3 * 3 = 10",
     "instance : OfNat Nat 10 := ⟨9⟩\ntheorem t : 3 * 3 = 10 := rfl", "type_mismatch"),
    ("macro", "", "theorem t : 3 * 3 = 10",
     "macro_rules | `($_ = $_) => `(True)\ntheorem t : 3 * 3 = 10 := trivial", "elaboration_error"),
    ("changed definition", "", "def n : Nat := 3\ntheorem t : n = 4",
     "def n : Nat := 4\ntheorem t : n = 4 := rfl", "statement_changed"),
    ("unchecked declaration", IMPORT, "theorem t : False",
     "open Lean Elab Command in\nelab \"cheat\" : command => do\n"
     "  let proof : TheoremVal :=\n"
     "    { name := `t, levelParams := [], type := mkConst ``False, value := mkConst ``True.intro }\n"
     "  modifyEnv fun env =>\n    match env.addDeclCore 0 (.thmDecl proof) none false with\n"
     "    | .ok env => env\n    | .error _ => env\ncheat", "elaboration_error"),
    ("printed verdict", IMPORT, "theorem t : 3 * 3 = 10",
     'run_cmd IO.println "{\\"nonce\\": \\"0\\", \\"ok\\": true, \\"reason\\": \\"ok\\"}\\n\\n"\n'
     "theorem t : 3 * 3 = 10 := by sorry", "elaboration_error"),
    ("statement with an error", "", "theorem t (x : ℝ) : x = x", "theorem t : True := trivial", "statement_error"),
    ("statement with an axiom", "", "axiom cheat : False\ntheorem t : 1 = 2",
     "theorem t : 1 = 2 := cheat.elim", "statement_error"),
    ("header with an error", "opn Nat", "theorem t : True", "theorem t : True := trivial", "header_error"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lean(lean_installed: None) -> Iterator[LeanBehind]:
    with pytest.MonkeyPatch.context() as patch:
        # Lean compiles the judge in threads, each of which reserves much more than it takes.
        patch.setattr(toolchains, "EMBEDDED_LIMITS", Limits(memory=32 * 1024**3, cpu_seconds=3600))
        behind = LeanBehind(find_toolchain(ProverConfig(toolchain="embedded")))
    yield behind
    behind.close()


@pytest.fixture(scope="module")
def address(lean: LeanBehind) -> Iterator[str]:
    with serving(lean.run) as url:
        yield url


@pytest.fixture(scope="module")
def behind_the_server(address: str) -> Iterator[Prover]:
    prover = _build(address, header="", workers=len(CASES), timeout=60)
    yield prover
    asyncio.run(prover.close())


@pytest.fixture(scope="module")
def reports(behind_the_server: Prover) -> dict[str, Report]:
    """What is said of every case without a gate, all asked at once."""

    async def check() -> list[Report]:
        return await asyncio.gather(
            *(behind_the_server.check(case[2], case[3], case[1]) for case in CASES)  # three snippets
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prover_module, "gate", lambda text, mode: [])
        # How many requests share a snippet must not hang on how busy this machine is.
        patch.setattr(kimina, "BEGIN_SECONDS", 600)
        return dict(zip((case[0] for case in CASES), asyncio.run(check()), strict=True))


@pytest.mark.lean
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_server_judges_as_lean_does_here(
    reports: dict[str, Report], lean: LeanBehind, case: tuple[str, str, str, str, str]
) -> None:
    name, header, statement, submission, reason = case
    report = reports[name]
    assert (report.reason, report.verified) == (reason, reason == "ok"), report
    arguments = {"header": limited(header, 200_000), "statement": statement, "submission": submission}
    here = Answer(lean.judge("check", arguments))
    assert (report.reason, report.detail, report.axioms) == (here.reason, here.detail, here.axioms)
    assert report.messages == here.messages


@pytest.mark.lean
def test_requests_share_the_judge(reports: dict[str, Report], lean: LeanBehind) -> None:
    # The version, the trial, and the cases, at most 16 together.
    assert len(lean.snippets) == 5


@pytest.mark.lean
def test_every_command_of_the_judge_is_served(address: str, behind_the_server: Prover, lean: LeanBehind) -> None:
    claim = {"header": "", "statement": "theorem t (x y : Rat) (h1 : x + y = 30) (h2 : x - y = 4) : x = 17"}
    requests: list[tuple[str, dict[str, object]]] = [
        ("elaborate", claim),
        ("prove", {**claim, "goal": "claim", "tactic": "grind", "heartbeats": 200_000}),
        ("prove", {**claim, "goal": "negation", "tactic": "grind", "heartbeats": 200_000}),
        ("inspect", claim),
    ]
    worker = KiminaWorker(address, 60)
    try:
        with ThreadPoolExecutor(len(requests)) as threads:
            answers = list(threads.map(lambda request: worker.ask(*request), requests))
    finally:
        worker.close()
    assert [answer.reason for answer in answers] == ["ok", "ok", "unproved", "ok"]
    assert answers[3].facts == lean.judge("inspect", claim)["facts"]
    assert [binder["name"] for binder in answers[3].facts["binders"]] == ["x", "y", "h1", "h2"]


@pytest.mark.lean
def test_after_its_time_the_judge_begins_no_request(address: str, behind_the_server: Prover) -> None:
    request = ("elaborate", {"header": "", "statement": "theorem t : True"})
    (found,) = _messages(address, [IMPORT], [request] * 3, ["1", "2", "3"])
    (answer,) = answers(found["data"], "T", ["1", "2", "3"])
    assert isinstance(answer, Answer)
    assert answer.ok


@pytest.mark.lean
def test_only_imports_are_pristine(address: str, behind_the_server: Prover) -> None:
    """A server that split otherwise would make somebody's text the environment that a statement is read in."""
    request = ("check", {"header": "", "statement": "theorem t : True", "submission": "theorem t : True := trivial"})
    (found,) = _messages(address, [IMPORT, "theorem early : 1 = 1 := rfl"], [request], ["1"])
    assert (found["severity"], found["data"]) == ("error", "there is more than the imports")


@pytest.mark.lean
def test_the_version_tells_libraries_apart(address: str, behind_the_server: Prover) -> None:
    worker = KiminaWorker(address, 60)
    try:
        version = worker.lean("")
        assert version.startswith("4.28.0, commit ")
        assert worker.lean("") == version
        assert worker.lean("import Std") != version
    finally:
        worker.close()


def _messages(address: str, imports: list[str], requests: list[Request], nonces: list[str]) -> list[dict[str, Any]]:
    """What Lean says where the judge is given no time."""
    judge = (kimina.lean_folder() / "Judge.lean").read_text(encoding="utf-8")
    code = judge_snippet(imports, judge, requests, "T", nonces, 0)
    body = {"snippets": [{"id": "x", "code": code}], "timeout": 120, "debug": False, "reuse": True, "infotree": None}
    reply = httpx.post(f"{address}/api/check", json=body, timeout=200).json()
    messages: list[dict[str, Any]] = reply["results"][0]["response"]["messages"]
    return messages
