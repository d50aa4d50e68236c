"""What tests of recordings share: a model's server that keeps its requests, and reports compared but for their mode."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OF_A_RUN = ("run_id", "run_name", "timestamp", "duration_seconds", "taped")
"""What a replay may say differently of itself."""


def same_report(document: dict[str, Any]) -> str:
    """A report as text, without what tells a replay from what it replays."""
    report = json.loads(json.dumps(document))
    report["metadata"] = {name: value for name, value in report["metadata"].items() if name not in OF_A_RUN}
    return json.dumps(report, indent=1)


@dataclass
class ModelServer:
    """An OpenAI-compatible server on this machine; `reply` makes the message of each request."""

    reply: Callable[[dict[str, Any]], Any] = lambda body: f"reply to {body['messages'][-1]['content']}"
    requests: list[dict[str, Any]] = field(default_factory=list)
    address: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.address}/v1", "OPENAI_API_KEY": "sk-upstream-0123456789abcdef"}


@contextmanager
def model_server(reply: Callable[[dict[str, Any]], Any] | None = None) -> Iterator[ModelServer]:
    served = ModelServer() if reply is None else ModelServer(reply)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body)
            content = served.reply(body)
            message = content if isinstance(content, dict) else {"role": "assistant", "content": content}
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            if body.get("stream"):
                self._stream(message, finish, usage)
                return
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send({"id": "r", "object": "chat.completion", "model": "served", "choices": [choice], "usage": usage})

        def _send(self, document: Any) -> None:
            text = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _stream(self, message: dict[str, Any], finish: str, usage: dict[str, int]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            about = {"id": "r", "object": "chat.completion.chunk", "model": "served", "created": 1}
            pieces = [
                {"role": "assistant", "content": ""},
                *({"content": word + " "} for word in message["content"].split()),
            ]
            for piece in pieces:
                self._event({**about, "choices": [{"index": 0, "delta": piece, "finish_reason": None}]})
            last = {"index": 0, "delta": {}, "finish_reason": finish}
            self._event({**about, "choices": [last], "usage": usage})
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def _event(self, document: Any) -> None:
            self.wfile.write(b"data: " + json.dumps(document).encode() + b"\n\n")
            self.wfile.flush()

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
