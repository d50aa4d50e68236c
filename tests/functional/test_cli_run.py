"""`eval-harness run` as its users meet it: every flag, what is printed, and what the exit code says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from driving import COMMAND, Outcome, clean_environment, drive, write

AGENT = """
CAPITALS = {"France": "Paris", "Peru": "Cusco", "Japan": "Tokyo"}

def answer(country):
    return CAPITALS[country]

def right(country, context):
    assert context.case.id and context.index == 0 and context.seed >= 0 and context.workspace.is_dir()
    return {**CAPITALS, "Peru": "Lima"}[country]

async def later(country):
    return {**CAPITALS, "Peru": "Lima"}[country]
"""
SUITE = """
name: capitals
target: agent.py:answer
trials: 2
test_cases:
  - {id: france, name: The Capital of France, input: France, expected: Paris, tags: [eu, quick], category: europe}
  - {id: peru, input: Peru, expected: Lima, tags: [am], category: america}
  - {id: japan, input: Japan, expected: Tokyo, tags: [quick], category: asia, eval_type: capability}
"""
METADATA = {"suite_name", "run_id", "run_name", "timestamp", "duration_seconds", "environment"}
COUNTS = {"passed", "failed", "skipped", "awaiting", "pending"}
SUMMARY = COUNTS | {"total_evals", "errors", "pass_rate", "case_pass_rate", "by_category", "by_topic", "by_grader"}
TRIAL = {"case_id", "index", "state", "score", "duration_s", "output", "error", "cost_usd", "input_tokens"}
TRIAL |= {"output_tokens", "attempts", "grades"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


@pytest.fixture
def server() -> Iterator[str]:
    class Capitals(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            body = json.dumps({"output": {"France": "Paris", "Peru": "Lima", "Japan": "Tokyo"}[question]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None: ...

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Capitals)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}/ask"
    listening.shutdown()
    thread.join()
    listening.server_close()


def line_of(outcome: Outcome, label: str) -> str:
    return next(line for line in outcome.out.splitlines() if line.startswith(label))


def test_the_verdict_tells_the_whole_story(project: Path) -> None:
    done = drive(project, "run", "suite.yaml")

    assert done.code == 1
    planned, parts = line_of(done, "trials ").removeprefix("trials").split("=")
    assert planned.strip() == "6 planned"
    assert sum(int(number) for number in re.findall(r"\d+", parts)) == 6
    assert re.search(r"67 % +95 % interval \d+–\d+ %.*clustered Wilson, 3 cases, 6 trials", line_of(done, "pass rate"))
    assert "america: 0 of 1 case passed, 0 %" in done.out
    assert "capability: 1 of 1 case passed, 100 %" in done.out
    assert "FAILED peru  2 failed\n      exact: expected 'Lima', got 'Cusco'" in done.out
    name = re.search(r"^FAILED  1 case failed  run ([a-z]+-[a-z]+-\d+) \(eval-\d{8}-\d{6}-\w+\)$", done.out, re.M)
    assert name, done.out
    command = line_of(done, "next").split("eval-harness ")[1].split()
    assert command == ["show", name[1], "peru"]
    assert "Cusco" in drive(project, *command).out
    assert "\x1b" not in done.both
    assert done.err == ""


def test_json_is_one_document_whatever_the_target_prints(project: Path) -> None:
    write(
        project,
        noisy_py="""
import ctypes, os, subprocess, sys
print("noise at import")
def answer(country):
    print("noise by print")
    sys.stdout.flush()
    os.write(1, b"noise by write\\n")
    subprocess.run(["echo", "noise by child"])
    ctypes.CDLL(None).puts(b"noise by C")
    return {"France": "Paris", "Peru": "Cusco", "Japan": "Tokyo"}[country]
