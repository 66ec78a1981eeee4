"""A Kimina Lean Server as the judge: its Lean elaborates `lean/Judge.lean`, which then judges as it does here.

The server elaborates snippets and returns Lean's messages (`POST /api/check`, project-numina/kimina-lean-server, 2.x).
A snippet of ours is the header's imports and one command, which elaborates the judge in an environment of its own and
gives it a block of its protocol. What a model wrote is in that block, a string, and never becomes text of the snippet:
it cannot end the command, hide an error of the snippet or come before it.

Elaborating the judge is most of a snippet's time, so requests that wait at the same time travel as one `batch`.

Believed is one message that repeats numbers which what Lean elaborated cannot know. The server itself is trusted, like
an installed Lean: whoever runs it, or runs code in its Lean, can forge any verdict. What confines Lean is the server's
affair, and other clients share its Lean processes, where they run what they like.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import math
import os
import random
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rltpf.errors import InputError, RunError
from rltpf.prover.answer import Answer, WorkerError, parsed
from rltpf.prover.cascade import library_of
from rltpf.prover.snippet import JUDGE, Request, answers, imports_of, judge_snippet, told, version_snippet
from rltpf.prover.toolchains import Toolchain, header_of, lean_folder, pinned_version
from rltpf.prover.verdicts import Verdicts

if TYPE_CHECKING:
    from rltpf.prover.settings import ProverConfig

Result = TypeVar("Result")

KEY = "LEAN_SERVER_API_KEY"
REQUESTS_PER_SNIPPET = 16
# Workers that were answered together ask again within milliseconds of each other.
GATHER_SECONDS = 0.05
# Later no further request of a batch is begun, so that many slow ones do not use up the time of the last.
BEGIN_SECONDS = 10
# What elaborating the judge may take, on top of a request's own time. It is measured once: elsewhere, or when the
# server has more to do, it takes longer, but one request that hangs should not be waited for a minute too long.
JUDGE_SECONDS = 60.0
BUSIER = 4
# The server gives the imports the same limit as the rest, and a Mathlib that nobody has read yet takes its time.
IMPORT_SECONDS = 60
# The server lets a snippet wait for a free Lean (60 s by default), then imports, then elaborates, each with a limit.
QUEUE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
TRIES = 4
FIRST_WAIT = 0.5
REPLY_BYTES = 64 * 1024 * 1024


class Unanswered(WorkerError):
    """The server gave no answer to any try, nor would it to what the request consists of."""

    def __init__(self, detail: str) -> None:
        super().__init__("crash", detail)


@dataclass(eq=False)
class _Waiting:
    """A request, and where its answer goes. It goes `alone` after a batch that failed, and then `fresh`, to a Lean
    that nobody used, where the fault may be what somebody did before in the process."""

    request: Request
    imports: tuple[str, ...]
    answer: asyncio.Future[Answer]
    alone: bool = False
    fresh: bool = False


class KiminaWorker:
    """A server that judges. Any number of threads may ask it at once; it gets at most `snippets` at the same time.

    `timeout` is seconds of wall clock that one request may take in Lean, beyond those for the judge to be elaborated.
    `key` goes to the server and nowhere else.
    """

    def __init__(self, url: str, timeout: float, snippets: int = 1, key: str | None = None) -> None:
        import httpx

        self.url = url.rstrip("/")
        self._timeout = timeout
        self._judge_seconds = JUDGE_SECONDS
        self._judge = (lean_folder() / "Judge.lean").read_text(encoding="utf-8")
        self._key = key
        self._waiting: deque[_Waiting] = deque()
        self._arrival = asyncio.Condition()
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            # Our own deadline covers the whole exchange; the client's would start again with every byte that arrives.
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=snippets),
        )
        # In a loop of its own an exchange can be given up at any moment: `close` need not wait for a server.
        self._loop = asyncio.new_event_loop()
        self._senders = [self._loop.create_task(self._send_for_ever()) for _ in range(snippets)]
        self._thread = threading.Thread(target=self._loop.run_forever, name="kimina", daemon=True)
        self._thread.start()
        self._submitting = threading.Lock()
        self._closed = False

    def ask(self, command: str, arguments: Mapping[str, object]) -> Answer:
        """The judge's answer; raises `WorkerError` where there is none, `RunError` where the server refuses us."""
        return self._wait_for(self._asked((command, arguments)))

    def close(self) -> None:
        """Give up what is being asked."""
        with self._submitting:
            if self._closed:
                return
            self._closed = True
            ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        ended.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def lean(self, header: str) -> str:
        """The version of the server's Lean, and a digest of what it imports for the header."""
        token = secrets.token_hex(16)
        code = version_snippet(imports_of(header), token)
        text = self._wait_for(self._told(code, token, 1, fresh=False)).strip()
        if re.fullmatch(rf"{token} \d+\.\d+\.\d+\S* .+", text, re.DOTALL) is None:
            raise WorkerError("protocol", f"unexpected version {text[:200]!r}")
        return text.removeprefix(token).strip()

    def try_out(self, header: str) -> None:
        """Raises `WorkerError` unless the judge that we send accepts a proof and refuses a gap."""
        began = time.monotonic()
        proof, gap = self._wait_for(self._trial(header))
        self._judge_seconds = min(JUDGE_SECONDS, BUSIER * (time.monotonic() - began))
        for answer, expected in ((proof, "ok"), (gap, "axioms")):
            if answer.reason != expected:
                said = f"{answer.reason} {answer.detail}".strip()
                raise WorkerError("protocol", f"its answer to a trial is {said}, not {expected}")

    def _wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        # What was submitted before `close` is cancelled by it; later nobody would answer.
        with self._submitting:
            if self._closed:
                work.close()
                raise WorkerError("crash", "the prover is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise WorkerError("crash", "the prover is closed") from None

    async def _trial(self, header: str) -> list[Answer]:
        arguments = {"header": header, "statement": "theorem ready : 1 + 1 = 2"}
        texts = [f"{arguments['statement']} := {proof}" for proof in ("rfl", "sorry")]
        return await asyncio.gather(*(self._asked(("check", {**arguments, "submission": text})) for text in texts))

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()

    async def _asked(self, request: Request) -> Answer:
        imports = imports_of(str(request[1].get("header", "")))
        waiting = _Waiting(request, imports, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        async with self._arrival:
            self._arrival.notify()
        return await waiting.answer

    async def _send_for_ever(self) -> None:
        while True:
            async with self._arrival:
                await self._arrival.wait_for(lambda: self._waiting)
            await asyncio.sleep(GATHER_SECONDS)
            # Another sender may have taken what arrived.
            if batch := self._next_batch():
                await self._send(batch)

    def _next_batch(self) -> list[_Waiting]:
        """The requests that go next: the one that waits longest, and those that may share a snippet with it."""
        if not self._waiting:
            return []
        first = self._waiting[0]
        batch = [first]
        if not first.alone:
            batch = [waiting for waiting in self._waiting if waiting.imports == first.imports and not waiting.alone]
            del batch[REQUESTS_PER_SNIPPET:]
        for waiting in batch:
            self._waiting.remove(waiting)
        return batch

    async def _send(self, batch: Sequence[_Waiting]) -> None:
        first = batch[0]
        try:
            outcomes = await self._exchange(first.imports, [waiting.request for waiting in batch], first.fresh)
        except Exception as error:  # whatever it is, it is theirs who ask: nobody waits for a sender
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        # What was not begun in time comes first in the next snippet.
        self._waiting.extendleft(reversed(batch[len(outcomes) :]))
        for waiting, outcome in zip(batch, outcomes, strict=False):
            if isinstance(outcome, Answer):
                waiting.answer.set_result(outcome)
            elif isinstance(outcome, Unanswered):
                waiting.answer.set_exception(outcome)
            elif len(batch) > 1:
                # One of them may have cost all the others their answers: it must not cost them their verdicts.
                waiting.alone = True
                self._waiting.append(waiting)
            elif waiting.fresh or outcome.reason == "timeout":
                waiting.answer.set_exception(outcome)
            else:
                waiting.alone = waiting.fresh = True
                self._waiting.append(waiting)
        async with self._arrival:
            self._arrival.notify_all()

    async def _exchange(
        self, imports: tuple[str, ...], requests: Sequence[Request], fresh: bool
    ) -> list[Answer | WorkerError]:
        """What the judge says to the first of the requests, to all where time is left, in one snippet."""
        token = secrets.token_hex(16)
        nonces = [secrets.token_hex(16) for _ in requests]
        code = judge_snippet(imports, self._judge, requests, token, nonces, BEGIN_SECONDS * 1000)
        try:
            return answers(await self._told(code, token, len(requests), fresh), token, nonces)
        except WorkerError as error:
            return [error] * len(requests)

    async def _told(self, code: str, token: str, requests: int, fresh: bool) -> str:
        """The text of the one message of the snippet that repeats the token."""
        identity = secrets.token_hex(8)
        begin = BEGIN_SECONDS if requests > 1 else 0
        seconds = math.ceil(max(IMPORT_SECONDS, self._judge_seconds + begin + self._timeout))
        body = {
            "snippets": [{"id": identity, "code": code}],
            "timeout": seconds,
            "debug": False,
            "reuse": not fresh,
            "infotree": None,
        }
        return told(await self._post(body, 2 * seconds + QUEUE_SECONDS, together=requests > 1), identity, token)

    async def _post(self, body: Mapping[str, object], seconds: float, together: bool) -> Any:
        """The server's reply to a request, which is tried again while it may pass; `together` if it is a batch."""
        import httpx

        fault = ""
        for number in range(TRIES):
            if number:
                await asyncio.sleep(FIRST_WAIT * 2 ** (number - 1) * random.uniform(0.5, 1.5))
            try:
                async with asyncio.timeout(seconds):
                    status, content = await self._post_once(body)
            except TimeoutError:
                # It had time for everything: a second try would only wait as long.
                raise Unanswered(f"{self.url} gave no answer within {seconds:g} s") from None
            except httpx.HTTPError as error:
                fault = f"{type(error).__name__}: {error}"
                continue
            if status == 200:
                return parsed(content)
            if status in (401, 403):
                whose = f"the key in {KEY}" if self._key else f"requests without a key: set {KEY}"
                raise RunError(f"prover.url: {self.url} refuses {whose} (status {status})")
            fault = f"{status}: {' '.join(content[:200].decode(errors='replace').split())}"
            if status != 429 and status < 500:
                raise WorkerError("protocol", f"{self.url} refuses the request ({fault})")
            if status == 500 and together:
                # What ended Lean once ends it again: the others need not wait for that.
                raise WorkerError("crash", f"{self.url} failed ({fault})")
        raise Unanswered(f"no answer from {self.url} after {TRIES} tries: {fault}")

    async def _post_once(self, body: Mapping[str, object]) -> tuple[int, bytes]:
        content = bytearray()
        async with self._client.stream("POST", f"{self.url}/api/check", json=body) as response:
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > REPLY_BYTES:
                    raise WorkerError("protocol", f"the reply is longer than {REPLY_BYTES >> 20} MiB")
        # Words of the server stand in reports, and it may repeat the key.
        return response.status_code, bytes(content).replace(self._key.encode(), b"***") if self._key else bytes(content)


class ServerVerdicts(Verdicts):
    """Kept verdicts of requests that import what the toolchain's id is a digest of. Of other modules it says nothing:
    they may change behind the same address."""

    def __init__(self, folder: Path, toolchain: Toolchain) -> None:
        super().__init__(folder, toolchain.id)
        self._imports = imports_of(toolchain.header)

    def get(self, command: str, arguments: Mapping[str, object]) -> Answer | None:
        return super().get(command, arguments) if self._knows(arguments) else None

    def put(self, command: str, arguments: Mapping[str, object], answer: Answer) -> None:
        if self._knows(arguments):
            super().put(command, arguments, answer)

    def _knows(self, arguments: Mapping[str, object]) -> bool:
        return set(imports_of(str(arguments["header"]))) <= set(self._imports)


def connect(config: ProverConfig) -> tuple[Toolchain, KiminaWorker]:
    """The toolchain behind `prover.url`, and who asks it; raises `InputError` where it cannot judge.

    It is asked for its version, and shown a proof and a gap, before anything depends on it.
    """
    assert config.url is not None
    header = header_of(config)
    worker = KiminaWorker(_address(config.url), config.timeout, config.workers, _key())
    lean = version = ""
    try:
        lean = worker.lean(header)
        version = lean.split()[0].rstrip(",")
        worker.try_out(header)
    except WorkerError as error:
        worker.close()
        fault = f"prover.url: {worker.url} does not judge: {' '.join(error.detail.split())}"
        if version:
            fault += f" (its Lean is {version}; the judge is written for {pinned_version()})"
        raise InputError(fault) from None
    except RunError as error:
        worker.close()
        raise InputError(str(error)) from None
    source = (lean_folder() / "Judge.lean").read_bytes()
    digest = hashlib.sha256(b"\0".join([source, JUDGE.encode(), lean.encode()])).hexdigest()
    library = library_of(header)
    toolchain = Toolchain(
        id=f"kimina-lean4-{version}-{library}-{digest[:8]}",
        command=(),
        folder=lean_folder(),
        header=header,
        library=library,
    )
    return toolchain, worker


def _address(url: str) -> str:
    import httpx

    if "@" in url:
        # It would stand in the config of every run and in messages, as it does not in this one.
        raise InputError(f"prover.url must not hold a password: the key is read from {KEY}")
    try:
        parts = httpx.URL(url)
        sound = parts.scheme in ("http", "https") and bool(parts.host) and (parts.port or 0) < 1 << 16
        sound = sound and not parts.query and not parts.fragment
    except httpx.InvalidURL:
        sound = False
    if not sound:
        raise InputError(f"prover.url: {url!r} is no address such as http://localhost:8000")
    return url


def _key() -> str | None:
    key = os.environ.get(KEY)
    # The client would name the key in its complaint.
    if key and re.fullmatch(r"[!-~]+", key) is None:
        raise InputError(f"{KEY} holds spaces, line ends or letters that a key cannot have")
    return key
