"""How tests run a real server: `eval-harness serve` in a process of its own, asked over a socket."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from driving import COMMAND, LONGEST_WAIT_S, clean_environment, wait_until

from evalharness.harness import Harness

ADDRESS = re.compile(r"^open +(http://\S+?)/\?token=(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A server on the project in `folder`."""

    folder: Path
    process: subprocess.Popen[bytes]
    url: str
    token: str
    port: int = field(init=False)

    def __post_init__(self) -> None:
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    @property
    def store(self) -> Path:
        return self.folder / ".evalharness" / "store.db"

    @contextmanager
    def harness(self) -> Iterator[Harness]:
        with Harness.open(self.store) as harness:
            yield harness

    def ask(
        self,
        path: str,
        method: str = "GET",
        *,
        data: Any = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> Answer:
        """With the token, unless another one is given; `data` is sent as JSON, `form` as a page's form."""
        given = self.token if token is None else token
        sent = {"authorization": f"Bearer {given}"} if given else {}
        body = None
        if data is not None:
            body, sent["content-type"] = json.dumps(data).encode(), "application/json"
        if form is not None:
            from urllib.parse import urlencode

            body, sent["content-type"] = urlencode(form).encode(), "application/x-www-form-urlencoded"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT_S)
        try:
            connection.request(method, path, body, {**sent, **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """The answer to whatever is sent, to the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST_WAIT_S) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def interrupt(self) -> str:
        """Ctrl-C; returns what it printed."""
        self.process.send_signal(signal.SIGINT)
        return self._ended()

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def _ended(self) -> str:
        self.process.wait(LONGEST_WAIT_S)
        return (self.folder / "serve.out").read_text(encoding="utf-8")


def start_server(folder: Path, *flags: str, env: Mapping[str, str] | None = None) -> Served:
    """On a free port; it answers when this returns."""
    words = [*COMMAND, "serve", "--port", "0", *flags]
    with (folder / "serve.out").open("wb") as out:
        process = subprocess.Popen(
            words, cwd=folder, env=clean_environment(folder, env), stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )
    printed = ""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not (found := ADDRESS.search(printed)):
        assert process.poll() is None, f"it ended with {process.returncode}: {printed}"
        assert time.monotonic() < deadline, printed
        time.sleep(0.02)
        printed = (folder / "serve.out").read_text(encoding="utf-8")
    return Served(folder, process, found[1], found[2])


@contextmanager
def serving(folder: Path, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    served = start_server(folder, *flags, env=env)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.interrupt()


def wait_for(served: Served, run_id: str, *states: str) -> Any:
    """The job, once it is in one of these states."""
    from evalharness.actions.list_jobs import find_job

    with served.harness() as harness:
        wait_until(lambda: harness.call(find_job, run_id).state in states)
        return harness.call(find_job, run_id)
