"""An OpenAI-compatible server on this machine's loopback that answers with the authored teacher.

The demo's transcript is recorded through it with the `openai` backend, so what the demo replays took the way that a
live teacher takes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol


class Replying(Protocol):
    """Whoever has authored replies; raises `LookupError` where there is none."""

    def reply(self, system: str, user: str, seed: int) -> str: ...


@contextmanager
def serve(teacher: Replying, model: str, count_tokens: Callable[[str], int]) -> Iterator[str]:
    """Runs the server while the context lasts; gives its base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = {message["role"]: message["content"] for message in request["messages"]}
            try:
                text = teacher.reply(messages.get("system", ""), messages["user"], request.get("seed", 0))
            except (LookupError, StopIteration) as error:
                return self._send(404, {"error": {"message": f"nothing was authored for this request: {error}"}})
            prompt_tokens = sum(count_tokens(content) for content in messages.values())
            completion_tokens = count_tokens(text)
            self._send(
                200,
                {
                    "id": "authored",
                    "object": "chat.completion",
                    "created": 0,
                    "model": model,
                    "choices": [
                        {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                    ],
                    "usage": {
                        "prompt_tokens": prompt_tokens,
                        "completion_tokens": completion_tokens,
                        "total_tokens": prompt_tokens + completion_tokens,
                    },
                },
            )

        def _send(self, status: int, body: dict[str, object]) -> None:
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
