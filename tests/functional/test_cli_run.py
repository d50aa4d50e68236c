"""`eval-harness run` from a user's view: what is run, printed and stored, and what the exit code means."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from capitals import SUITE, capitals_project
from driving import drive, line_of, start, wait_until, write
from threaded_server import Reply, serving


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path)


def test_the_verdict_summarises_everything(project: Path) -> None:
    done = drive(project, "run", "suite.yaml")

    assert done.code == 1
    assert done.out.startswith("capitals · agent.py:answer · 3 cases × 2 trials\n\n✗ peru   0/2   exact\n")
    assert re.search(r"^ +- Lima\n +\+ Cusco\n✓ 2 cases passed every trial$", done.out, re.M)
    assert re.search(r"^pass rate   67 %  ·*├─*●─*┤·*  \d+–\d+ %   3 cases are too few to say more$", done.out, re.M)
    assert "bootstrap" not in done.out
    name = re.search(r"^FAILED   1 failed, 2 passed   \d\S* m?s   ([a-z]+-[a-z]+-\d+)$", done.out, re.M)
    assert name, done.out
    command = line_of(done, "look").split("eval-harness ")[1].split()
    assert command == ["show", name[1], "peru"]
    assert "Cusco" in drive(project, *command).out
    assert "\x1b" not in done.both
    assert done.err == ""


def test_more_is_told_to_those_who_ask(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "-v")

    planned, parts = line_of(done, "trials ").removeprefix("trials").split("=")
    assert planned.strip() == "6 planned"
    assert sum(int(number) for number in re.findall(r"\d+", parts)) == 6
    assert re.search(r"95 % interval: Bayesian bootstrap plus one case, 3 cases, 6 trials", done.out)
    assert "america: 0 of 1 case passed, pass rate 0 % (" in done.out
    assert "capability: 1 of 1 case passed, pass rate 100 % (" in done.out


def capital(request: BaseHTTPRequestHandler, body: bytes) -> Reply:
    country = json.loads(body)["input"]
    known = {"France": "Paris", "Peru": "Lima", "Japan": "Tokyo"}
    return Reply(json.dumps({"output": known[country]}), content_type="application/json")


@pytest.fixture
def server() -> Iterator[str]:
    with serving(capital) as base:
        yield f"{base}/ask"


def test_targets_of_every_kind_side_by_side(project: Path, server: str) -> None:
    write(
        project,
        spare_py="from agent import right",
        tool_py="print({'France': 'Paris', 'Peru': 'Lima', 'Japan': 'Tokyo'}[input()])",
        described_yaml="command: [python3, tool.py]\nname: described\n",
        posted_json=json.dumps({"http": {"url": server, "body": {"input": "{input}"}, "answer": "output"}}),
    )
    right = ["agent.py:right", "agent.py:later", "spare:right", "cmd:python3 tool.py", server]
    right += ["oracle", "described.yaml", "posted.json"]
    wrong = ["null", "empty", "echo"]
    flags = [word for target in right + wrong for word in ("--target", target)]

    done = drive(project, "run", "suite.yaml", "--repeat", "1", *flags, "--json")

    reports = done.json["eval_reports"]
    assert [report["summary"]["passed"] for report in reports] == [3] * len(right) + [0] * len(wrong), done.both
    assert len({report["metadata"]["run_id"] for report in reports}) == len(reports)
    assert done.code == 1


def test_variants_are_shown_side_by_side_and_the_worst_decides(project: Path) -> None:
    variants = "variants: {good: agent.py:right, bad: agent.py:answer, broken: down.py:answer}\n"
    write(
        project,
        suite_yaml=SUITE.replace("target: agent.py:answer", variants).replace("trials: 2", "trials: 1"),
        down_py="import evalharness\ndef answer(text): raise evalharness.TargetUnavailable('no route')",
    )
    done = drive(project, "run")

    assert done.code == 3, "a run that broke takes precedence over one that failed"
    assert re.search(r"^ +good +bad +broken$", done.out, re.M)
    assert re.search(r"^pass rate +100 % \(\d+–100\) +67 % \(\d+–\d+\) +–$", done.out, re.M)
    assert re.search(r"^peru +✓ passed +✗ Cusco +! .*no route", done.out, re.M)
    assert re.search(r"^PASSED +3 passed   [a-z]+-[a-z]+-\d+   good$", done.out, re.M)
    assert re.search(r"^FAILED +1 failed, 2 passed   [a-z]+-[a-z]+-\d+   bad$", done.out, re.M)
    assert re.search(r"^INVALID +3 errors   [a-z]+-[a-z]+-\d+   broken\n +all 3 trials ended in error", done.out, re.M)
    assert "no route" in done.out
    assert re.search(r"^resume +eval-harness resume [a-z]+-[a-z]+-\d+$", done.out, re.M)


def test_exit_codes(project: Path) -> None:
    write(
        project,
        broken_py="import nothing_of_this_name",
        flaky_py="def answer(text): raise ConnectionError('refused')",
    )
    expected = {
        ("--target", "oracle"): (0, "PASSED"),
        ("--target", "null"): (1, "FAILED"),
        ("--only", "nowhere"): (2, "no case of suite.yaml matches the name 'nowhere'"),
        ("--target", "broken.py:answer"): (3, "cannot be imported"),
        ("--target", "flaky.py:answer"): (3, "all 3 trials ended in error, so nothing is known about the target"),
        ("--grader-type", "model"): (4, "not graded yet"),
    }
    for words, (code, text) in expected.items():
        done = drive(project, "run", "suite.yaml", "--trials", "1", *words)
        assert (done.code, text in done.both) == (code, True), (words, done)
        assert "Traceback" not in done.both


def test_skipped_cases_say_why(project: Path) -> None:
    write(project, rated_yaml="name: rated\ntarget: echo\ntest_cases: [{id: a, input: x, graders: [human]}]")
    done = drive(project, "run", "rated.yaml", "--grader-type", "code", "--json")

    assert done.code == 3
    assert done.states() == {"a": ["skipped"]}
    assert done.report["summary"]["skipped"] == 1
    assert "no code grader" in done.out
    assert "every case was skipped" in done.report["why"]["text"]


def committed_trials(project: Path) -> int:
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as store:
        [(number,)] = store.execute("SELECT COUNT(*) FROM trials")
    return int(number)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(project: Path) -> None:
    write(
        project,
        slow_py="""
