"""Who is told of a verdict, against real servers that answer, fail, redirect, close early and never answer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write

from evalharness.domain.notification import Notification
from evalharness.reports.notices import Notice
from evalharness.reports.words.say import say
from evalharness.settings import Settings
from evalharness.steps.send_notifications import Message, send_notifications

AGENT = "def answer(question):\n    return 'Lima'\n"
CASES = "test_cases:\n  - {id: peru, input: Peru?, expected: Lima}\n"
FAILING = CASES + "  - {id: chile, input: Chile?, expected: Santiago}\n"


class Hook:
    """What arrived."""

    def __init__(self, url: str, requests: list[tuple[str, dict[str, str], Any]]) -> None:
        self.url = url
        self.requests = requests

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.requests]


@contextmanager
def hook(status: int = 200, location: str = "", reply: bytes = b"ok") -> Iterator[Hook]:
    requests: list[tuple[str, dict[str, str], Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            requests.append((self.path, dict(self.headers), json.loads(body)))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_POST

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Hook(f"http://127.0.0.1:{server.server_port}/hooks/T0/s3cret-path", requests)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def listening(*, closes: bool) -> Iterator[str]:
    """A server that takes the request and then closes the connection, or never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    accepted.append(connection)
                    if closes:
                        connection.recv(10)
                        connection.close()
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/hook"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in accepted:
                connection.close()


def run(folder: Path, notify: str, cases: str = FAILING, *words: str, env: dict[str, str] | None = None) -> Outcome:
    suite = f"name: capitals\ntarget: agent.py:answer\n{notify}\n{cases}"
    write(folder, agent_py=AGENT, suite_yaml=suite, pyproject_toml="")
    return drive(folder, "run", "suite.yaml", *words, env=env)


def sent(to: Notification, folder: Path, limit_s: float = 5.0) -> list[str]:
    message = Message(to, Notice("capitals", "FAILED", 1), folder)
    settings = Settings({"PATH": "/usr/bin:/bin"})
    return [say(each) for each in asyncio.run(send_notifications([message], str, settings, limit_s))]


def test_a_failure_is_posted_with_its_summary(tmp_path: Path) -> None:
    with hook() as there:
        done = run(tmp_path, f"notify: {there.url}")
    assert (done.code, done.err) == (1, "")
    [body] = there.bodies
    assert body["verdict"] == "FAILED"
    [told] = body["runs"]
    assert (told["summary"]["passed"], told["summary"]["failed"]) == (1, 1)
    assert [failure["eval_id"] for failure in told["failures"]] == ["chile"]
    assert body["text"].startswith("✗ FAILED: capitals\n")


@pytest.mark.parametrize(
    ("on", "cases", "arrives"),
    [
        ("failure", FAILING, True),
        ("failure", CASES, False),
        ("success", CASES, True),
        ("success", FAILING, False),
        ("always", CASES, True),
        ("always", FAILING, True),
    ],
)
def test_on_says_when(tmp_path: Path, on: str, cases: str, arrives: bool) -> None:
    with hook() as there:
        run(tmp_path, f"notify: {{url: {there.url}, on: {on}}}", cases)
    assert bool(there.bodies) is arrives


def test_slack_gets_one_text_in_which_nothing_is_a_mention(tmp_path: Path) -> None:
    cases = "test_cases:\n  - {id: peru, input: Peru?, expected: '<!channel> & co'}\n"
    with hook() as there:
        run(tmp_path, f"notify: slack:{there.url}", cases)
    [body] = there.bodies
    assert set(body) == {"text"}
    assert "&lt;!channel&gt; &amp; co" in body["text"]
    assert "<" not in body["text"]


def test_a_command_gets_the_same_on_standard_input_in_the_suites_folder(tmp_path: Path) -> None:
    done = run(tmp_path, "notify: 'cmd:cat > told.json; echo noise'", FAILING, "--json")
    assert done.report["verdict"] == "FAILED", "nothing of the command reaches standard output"
    assert json.loads((tmp_path / "told.json").read_text())["exit_code"] == 1


def test_one_message_for_all_variants_of_a_suite(tmp_path: Path) -> None:
    with hook() as there:
        run(tmp_path, f"notify: {there.url}", FAILING, "--target", "oracle", "--target", "null")
    [body] = there.bodies
    assert [each["verdict"] for each in body["runs"]] == ["PASSED", "FAILED"]


def test_variables_and_headers_are_filled_in_and_secrets_taken_out(tmp_path: Path) -> None:
    notify = "notify: {url: '{{hook}}', headers: {Authorization: 'Bearer {{hook_token}}'}}"
    cases = "test_cases:\n  - {id: peru, input: Peru?, expected: 'the-hook-token-1'}\n"
    with hook() as there:
        run(tmp_path, notify, cases, "--var", f"hook={there.url}", env={"HOOK_TOKEN": "the-hook-token-1"})
    [(_, headers, body)] = there.requests
    assert headers["Authorization"] == "Bearer the-hook-token-1"
    assert "the-hook-token-1" not in json.dumps(body)
    assert "[redacted" in json.dumps(body)


def test_a_variable_without_a_value_is_a_warning(tmp_path: Path) -> None:
    done = run(tmp_path, "notify: '{{hook}}'")
    assert done.code == 1
    assert done.err == "warning: could not notify the address: no value for hook\n"


