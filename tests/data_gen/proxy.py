"""A server between the run and its teacher that counts, delays, and answers some requests with a fault."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("429", "500", "hang", "break", "half", "cut", "empty", "schema")


class Proxy(ThreadingHTTPServer):
    """Hands requests on to `upstream`, `share` of the first tries of each with a fault instead of an answer.

    Which request fails, how often and how depends on the request alone, so that every run meets the same faults.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, upstream: str, delay: float = 0.0, share: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.delay = delay
        self.share = share
        self.arrived: list[tuple[float, str]] = []
        """Time and body of every request, in the order of arrival."""
        self.faults: Counter[str] = Counter()
        self.ending = threading.Event()
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def fault(self, body: str) -> str | None:
        """What goes wrong with this try of a request; None where nothing does."""
        with self._lock:
            self.arrived.append((time.time(), body))
            self._tries[body] += 1
            dice = random.Random(f"{self._tries[body]} {body}")
            if dice.random() >= self.share:
                return None
            # Only a reply that has a schema can break it.
            fault = dice.choice(FAULTS[:-1] + FAULTS[-1:] * 4 * ("response_format" in json.loads(body)))
            self.faults[fault] += 1
            return fault


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True  # the run was killed while it asked
            return
        fault = self.server.fault(body.decode())
        self.server.ending.wait(self.server.delay)
        if self.server.ending.is_set():
            self.close_connection = True  # a connection that is kept alive would outlive the server
            return
        try:
            self._answer(fault, body)
        except OSError:
            self.close_connection = True  # the run was killed, or gave up

    def _answer(self, fault: str | None, body: bytes) -> None:
        if fault in ("429", "500"):
            return self._send(int(fault), b'{"error": {"message": "try again"}}')
        if fault in ("hang", "break"):
            if fault == "hang":
                self.server.ending.wait()
            self.close_connection = True
            return None
        request = urllib.request.Request(
            f"{self.server.upstream}/chat/completions", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            payload = answer.read()
        if fault == "half":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload[: len(payload) // 2])
            self.close_connection = True
            return None
        reply = json.loads(payload)
        if fault == "cut":
            return self._send(200, payload[: len(payload) // 2])
        if fault in ("empty", "schema"):
            reply["choices"][0]["message"]["content"] = "" if fault == "empty" else '{"unasked": [1, "two"]}'
        return self._send(200, json.dumps(reply).encode())

    def _send(self, status: int, payload: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@contextmanager
def proxy(upstream: str, delay: float = 0.0, share: float = 0.0) -> Iterator[Proxy]:
    """Runs the proxy while the context lasts; its address is `url_of` it."""
    server = Proxy(upstream, delay, share)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()


def url_of(server: Proxy) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1"
