"""What one client takes of a server: large and slow bodies, slow headers, many requests at once."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from capitals import capitals_project
from served import Served, serving

CHUNK = b"100000\r\n" + 0x100000 * b"x" + b"\r\n"


def head(served: Served, *lines: str, method: str = "POST", path: str = "/api/tickets") -> bytes:
    own = (f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}")
    return "\r\n".join([*own, *lines, "", ""]).encode()


def resident_kb(served: Served) -> int:
    line = next(
        line for line in Path(f"/proc/{served.process.pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(line.split()[1])


def test_a_gigabyte_in_chunks_is_refused_after_ten_megabytes(served: Served, proc: None) -> None:
    before, sent = resident_kb(served), 0
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(head(served, "Content-Type: application/json", "Transfer-Encoding: chunked"))
        with suppress(OSError):  # the server hangs up
            for _ in range(1024):
                connection.sendall(CHUNK)
                sent += 1
        answer = b""
        with suppress(OSError):
            answer = connection.recv(65_536)
    assert sent < 1024, "it took all of it"
    if answer:
        assert answer.split()[1] == b"413"
    assert resident_kb(served) - before < 60_000
    assert served.ask("/api/health").status == 200


def test_a_body_that_is_announced_as_too_large_is_refused_at_once(served: Served) -> None:
    answer = served.raw(head(served, "Content-Type: application/json", "Content-Length: 10000001"))
    assert answer.split()[1] == b"413"
    assert b'"code":"too_large"' in answer


def test_slow_sockets_do_not_stop_the_api(served: Served) -> None:
    with ExitStack() as opened:
        for number in range(200):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=30))
            begun = head(served, "Content-Type: application/json", "Content-Length: 1000")
            connection.sendall([b"", b"GET /", begun[:-2], begun + b"{"][number % 4])
        for _ in range(10):
            assert served.ask("/api/health").status == 200


def test_silent_connections_beyond_the_limit_make_room_for_others(served: Served) -> None:
    with ExitStack() as opened:
        first = opened.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=30))
        for _ in range(300):
            opened.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=30))
        assert served.ask("/api/health").status == 200
        with suppress(ConnectionResetError):
            assert first.recv(1) == b"", "the oldest one was closed"


def test_many_clients_at_once_are_all_answered(served: Served) -> None:
    statuses: list[int] = []

    def ask() -> None:
        statuses.extend(served.ask("/api/health").status for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 320


def test_behind_a_proxy_the_trusted_name_and_the_root_path_count(tmp_path: Path) -> None:
    project = capitals_project(tmp_path / "project")
    with serving(project, "--trusted-host", "evals.example.com", "--root-path", "/evals") as served:
        assert served.url.endswith(f":{served.port}/evals")
        trusted = {"host": "evals.example.com", "origin": "https://evals.example.com"}
        for path in ("/api/health", "/evals/api/health"):  # the proxy may remove the prefix, or not
            assert served.ask(path, headers=trusted).status == 200
        assert served.ask("/evals/api/health", headers={"host": "evals.example.com:81"}).status == 421
        answer = served.ask(f"/evals/?token={served.token}", headers=trusted, token="")
        assert (answer.status, answer.headers["location"]) == (303, "/evals/")
        assert "Path=/evals;" in answer.headers["set-cookie"]
        assert served.ask("/evals/api/health", token="").json["code"] == "unauthorized"