import pathlib, time
def answer(country):
    if country != "France":
        pathlib.Path("waiting").touch()
        time.sleep(60)
    return "Paris"
""",
    )
    with start(project, "run", "suite.yaml", "--target", "slow.py:answer", "-o", "report.md") as process:
        wait_until(lambda: (project / "waiting").exists() and committed_trials(project) == 2)
        process.send_signal(signal.SIGINT)
        done = process.wait()

    assert done.code == 130, done.both
    assert "4 of 6 trials not run yet" in done.out
    assert "INTERRUPTED" in done.out
    assert "Traceback" not in done.both
    command = line_of(done, "resume").split("eval-harness ")[1]
    assert re.fullmatch(r"resume [a-z]+-[a-z]+-\d+", command)
    boxes = re.findall(r"^- \[.*", (project / "report.md").read_text(), re.MULTILINE)
    assert sorted(boxes) == ["- [ ] japan (PENDING)", "- [ ] peru (PENDING)", "- [x] france: The Capital of France"]
    assert "INTERRUPTED" in drive(project, "runs").out and "2 of 6 trials" in drive(project, "runs").out


def test_where_runs_are_kept(project: Path) -> None:
    inner = project / "deep" / "inner"
    inner.mkdir(parents=True)
    suite = str(project / "suite.yaml")
    oracle = ("--target", "oracle")

    assert drive(inner, "run", suite, *oracle).code == 0
    assert (project / ".evalharness" / "store.db").is_file(), "the nearest pyproject.toml in a parent folder"
    assert not (inner / ".evalharness").exists()

    (project / "deep" / ".evalharness").mkdir()
    assert drive(inner, "run", suite, *oracle).code == 0
    assert (project / "deep" / ".evalharness" / "store.db").is_file(), "a nearer .evalharness"

    named = drive(inner, "run", suite, *oracle, "--store", "my runs.db")
    assert (inner / "my runs.db").is_file()
    assert "--store 'my runs.db'" in line_of(named, "look")

    before = sorted(project.rglob("*"))
    kept_nowhere = drive(inner, "run", suite, *oracle, "--store", ":memory:")
    assert kept_nowhere.code == 0
    assert "nothing was stored" in line_of(kept_nowhere, "note")
    assert sorted(project.rglob("*")) == before


def test_a_dry_run_starts_nothing(project: Path) -> None:
    write(
        project,
        paid_py="""
import pathlib
import evalharness
pathlib.Path("imported").touch()
def answer(country):
    return evalharness.Answer(output="Paris", cost_usd=0.01)
""",
    )
    target = ("--target", "paid.py:answer")
    dry = drive(project, "run", "suite.yaml", *target, "--dry-run")
    assert dry.code == 0
    assert "capitals on paid.py:answer: 3 cases × 2 trials = 6" in dry.out
    assert "not known" in dry.out
    assert not (project / "imported").exists()
    assert "no runs yet" in drive(project, "runs").out

    assert "$0.06" in line_of(drive(project, "run", "suite.yaml", *target), "cost")
    [planned] = drive(project, "run", "suite.yaml", *target, "--dry-run", "--repeat", "10", "--json").json["dry_run"]
    assert planned["trials"] == 30
    assert planned["known_cost_usd"] == pytest.approx(0.30)


def test_verbose_shows_each_trial_and_nothing_a_terminal_would_obey(project: Path) -> None:
    write(
        project,
        rude_py=r"""
def answer(country):
    if country == "Peru":
        raise ValueError("\x1b]0;title\x07 \x1b[31mred\x1b[0m \x9b2J gone")
    return "\x1b]52;c;cHduZWQ=\x07\x1b[2J" + country + "\x08"
""",
    )
    done = drive(project, "run", "suite.yaml", "--target", "rude.py:answer", "--trials", "1", "--verbose")

    assert re.search(r"^    ✗ trial 1   failed   .*\n +exact: fail 0\.00  expected 'Paris'", done.out, re.M)
    assert re.search(r"^ +exact: fail 0\.00  expected 'Paris', got .*\n +output: France$", done.out, re.M)
    assert "the target raised ValueError: red gone" in done.out
    shown = drive(project, "show", line_of(done, "look").split()[3], "peru")
    for text in (done.both, shown.both):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "red" in shown.out