def test_the_settings_notify_where_the_suite_does_not_say(tmp_path: Path) -> None:
    with hook() as there:
        run(tmp_path, "", env={"EVALHARNESS_NOTIFY": there.url})
        run(tmp_path, "notify: []", env={"EVALHARNESS_NOTIFY": there.url})
        run(tmp_path, f"notify: {there.url}", env={"EVALHARNESS_NOTIFY": "none"})
        run(tmp_path, "", CASES, env={"EVALHARNESS_NOTIFY": there.url, "EVALHARNESS_NOTIFY_ON": "always"})
    assert [body["verdict"] for body in there.bodies] == ["FAILED", "PASSED"]


def test_settings_that_name_nobody_are_a_warning(tmp_path: Path) -> None:
    done = run(tmp_path, "", env={"EVALHARNESS_NOTIFY": "ftp://somewhere"})
    assert done.code == 1
    assert done.err.startswith("warning: could not notify the settings: ")


@pytest.mark.parametrize("cases", [CASES, FAILING])
def test_a_server_that_fails_changes_no_exit_code(tmp_path: Path, cases: str) -> None:
    with hook(500, reply=b"out of order") as there:
        done = run(tmp_path, f"notify: {{url: {there.url}, on: always}}", cases)
    place = there.url.removesuffix("/hooks/T0/s3cret-path")
    assert done.code == (0 if cases == CASES else 1)
    assert done.err == f"warning: could not notify {place}: HTTP 500: out of order\n"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    with hook() as elsewhere, hook(status, elsewhere.url) as there:
        done = run(tmp_path, f"notify: {there.url}")
    assert (len(there.requests), elsewhere.requests) == (1, [])
    assert f"HTTP {status}: it redirects elsewhere, which is not followed" in done.err


def test_a_server_that_closes_early(tmp_path: Path) -> None:
    with listening(closes=True) as url:
        done = run(tmp_path, f"notify: {url}")
    assert done.code == 1
    assert "warning: could not notify http://127.0.0.1:" in done.err
    assert "the connection broke" in done.err
    assert "/hook" not in done.err


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with listening(closes=False) as url:
        [warning] = sent(Notification(url=url), tmp_path, limit_s=0.2)
    assert warning.endswith(": no reply within 0.2 s")


def test_a_command_that_never_ends_is_killed(tmp_path: Path) -> None:
    command = "echo $$ > pid; sleep 600"
    [warning] = sent(Notification(command=command), tmp_path, limit_s=0.5)
    assert warning == "could not notify echo: no reply within 0.5 s"
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    [warning] = sent(Notification(command="echo no such channel >&2; exit 3"), tmp_path)
    assert warning == "could not notify echo: exit code 3: no such channel"


def test_a_command_that_prints_without_end_is_killed_and_named(tmp_path: Path) -> None:
    [warning] = sent(Notification(command="yes"), tmp_path, limit_s=60.0)
    assert warning == "could not notify yes: it printed too much"


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "[fe80::1]"])
def test_link_local_addresses_are_refused(tmp_path: Path, host: str) -> None:
    [warning] = sent(Notification(url=f"http://{host}/latest"), tmp_path)
    assert warning.endswith(": link-local addresses are refused")


def test_resume_tells_what_it_continued_and_not_an_old_verdict(tmp_path: Path) -> None:
    with hook() as there:
        run(tmp_path, f"notify: {there.url}")
        again = drive(tmp_path, "resume")
        assert again.code == 1
        assert len(there.bodies) == 1
        regraded = drive(tmp_path, "regrade", "latest")
    assert regraded.code == 1
    assert len(there.bodies) == 2


def test_notify_on_failure_without_notify_is_a_warning(tmp_path: Path) -> None:
    done = run(tmp_path, "reporting: {format: [], notify_on_failure: true}")
    warning = "suite.yaml:3: warning: reporting.notify_on_failure: nobody is notified: the suite has no `notify:`"
    assert done.err == f"{warning}; add one, or set EVALHARNESS_NOTIFY\n"
    assert warning in drive(tmp_path, "validate", "suite.yaml").out
    env = {"EVALHARNESS_NOTIFY": "cmd:true"}
    assert drive(tmp_path, "run", "suite.yaml", env=env).err == ""
    assert warning not in drive(tmp_path, "validate", "suite.yaml", env=env).out


def test_notify_on_failure_false_keeps_a_failure_quiet(tmp_path: Path) -> None:
    with hook() as there:
        run(tmp_path, f"reporting: {{format: [], notify_on_failure: false}}\nnotify: {there.url}")
    assert there.bodies == []


@pytest.mark.parametrize(
    ("notify", "problem"),
    [
        ("ftp://x", "notify[0]: must start with http:// or https://, or with cmd: for a command"),
        ("{on: failure}", "needs either url or command"),
        ("{url: 'http://x', command: 'y'}", "has both url and command; keep one"),
        ("{url: 'http://x', onn: always}", "unknown key 'onn'"),
        ("{url: 'http://x', on: sometimes}", "allowed: failure, success, always"),
        ("{url: 'http://u:password1@x'}", "would be stored in plain text"),
        ("{url: 'http://x', headers: {Authorization: abcdefghijkl}}", "would be stored in plain text"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path: Path, notify: str, problem: str) -> None:
    done = run(tmp_path, f"notify: {notify}")
    assert done.code == 2
    assert "suite.yaml:3: notify" in done.err
    assert problem.removeprefix("notify[0]: ") in done.err
