"""`serve` for people: what it prints, wrong input, stopping, a second server; and `run --open`."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from capitals import capitals_project
from driving import drive, succeed, wait_until, write
from served import Served, serving, start_server

BROWSER = '#!/bin/sh\necho "$1" >> opened.txt\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path / "project")


@pytest.fixture
def browser(project: Path) -> dict[str, str]:
    """The environment in which pages are opened by a program that notes their addresses."""
    write(project, browser_sh=BROWSER)
    (project / "browser.sh").chmod(0o755)
    return {"BROWSER": str(project / "browser.sh")}


def opened(project: Path) -> list[str]:
    path = project / "opened.txt"
    return path.read_text().split() if path.exists() else []


def test_it_says_where_it_is_what_it_serves_and_how_to_stop(project: Path) -> None:
    with serving(project, "--allow-target", "mine=agent.py:right") as served:
        printed = served.interrupt()
    assert printed.splitlines() == [
        f"open    {served.url}/?token={served.token}",
        f"store   {served.store}",
        f"suites  {project}",
        "target  mine = agent.py:right",
        "stop    Ctrl-C; runs that are under way go on (2 runs at the same time)",
        "",
        "stopped",
    ]
    assert served.process.returncode == 0


def test_the_token_is_kept_until_a_new_one_is_asked_for(project: Path) -> None:
    file = project / ".evalharness" / "server.json"
    with serving(project) as first:
        first.interrupt()
    file.chmod(0o644)
    with serving(project) as second:
        assert second.token == first.token
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        second.interrupt()
    with serving(project, "--new-token") as third:
        assert third.token != first.token
        assert third.ask("/api/health", token=first.token).status == 401
        third.interrupt()
    file.write_text("{")
    with serving(project) as fourth:
        assert fourth.ask("/api/health").status == 200


def test_a_second_server_on_the_store_says_where_the_first_is(project: Path) -> None:
    with serving(project) as served:
        refused = drive(project, "view", "--port", "0")
        assert refused.code == 2
        assert f"a server is already running on this store at {served.url}" in refused.err
        assert served.token not in refused.both
        other = drive(project, "serve", "--port", str(served.port), "--store", "other.db")
        assert other.code == 2
        assert f"cannot listen on port {served.port}" in other.err
        assert "--port" in other.err


def test_a_killed_server_leaves_the_store_to_the_next_one(project: Path) -> None:
    served = start_server(project)
    served.kill()
    with serving(project) as again:
        assert again.ask("/api/health").status == 200


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "evals.example"], "--allow-remote"),
        (["--host", "192.0.2.1", "--allow-remote", "--port", "0"], "cannot listen"),
        (["--host", "no host", "--allow-remote"], "is not an address"),
        (["--store", ":memory:"], "a server needs a store in a file"),
        (["--port", "70000"], "--port: must be an integer from 0 to 65,535"),
        (["--jobs", "0"], "--jobs: must be an integer"),
        (["--suites", "nowhere"], "--suites"),
        (["--allow-target", "x"], "write NAME=TARGET"),
        (["--allow-target", "=x"], "write NAME=TARGET"),
        (["--allow-target", "a=b", "--allow-target", "a=c"], "'a' is given twice"),
        (["--allow-target", "a=nowhere.py:f"], "a: no file nowhere.py"),
        (["--allow-target", "a=nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--allow-target", "a=chat:nobody/x"], "unknown model provider"),
        (["--root-path", "evals"], "write a path such as /evals"),
        (["--root-path", "//evil.example"], "write a path such as /evals"),
        (["--trusted-host", "*"], "write a host"),
        (["--trusted-host", "http://x"], "write a host"),
    ],
)
def test_wrong_input_is_wrong_usage(project: Path, flags: list[str], said: str) -> None:
    outcome = drive(project, "serve", *flags)
    assert outcome.code == 2, outcome.both
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_it_listens_on_ipv6_as_well(project: Path) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return  # this machine has none
    served = start_server(project, "--host", "::1")
    assert served.url == f"http://[::1]:{served.port}"
    served.interrupt()


def test_serve_opens_the_home_page_with_a_ticket(project: Path, browser: dict[str, str]) -> None:
    with serving(project, "--open", env=browser) as served:
        wait_until(lambda: bool(opened(project)))
        [address] = opened(project)
        assert address.startswith(f"{served.url}/?token=")
        assert served.token not in address
        assert served.ask(address.removeprefix(served.url), token="").status == 303


def test_a_run_opens_its_page_where_a_server_is_running(project: Path, browser: dict[str, str]) -> None:
    with serving(project) as served:
        ran = drive(project, "run", "suite.yaml", "--open", env=browser)
        wait_until(lambda: bool(opened(project)))
        run_id = _newest(served)
        assert f"page     {served.url}/runs/{run_id}\n" in ran.out
        [address] = opened(project)
        assert address.startswith(f"{served.url}/runs/{run_id}?token=")
        assert served.token not in address + ran.both
        assert served.ask(address.removeprefix(served.url), token="").status == 303
        assert not list(project.rglob("*.html"))
        assert "page" not in drive(project, "run", "suite.yaml", "--json").both.split()


def test_without_a_server_a_run_opens_its_html_report(project: Path, browser: dict[str, str]) -> None:
    with serving(project) as served:
        served.interrupt()
    ran = succeed(project, "run", "suite.yaml", "--open", "--run-name", "nightly", code=1)
    assert "page " not in ran.out
    assert "wrote" in ran.out
    ran = drive(project, "run", "suite.yaml", "--open", "--run-name", "weekly", env=browser)
    report = project / ".evalharness" / "reports" / "weekly.html"
    assert opened(project) == [report.as_uri()]
    assert "weekly" in report.read_text()


def test_a_run_goes_on_when_its_server_stops_and_that_is_said(project: Path) -> None:
    from evalharness.actions.list_jobs import find_job
    from evalharness.actions.start_job import start_job
    from evalharness.domain.job import JobRequest

    write(
        project,
        slow_py="import pathlib, time\ndef agent(text):\n"
        "    while not pathlib.Path('open').exists():\n        time.sleep(0.01)\n    return text\n",
    )
    with serving(project) as served, served.harness() as harness:
        job = harness.call(start_job, JobRequest(suite="suite.yaml", target="slow.py:agent"))
        wait_until(lambda: bool(harness.runs()))
        printed = served.interrupt()
        assert "stopped; 1 run goes on in the background" in printed
        found = harness.call(find_job, job.run_id)
        assert found is not None and found.process is not None
        os.kill(found.process.pid, 0)  # it is there
        (project / "open").touch()
        wait_until(lambda: harness.runs()[0].pending == 0)


def _newest(served: Served) -> str:
    with served.harness() as harness:
        return harness.runs(1)[0].id


def test_the_flag_for_the_id_of_a_run_takes_only_ids(project: Path) -> None:
    outcome = drive(project, "run", "suite.yaml", "--run-id", "../x")
    assert outcome.code == 2
    assert "is not the id of a run" in outcome.err
    run_id = "eval-20260102-030405-a3f9"
    assert (
        json.loads(drive(project, "run", "suite.yaml", "--run-id", run_id, "--json").out)["eval_report"]["metadata"][
            "run_id"
        ]
        == run_id
    )
    again = drive(project, "run", "suite.yaml", "--run-id", run_id)
    assert (again.code, "already" in again.err) == (2, True)
    assert "--run-id" not in drive(project, "run", "--help").out