""",
    )
    done = drive(project, "run", "suite.yaml", "--target", "noisy.py:answer", "--json")

    assert done.code == 1
    assert all(f"noise {kind}" in done.err for kind in ("at import", "by print", "by write", "by child"))
    assert list(done.json) == ["eval_report"]
    report = done.report
    assert {"metadata", "summary", "metrics", "measurements", "failures", "trials"} <= set(report)
    assert set(report["metadata"]) >= METADATA
    summary = report["summary"]
    assert set(summary) >= SUMMARY
    assert summary["total_evals"] == sum(summary[state] for state in (COUNTS | {"errors"})) == 3
    assert summary["trials"]["planned"] == sum(summary["trials"][state] for state in COUNTS | {"error"}) == 6
    assert summary["pass_rate"] == pytest.approx(2 / 3)
    assert set(summary["by_category"]) == {"europe", "america", "capability"}
    assert set(summary["by_topic"]) == {"europe", "america", "asia"}
    assert set(summary["by_grader"]) == {"code"}
    assert {"low", "high", "method"} <= set(report["measurements"]["pass_rate"])
    [failure] = report["failures"]
    assert failure["eval_id"] == failure["name"] == "peru"
    assert failure["reason"] == "exact: expected 'Lima', got 'Cusco'"
    assert failure["details"] == {"failed": 2}
    trials = report["trials"]
    assert [(trial["case_id"], trial["index"]) for trial in trials] == [
        (case, index) for case in ("france", "japan", "peru") for index in (0, 1)
    ]
    assert all(set(trial) >= TRIAL for trial in trials)
    assert trials[0]["output"] == "Paris"
    grade = trials[0]["grades"][0]
    assert {**grade, "grader": "exact", "kind": "exact", "state": "pass", "score": 1.0} == grade


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

    assert done.code == 3, "a run that broke outweighs one that failed"
    table = done.out[done.out.index("cases passed") :]
    assert re.search(r"capitals +good +3 of 3 +100 % .*PASSED", table)
    assert re.search(r"capitals +bad +2 of 3 +67 % .*FAILED", table)
    assert re.search(r"capitals +broken +0 of 3 +– .* 3 +INVALID", table)
    assert re.search(r"^peru +passed +failed +error", table, re.M)
    assert "no route" in done.out
    assert "mend the cause, then: eval-harness resume" in done.out


def test_exit_codes(project: Path) -> None:
    write(
        project,
        broken_py="import nothing_of_this_name",
        flaky_py="def answer(text): raise ConnectionError('refused')",
    )
    expected = {
        ("--target", "oracle"): (0, "PASSED"),
        ("--target", "null"): (1, "FAILED"),
        ("--only", "nowhere"): (2, "no case of suite.yaml matches --only nowhere"),
        ("--target", "broken.py:answer"): (3, "cannot be imported"),
        ("--target", "flaky.py:answer"): (3, "3 of 3 trials ended in error, more than the 2 % allowed"),
        ("--grader-type", "model"): (3, "every case was skipped"),
    }
    for words, (code, text) in expected.items():
        done = drive(project, "run", "suite.yaml", "--trials", "1", *words)
        assert (done.code, text in done.both) == (code, True), (words, done)
        assert "Traceback" not in done.both


def test_skipped_cases_say_why(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "--grader-type", "model", "--json")

    assert done.code == 3
    assert {trial["state"] for trial in done.report["trials"]} == {"skipped"}
    assert done.report["summary"]["skipped"] == 3
    assert "no model grader" in done.out


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
    process = subprocess.Popen(
        [*COMMAND, "run", "suite.yaml", "--target", "slow.py:answer"],
        cwd=project,
        env=clean_environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (project / "waiting").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # the two trials of france need a moment to be finished
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130, out + err
    assert "6 planned = 2 passed + 4 pending" in out
    assert "INTERRUPTED" in out
    assert "Traceback" not in out + err
    command = next(line for line in out.splitlines() if line.startswith("next")).split("eval-harness ")[1]
    (project / "slow.py").touch()
    assert re.fullmatch(r"resume [a-z]+-[a-z]+-\d+", command)
    assert "2 passed 4 pending" in drive(project, "runs").out


def test_usage_errors_as_json(project: Path) -> None:
    write(project, broken_yaml="trials: many\ntest_cases: [{id: a, inptu: x}]\n", needy_yaml="x: 1")
    expected = {
        ("run", "--limit", "no"): "--limit",
        ("run", "--bogus"): "--bogus",
        ("bogus",): "no command 'bogus'",
        ("run", "missing.yaml"): "1 problem found",
        ("run", "broken.yaml"): "3 problems found",
        ("run", "suite.yaml", "--target", "orcale"): "Did you mean 'oracle'?",
        ("run", "suite.yaml", "--var", "novalue"): "--var 'novalue' has no value",
        ("show", "nobody"): "unknown run 'nobody'",
    }
    for words, text in expected.items():
        done = drive(project, *words, "--json")
        error = done.json["error"]
        assert (done.code, error["code"]) == (2, 2), words
        assert text in error["message"], (words, error)
        assert isinstance(error["problems"], list)
    problems = drive(project, "run", "broken.yaml", env={"EVALHARNESS_JSON": "1"}).json["error"]["problems"]
    assert [(problem["line"], problem["field"]) for problem in problems] == [
        (1, "trials"),
        (2, "test_cases[0].inptu"),
        (2, "test_cases[0].input"),
    ]
    assert problems[1]["suggestion"] == "input"


def test_how_often_and_how_many_at_a_time(project: Path) -> None:
    write(
        project,
        counting_py="""
