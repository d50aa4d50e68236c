"""A server on this machine for tests that run the command: it runs in a thread and is independent of our client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    text: str
    status: int = 200
    content_type: str = "text/plain"


@contextmanager
def serving(reply: Callable[[BaseHTTPRequestHandler, bytes], Reply]) -> Iterator[str]:
    """The base URL; each GET and POST is answered with what `reply` returns for the request and its body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made = reply(self, self.rfile.read(int(self.headers.get("content-length", 0))))
            told = made.text.encode()
            self.send_response(made.status)
            self.send_header("content-type", made.content_type)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_POST = do_GET

        def log_message(self, *args: object) -> None: ...

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
