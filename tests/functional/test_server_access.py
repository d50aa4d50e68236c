"""Who may ask a server: every request needs the token, and what other sites and names send is refused."""

from __future__ import annotations

import json
import stat

import pytest
from served import Served

PAGES, API = "/", "/api/health"


def request(served: Served, *lines: str, path: str = API, method: str = "GET", body: str = "", host: str = "") -> bytes:
    """As it is sent, with the right token."""
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host or f'127.0.0.1:{served.port}'}",
        f"Authorization: Bearer {served.token}",
        "Connection: close",
        *lines,
    ]
    if body:
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", body]).encode("latin-1")


def status(served: Served, *lines: str, **parts: str) -> int:
    return int(served.raw(request(served, *lines, **parts)).split()[1])


@pytest.mark.parametrize("path", [PAGES, API, "/api/openapi.json", "/api/nothing", "/nothing", "/runs/x?token="])
def test_nothing_is_answered_without_the_token(served: Served, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer x"}, {"authorization": f"Basic {served.token}"}, {"cookie": "a=b"}):
        answer = served.ask(path, headers=headers, token="")
        assert answer.status == 401
        assert served.token not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "127.0.0.1",
        "localhost:1",
        "127.0.0.1.:{port}",
        "localhost.:{port}",
        "0.0.0.0:{port}",
        "127.0.0.2:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "2130706433:{port}",
        "0x7f.1:{port}",
        "127.1:{port}",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_name_is_refused_by_every_method(served: Served, host: str, method: str) -> None:
    assert status(served, host=host.format(port=served.port), method=method) == 421


@pytest.mark.parametrize("host", ["x/?a", "x#", "127.0.0.1:{port}/?x=", "a b", "user@127.0.0.1:{port}", "x,y", "[::1"])
def test_a_host_that_is_none_is_refused(served: Served, host: str) -> None:
    assert status(served, host=host.format(port=served.port)) == 400


def test_no_host_an_empty_one_and_two_are_refused(served: Served) -> None:
    written = f"Host: 127.0.0.1:{served.port}\r\n".encode()
    whole = request(served)
    for sent in (
        whole.replace(written, b""),
        whole.replace(written, b"Host:\r\n"),
        whole.replace(written, 2 * written),
        whole.replace(written, b"").replace(b"HTTP/1.1", b"HTTP/1.0"),
    ):
        assert served.raw(sent).split()[1] in (b"400", b"421")
    assert served.raw(whole).split()[1] == b"200"


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1.evil.example:{port}",
        "http://localhost",
        "file://",
        "chrome-extension://abc",
        "ftp://127.0.0.1:{port}",
        "http://127.0.0.1:{port}@evil.example",
        "http://[x",
    ],
)
def test_other_origins_are_refused(served: Served, origin: str) -> None:
    line = f"Origin: {origin.format(port=served.port)}"
    for method in ("GET", "POST", "DELETE"):
        assert status(served, line, method=method) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_other_sites_are_refused(served: Served, site: str) -> None:
    assert status(served, f"Sec-Fetch-Site: {site}") == 403
    assert status(served, f"Sec-Fetch-Site: {site}", path=PAGES, method="POST") == 403
    followed = (f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
    assert status(served, *followed) == 403
    assert status(served, *followed, path=PAGES) == 200, "somebody clicked on a link"
    framed = (*followed[:2], "Sec-Fetch-Dest: iframe")
    assert status(served, *framed, path=PAGES) == 403


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/tickets", "text/plain"),
        ("/api/tickets", "application/x-www-form-urlencoded"),
        ("/api/tickets", "multipart/form-data; boundary=x"),
        ("/api/tickets", "text/plain; application/json"),
        ("/api/tickets", ""),
        (PAGES, "application/json"),
        (PAGES, "multipart/form-data; boundary=x"),
        (PAGES, "text/plain"),
    ],
)
def test_bodies_of_another_type_are_refused(served: Served, path: str, kind: str) -> None:
    lines = [f"Content-Type: {kind}"] if kind else []
    assert status(served, *lines, path=path, method="POST", body="{}") == 415


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PROPFIND"])
def test_other_methods_are_refused(served: Served, method: str) -> None:
    assert status(served, method=method) in (400, 405)


def test_the_own_name_and_site_are_welcome(served: Served) -> None:
    for host in (f"127.0.0.1:{served.port}", f"localhost:{served.port}", f"LOCALHOST:{served.port}"):
        lines = (f"Origin: http://{host.lower()}", "Sec-Fetch-Site: same-origin")
        assert status(served, *lines, host=host) == 200


def test_the_token_goes_from_the_address_into_a_cookie(served: Served) -> None:
    answer = served.ask(f"/runs/x?page=2&token={served.token}", token="")
    assert (answer.status, answer.headers["location"]) == (303, "/runs/x?page=2")
    cookie = answer.headers["set-cookie"]
    assert {part.strip() for part in cookie.split(";")[1:]} == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert served.ask(API, token="", headers={"cookie": cookie.partition(";")[0]}).status == 200
    for wrong in ("/?token=x", f"/?token={served.token}&token=x", f"/?token={served.token[:-1]}"):
        assert served.ask(wrong, token="").status == 401
    assert served.ask(f"{API}?token={served.token}", token="").status == 401, "programs send a header"


@pytest.mark.parametrize(
    "path", ["//evil.example/", "/\\evil.example", "/%2f%2fevil.example", "//evil.example/%0d%0aX:y"]
)
def test_the_token_leads_to_no_other_site(served: Served, path: str) -> None:
    answer = served.ask(f"{path}?token={served.token}", token="")
    assert answer.status in (303, 401)
    location = answer.headers.get("location", "/")
    assert location[0] == "/"
    assert location[1:2] not in ("/", "\\")
    assert "X" not in answer.headers


def test_a_ticket_opens_the_pages_once(served: Served) -> None:
    ticket = served.ask("/api/tickets", "POST").json["ticket"]
    assert served.ask(API, token=ticket).status == 401
    answer = served.ask(f"/?token={ticket}", token="")
    assert answer.status == 303
    assert served.token in answer.headers["set-cookie"]
    assert served.ask(f"/?token={ticket}", token="").status == 401


@pytest.mark.parametrize("path", [PAGES, API, "/nothing", "/api/nothing", "/api/eval/runs/%3Cscript%3E"])
@pytest.mark.parametrize("token", [None, "wrong"])
def test_every_answer_says_what_a_browser_may_do(served: Served, path: str, token: str | None) -> None:
    headers = served.ask(path, token=token).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers
    if path.startswith("/api/"):
        assert headers["content-type"] == "application/json"


def test_an_error_of_the_api_has_one_shape(served: Served) -> None:
    answer = served.ask("/api/nothing/<script>")
    assert answer.status == 404
    assert answer.json == {
        "error": "there is nothing at /api/nothing/<script>",
        "code": "not_found",
        "hint": None,
        "problems": [],
    }
    assert "&lt;script&gt;" in served.ask("/nothing/<script>").text


def test_the_file_with_the_token_is_for_its_owner_alone(served: Served) -> None:
    path = served.folder / ".evalharness" / "server.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    known = json.loads(path.read_text())
    assert (known["url"], known["token"]) == (served.url, served.token)
    assert known["process"]["pid"] == served.process.pid
    assert len(served.token) == 43