import asyncio
active = 0
async def answer(country):
    global active
    active += 1
    await asyncio.sleep(0.05)
    seen, active = active, active - 1
    return str(seen)
""",
    )
    cpus = str(os.cpu_count() or 1)
    for words, trials, most in (
        (("--repeat", "4", "-c", "3"), 12, "3"),
        (("--trials", "3", "-j", "0"), 9, cpus),
        (("--epochs", "1", "--max-concurrency", "1"), 3, "1"),
    ):
        done = drive(project, "run", "suite.yaml", "--target", "counting.py:answer", "--json", *words)
        outputs = [trial["output"] for trial in done.report["trials"]]
        assert len(outputs) == trials
        assert max(outputs, key=int) == most, words


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["--only", "FR*"], {"france"}),
        (["--only", "capital of"], {"france"}),
        (["--only", "SUITE.y*"], {"france", "peru", "japan"}),
        (["--only", "p?ru", "--only", "japan"], {"peru", "japan"}),
        (["--tag", "quick"], {"france", "japan"}),
        (["--tag", "quick", "--tag", "am", "--only", "UIT"], {"france", "peru", "japan"}),
        (["--category", "capability", "--category", "america"], {"peru", "japan"}),
        (["--category", "asia"], {"japan"}),
        (["--limit", "2"], {"france", "peru"}),
    ],
)
def test_choosing_cases(project: Path, words: list[str], chosen: set[str]) -> None:
    done = drive(project, "run", "--suite", "suite.yaml", "--target", "oracle", "--json", *words)
    assert set(done.states()) == chosen


def test_env_reaches_functions_and_commands(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py="import os\ndef answer(text): return ' '.join(os.environ.get(n, '-') for n in text.split())",
        suite_yaml="""
test_cases: [{id: a, input: FROM_FLAG INHERITED FROM_FILE BOTH, expected: flag inherited file flag}]
""",
    )
    (tmp_path / ".env").write_text("FROM_FILE=file\nBOTH=file\n")
    command = "cmd:echo $FROM_FLAG $INHERITED $FROM_FILE $BOTH"
    flags = ["--env", "FROM_FLAG=flag", "-e", "INHERITED", "-e", "BOTH=flag"]

    done = drive(
        tmp_path, "run", "--target", "agent.py:answer", "--target", command, *flags, env={"INHERITED": "inherited"}
    )
    assert done.code == 0, done.both


def test_variables(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml=r"""
target: echo
vars: {Everywhere: suite, twice: suite, number: 5}
test_cases:
  - id: a
    input: '{{EVERYWHERE}} {{ Twice }} {{once}} {{number}} \{{literal}} {{any_thing}} {single}'
    expected: 'flag suite environment 5 \{{literal}} {{any_thing}} {single}'
