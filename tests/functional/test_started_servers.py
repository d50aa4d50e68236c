"""`start` of the http target: the harness starts the service, waits for it, and ends it however the run ends."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import LONGEST_WAIT_S, drive, start, write

SERVER = """
import os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Path("started").open("a").write(f"{os.getpid()}\\n")
Path("child").write_text(str(subprocess.Popen(["sleep", "600"]).pid))

class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if "slow" in asked:
            Path("asked").write_text("now")
            time.sleep(600)
        if "die" in asked:
            print("out of coffee", file=sys.stderr, flush=True)
            os._exit(7)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(asked.encode())

ThreadingHTTPServer(("127.0.0.1", PORT), Service).serve_forever()
"""
SUITE = """
name: served
target: {{http: {{url: "http://127.0.0.1:{port}/", body: "{{input}}", result: text, {start}}}}}
config: {{retries: 0}}
test_cases: [{{id: a, input: {asked}, expected: {asked}}}]
"""


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def suite(folder: Path, port: int, *, asked: str = "hello", start: str = "start: python3 server.py") -> None:
    write(folder, server_py=SERVER.replace("PORT", str(port)))
    write(folder, suite_yaml=SUITE.format(port=port, asked=asked, start=start))


def listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def starts(folder: Path) -> list[int]:
    return [int(pid) for pid in (folder / "started").read_text().split()]


def is_gone(folder: Path, port: int) -> bool:
    pids = [*starts(folder), int((folder / "child").read_text())]
    return not listens(port) and not any(map(lives, pids))


def until(condition: object, what: str) -> None:
    deadline_s = time.monotonic() + LONGEST_WAIT_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


def test_the_server_runs_for_the_run_and_not_longer(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port)
    done = drive(tmp_path, "run", "suite.yaml", "--json", "--repeat", "5")
    assert done.code == 0, done.both
    assert len(starts(tmp_path)) == 1
    assert is_gone(tmp_path, port)


def test_it_is_started_in_the_folder_of_the_suite_and_may_be_an_argument_list(tmp_path: Path, port: int) -> None:
    suite(tmp_path / "evals", port, start="start: [python3, server.py]")
    done = drive(tmp_path, "run", "evals/suite.yaml")
    assert done.code == 0, done.both
    assert is_gone(tmp_path / "evals", port)


def test_variants_with_the_same_server_share_it(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port)
    text = (tmp_path / "suite.yaml").read_text()
    target = text.split("target: ")[1].splitlines()[0]
    loud = target.replace('body: "{input}"', 'body: "{input}!"')
    write(tmp_path, suite_yaml=text.replace(f"target: {target}", f"variants: {{calm: {target}, loud: {loud}}}"))
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 1, done.both
    assert "hello!" in done.out
    assert len(starts(tmp_path)) == 1
    assert is_gone(tmp_path, port)


def test_a_port_in_use_is_reported_and_left_alone(tmp_path: Path, port: int, other: None) -> None:
    suite(tmp_path, port)
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 3, done.both
    assert f"something is already listening at http://127.0.0.1:{port}, so 'python3 server.py'" in done.err
    assert "remove `start`" in done.err
    assert not (tmp_path / "started").exists()
    assert listens(port)


@pytest.fixture
def other(port: int) -> Iterator[None]:
    with http.server.HTTPServer(("127.0.0.1", port), http.server.BaseHTTPRequestHandler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("python3 -c 'raise SystemExit(\"no coffee\")'", "exit code 1: no coffee"),
        ("python3 -c pass", "exit code 0"),
        ("exec no-such-program-here", "exit code 127: "),
        ("kill -9 $$", "killed by signal 9"),
    ],
)
def test_a_server_that_ends_at_once_is_reported_with_its_last_words(
    tmp_path: Path, port: int, command: str, why: str
) -> None:
    suite(tmp_path, port, start=f"start: {json_text(command)}")
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 3, done.both
    assert f"ended before it answered: {why}" in " ".join(done.err.split())
    assert "must stay in the foreground" in " ".join(done.err.split())


def json_text(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port, start="start: 'echo $$ > started; exec sleep 600', start_timeout_seconds: 0.3")
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 3, done.both
    assert f"did not answer at http://127.0.0.1:{port} within 0.3 s" in " ".join(done.err.split())
    assert not any(map(lives, starts(tmp_path)))


def test_a_server_that_dies_between_questions_says_why(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port, asked="die")
    done = drive(tmp_path, "run", "suite.yaml", "--json")
    assert done.states() == {"a": ["error"]}
    assert "the server 'python3 server.py' has ended: exit code 7: out of coffee" in done.out
    assert is_gone(tmp_path, port)


@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_the_harness_and_resume_starts_it_again(tmp_path: Path, port: int, sent: int) -> None:
    suite(tmp_path, port, asked="slow")
    with start(tmp_path, "run", "suite.yaml") as started:
        until((tmp_path / "asked").exists, "no question was asked")
        os.kill(started.pid, sent)
        started.wait()
    until(lambda: is_gone(tmp_path, port), "the server still runs")

    (tmp_path / "asked").unlink()
    with start(tmp_path, "resume") as again:
        until((tmp_path / "asked").exists, "no question was asked again")
        again.send_signal(signal.SIGINT)
        again.wait()
    assert len(starts(tmp_path)) == 2
    until(lambda: is_gone(tmp_path, port), "the server still runs")


def test_an_edited_server_is_another_target(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port, asked="slow")
    with start(tmp_path, "run", "suite.yaml") as started:
        until((tmp_path / "asked").exists, "no question was asked")
        started.send_signal(signal.SIGINT)
        started.wait()
    with (tmp_path / "server.py").open("a") as file:
        file.write("\n# another\n")
    refused = drive(tmp_path, "resume")
    assert refused.code == 2, refused.both
    assert "the target" in refused.err


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        ("start: ''", "start: is empty"),
        ("start: []", "start: is empty"),
        ("start: python3 server.py, start_timeout_seconds: 0", "start_timeout_seconds: must be greater than 0"),
    ],
)
def test_validate_reports_what_cannot_be_started(tmp_path: Path, port: int, start: str, problem: str) -> None:
    suite(tmp_path, port, start=start)
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2, done.both
    assert problem in done.both


def test_a_server_needs_a_fixed_address(tmp_path: Path, port: int) -> None:
    suite(tmp_path, port)
    text = (tmp_path / "suite.yaml").read_text()
    write(tmp_path, suite_yaml=text.replace(f"127.0.0.1:{port}", "{host}"))
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2, done.both
    assert "`start` needs a fixed address" in done.both
