"""Takes the options of vLLM's server and answers as it does, with a word that no stage can use."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "no"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._answer(
            {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        )

    def _answer(self, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _end(*_: object) -> None:
    print("ended", file=sys.stderr, flush=True)
    raise SystemExit(0)


parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--host")
parser.add_argument("--port", type=int)
args = parser.parse_args()
signal.signal(signal.SIGTERM, _end)
ThreadingHTTPServer((args.host, args.port), Handler).serve_forever()