""",
        needy_yaml="target: echo\ntest_cases: [{id: a, input: '{{name}} {{Town}}', expected: x}]",
    )
    env = {"EVERYWHERE": "environment", "TWICE": "environment", "ONCE": "environment"}
    done = drive(tmp_path, "run", "suite.yaml", "--var", "everyWHERE=flag", env=env)
    assert done.code == 0, done.both

    missing = drive(tmp_path, "run", "needy.yaml", "--var", "NAME=Ada")
    assert missing.code == 2
    assert "--var town=…" in missing.err
    checked = drive(tmp_path, "validate", "needy.yaml")
    assert checked.code == 0
    assert "note: needs the variable name" in checked.out


def test_where_runs_are_kept(project: Path) -> None:
    inner = project / "deep" / "inner"
    inner.mkdir(parents=True)
    suite = str(project / "suite.yaml")
    oracle = ("--target", "oracle")

    assert drive(inner, "run", suite, *oracle).code == 0
    assert (project / ".evalharness" / "store.db").is_file(), "the nearest pyproject.toml upwards"
    assert not (inner / ".evalharness").exists()

    (project / "deep" / ".evalharness").mkdir()
    assert drive(inner, "run", suite, *oracle).code == 0
    assert (project / "deep" / ".evalharness" / "store.db").is_file(), "a nearer .evalharness"

    named = drive(inner, "run", suite, *oracle, "--store", "my runs.db")
    assert (inner / "my runs.db").is_file()
    assert "--store 'my runs.db'" in line_of(named, "next")

    before = sorted(project.rglob("*"))
    kept_nowhere = drive(inner, "run", suite, *oracle, "--store", ":memory:")
    assert kept_nowhere.code == 0
    assert "nothing was kept" in line_of(kept_nowhere, "next")
    assert sorted(project.rglob("*")) == before


def test_only_what_failed_last_time(project: Path) -> None:
    assert "has not been run before" in drive(project, "run", "suite.yaml", "--failed").err
    first = drive(project, "run", "suite.yaml", "--trials", "1", "--json")
    name = first.report["metadata"]["run_name"]

    assert set(drive(project, "run", "--failed", "suite.yaml", "--json").states()) == {"peru"}
    passed = drive(project, "run", "suite.yaml", "--json", "--target", "oracle", "--failed")
    assert set(passed.states()) == {"peru"}
    nothing = drive(project, "run", "suite.yaml", "--failed")
    assert (nothing.code, "every case passed" in nothing.err) == (2, True)
    named = drive(project, "run", "suite.yaml", "--json", "--failed", name, "--target", "oracle")
    assert set(named.states()) == {"peru"}


def test_stopping_after_failures(project: Path) -> None:
    words = ("run", "suite.yaml", "--target", "null", "--repeat", "20", "-j", "1", "--max-failures", "3", "--json")
    done = drive(project, *words)
    trials = done.report["summary"]["trials"]

    assert done.code == 1
    assert trials["failed"] == 3
    assert trials["planned"] == 60 == trials["failed"] + trials["pending"]


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

    assert "$0.0600" in line_of(drive(project, "run", "suite.yaml", *target), "cost")
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

    assert re.search(r"^failed +france #1  exact: expected 'Paris', got .*France", done.out, re.M)
    assert re.search(r"^ +exact: fail 0\.00  expected 'Paris', got .*\n +output: France$", done.out, re.M)
    assert "the target raised ValueError: red gone" in done.out
    shown = drive(project, "show", line_of(done, "next").split()[3], "peru")
    for text in (done.both, shown.both):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "red" in shown.out


def test_every_flag_has_a_variable(project: Path) -> None:
    (project / ".env").write_text("EVALHARNESS_TARGET=null\nEVALHARNESS_TRIALS=3\n")
    env = {
        "EVALHARNESS_TARGET": "cmd:echo some words\noracle",
        "EVALHARNESS_ONLY": "france",
        "EVALHARNESS_JSON": "true",
    }
    by_variables = drive(project, "run", "suite.yaml", env=env)
    reports = by_variables.json["eval_reports"]
    assert [report["metadata"]["variant"] for report in reports] == ["command echo some words", "oracle"]
    assert [report["summary"]["trials"]["planned"] for report in reports] == [3, 3]

    by_file = drive(project, "run", "suite.yaml", "--trials", "1", "--json")
    assert by_file.report["metadata"]["variant"] == "null"
    assert by_file.report["summary"]["trials"]["planned"] == 3, "the flag wins over the file"
