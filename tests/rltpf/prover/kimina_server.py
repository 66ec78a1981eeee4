"""A server that speaks the protocol of a Kimina Lean Server, in front of a Lean or of whatever a test puts there."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rltpf.prover.answer import WorkerError
from rltpf.prover.process import Hang, LeanProcess
from rltpf.prover.toolchains import Toolchain

Reply = tuple[int, object]
"""Status, and JSON value or bytes; a status of 0 drops the connection."""
TRIAL = "theorem ready"


@contextlib.contextmanager
def serving(run: Callable[[dict[str, Any]], Reply], key: str | None = None) -> Iterator[str]:
    """The address of a server that answers `POST /api/check` with what `run` makes of the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/api/check":
                self._send(404, {"detail": "Not Found"})
            elif key is not None and self.headers.get("Authorization") != f"Bearer {key}":
                self._send(401, {"detail": f"Invalid API key {self.headers.get('Authorization')}"})
            else:
                self._send(*run(json.loads(body)))

        def _send(self, status: int, reply: object) -> None:
            if status == 0:
                return
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            with contextlib.suppress(OSError):  # who asked may have given up
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.socket.close()


def split(code: str) -> tuple[str, str]:
    """The imports at the top of a snippet, each once and Mathlib first, and the rest, as the server splits them."""
    lines = code.splitlines()
    length = next((i for i, line in enumerate(lines) if line.strip() and not line.strip().startswith("import ")), 0)
    imports = dict.fromkeys(line.strip() for line in lines[:length] if line.strip())
    mathlib = ["import Mathlib"] if any(line.startswith("import Mathlib") for line in imports) else []
    return "\n".join([*mathlib, *(i for i in imports if not i.startswith("import Mathlib"))]), "\n".join(lines[length:])


class LeanBehind:
    """Runs snippets in one Lean, renewed where the header is another, where `reuse` is false, and after a time-out."""

    def __init__(self, toolchain: Toolchain) -> None:
        self._toolchain = toolchain
        self._process: LeanProcess | None = None
        self._header = ""
        self._env = 0
        self._lock = threading.Lock()
        self.snippets: list[tuple[str, float]] = []
        """Bodies, and seconds that each took."""

    def run(self, request: dict[str, Any]) -> Reply:
        if set(request) != {"snippets", "timeout", "debug", "reuse", "infotree"} or type(request["timeout"]) is not int:
            return 422, {"detail": "not the schema"}
        try:
            with self._lock:
                return 200, {"results": [self._result(snippet, request) for snippet in request["snippets"]]}
        except WorkerError as error:
            self.close()
            return 500, {"detail": error.detail}

    def judge(self, command: str, arguments: dict[str, object]) -> dict[str, Any]:
        """What the judge of this very Lean says, asked as a local worker asks it."""
        with self._lock:
            assert self._process is not None
            return self._ask(self._process, {"nonce": "", command: arguments}, 120)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _result(self, snippet: dict[str, str], request: dict[str, Any]) -> dict[str, Any]:
        header, body = split(snippet["code"])
        seconds = request["timeout"]
        try:
            if self._process is None or self._header != header or not request["reuse"]:
                self.close()
                self._process = LeanProcess(self._toolchain)
                self._header = header
                self._env = self._ask(self._process, {"cmd": header}, 120)["env"]
            began = time.monotonic()
            response = self._ask(self._process, {"cmd": body, "env": self._env}, seconds)
            self.snippets.append((body, time.monotonic() - began))
        except Hang:
            self.close()
            return {"id": snippet["id"], "time": seconds, "error": f"Lean REPL command timed out in {seconds} seconds"}
        return {"id": snippet["id"], "time": 0.1, "response": response}

    @staticmethod
    def _ask(process: LeanProcess, request: dict[str, object], seconds: float) -> dict[str, Any]:
        reply = json.loads(process.exchange(json.dumps(request).encode(), seconds))
        assert isinstance(reply, dict)
        return reply


class Script:
    """Answers as the judge would who finds everything proved, or as a test wants it, and notes what it was asked."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.batches: list[list[dict[str, Any]]] = []
        """The judge's requests, batch by batch."""
        self.answer: Callable[[dict[str, Any], str, list[dict[str, Any]]], Reply] = lambda body, token, batch: said(
            body, message(token, batch)
        )
        self.libraries = "4.28.0, commit 0 1846 125259"
        self._lock = threading.Lock()

    def run(self, body: dict[str, Any]) -> Reply:
        code = body["snippets"][0]["code"]
        if version := re.search(r's!"(\w+) ', code):
            return said(body, info(f"{version[1]} {self.libraries}\n"))
        # A literal of ours is one of JSON too.
        block = json.loads(json.loads(re.findall(r'\.mkSimple (".*")\)', code)[-1]))
        batch = block["batch"]
        if TRIAL in json.dumps(batch):
            return said(body, message(block["nonce"], batch))
        with self._lock:
            self.requests.append(body)
            self.batches.append(batch)
        return self.answer(body, block["nonce"], batch)


def good(request: dict[str, Any]) -> dict[str, Any]:
    """The judge's reply: proved, unless the submission says `sorry`. The detail tells whose it is."""
    arguments = next(value for key, value in request.items() if key != "nonce")
    proved = "sorry" not in arguments.get("submission", "")
    reply = {"ok": proved, "reason": "ok" if proved else "axioms", "detail": arguments["statement"]}
    facts: dict[str, Any] = {"flags": [], "probes": [], "binders": []}
    return {**reply, "nonce": request["nonce"], "messages": [], "axioms": [], "milliseconds": 250, "facts": facts}


def info(data: str, severity: str = "info") -> dict[str, Any]:
    place = {"line": 1, "column": 0}
    return {"severity": severity, "pos": place, "endPos": place, "data": data}


def message(token: str, batch: list[dict[str, Any]]) -> dict[str, Any]:
    """Lean's message with the judge's reply to a batch."""
    return info(json.dumps({"nonce": token, "replies": [good(request) for request in batch]}))


def said(body: dict[str, Any], *messages: dict[str, Any]) -> Reply:
    """The server's reply with these messages of Lean."""
    result = {"id": body["snippets"][0]["id"], "time": 0.1, "response": {"env": 1, "messages": list(messages)}}
    return 200, {"results": [result]}


def failed(body: dict[str, Any], error: str) -> Reply:
    """The server's reply where Lean gave none."""
    return 200, {"results": [{"id": body["snippets"][0]["id"], "time": 60, "error": error}]}
