"""What people type: help, flags and numbers, errors of usage, a suite from standard input, completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from driving import Outcome, drive, drive_run, start, succeed, write
from worse_agent import AGENT, SUITE, run

from evalharness.cli.main import COMMANDS, MEANT_COMMANDS, MEANT_OPTIONS

SMALL = "target: oracle\ntest_cases: [{id: a, input: hi, expected: hello}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


class TestHelp:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_it_under_both_flags(self, tmp_path: Path, command: str) -> None:
        short = succeed(tmp_path, command, "-h")
        assert short.out == succeed(tmp_path, command, "--help").out
        assert "  -h, --help" in short.out
        assert not [line for line in short.out.splitlines() if line.endswith("-")], "no flag is cut in two"
        assert "Options:" in short.out or "General:" in short.out

    def test_many_flags_are_listed_under_headings(self, tmp_path: Path) -> None:
        shown = succeed(tmp_path, "run", "-h").out
        headings = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
        assert headings == ["Selection:", "Execution:", "Grading:", "Gate:", "Output:", "General:"]
        by_heading = dict(zip(headings, shown.split("\n\n")[-len(headings) :], strict=True))
        for heading, flag in (("Selection:", "--failed"), ("Execution:", "--timeout"), ("Grading:", "--judge-model")):
            assert f"  {flag} " in by_heading[heading]
        assert "--fail-under" in by_heading["Gate:"] and "--json" in by_heading["Output:"]
        assert "Options:" in succeed(tmp_path, "schema", "-h").out, "few flags need no headings"

    def test_the_version(self, tmp_path: Path) -> None:
        assert succeed(tmp_path, "-V").out == succeed(tmp_path, "--version").out


class TestWrongUsage:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("run --repeat x", "error: --repeat: must be an integer ≥ 1, not 'x'"),
            ("run --repeat 0", "error: --repeat: must be an integer ≥ 1, not '0'"),
            ("run --timeout 0", "error: --timeout: must be a number > 0"),
            ("run --fail-under 101", "error: --fail-under: must be a pass rate (0.9, 90 or 90%)"),
            ("run --formt native", "error: unknown option '--formt'. Did you mean '--format'?"),
            ("rnu", "error: unknown command 'rnu'. Did you mean 'run'?"),
            *(
                (f"{name} x", f"error: unknown command '{name}'. Did you mean '{meant}'?")
                for name, meant in MEANT_COMMANDS.items()
            ),
            *(
                (f"run {name} 4", f"error: unknown option '{name}'. Did you mean '{meant}'?")
                for name, meant in MEANT_OPTIONS.items()
            ),
            ("completion", "error: SHELL is missing (bash, zsh, fish); write: eval-harness completion SHELL"),
            ("gate", "error: RUN is missing; write: eval-harness gate RUN"),
            ("capture latest", "error: --output is missing"),
            ("baseline", "error: write: baseline set RUN"),
            ("run --repeat", "error: --repeat needs a value"),
            ("gate latest --baseline", "error: --baseline needs a value"),
            ("run --json=yes", "error: --json takes no value"),
            ("gate a b", "error: unexpected argument: b"),
            ("run --gate relaxed", "error: --gate: 'relaxed' is not one of"),
        ],
    )
    def test_it_is_one_line_that_begins_with_error_and_where_to_look(
        self, tmp_path: Path, words: str, said: str
    ) -> None:
        refused = drive(tmp_path, *words.split())
        first, second = refused.err.splitlines()
        assert (refused.code, refused.out) == (2, "")
        assert first.startswith(said)
        assert second.startswith("  see: eval-harness ") and second.endswith("--help")

    @pytest.mark.parametrize(("words", "asked"), [("compare", "what"), ("compare latest", "with what")])
    def test_compare_without_runs_says_what_to_type(self, tmp_path: Path, words: str, asked: str) -> None:
        refused = drive(tmp_path, *words.split())
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"error: compare {asked}? Name two runs, the old one first\n")
        assert "eval-harness compare -2 -1" in refused.err

    def test_with_json_it_is_a_document(self, tmp_path: Path) -> None:
        refused = drive(tmp_path, "run", "--repeat", "x", "--json")
        assert refused.json["error"]["message"] == "--repeat: must be an integer ≥ 1, not 'x'"


class TestPoints:
    @pytest.mark.parametrize("written", ["5", "5%", "0.05", "5.0 %"])
    def test_points_and_shares_are_the_same_for_every_flag(self, project: Path, written: str) -> None:
        before, now = run(project, "good"), run(project, "bad")
        compared = succeed(project, "compare", before, now, "--margin", written, "--json").json["comparison"]
        assert compared["margin"] == pytest.approx(0.05)
        assert succeed(project, "plan", "suite.yaml", "--effect", written, "--json").json["plan"]["effect"] == 0.05
        gated = drive(project, "gate", now, "--baseline", before, "--regression-tolerance", written, "--json").json
        assert gated["gate_report"]["comparison"]["tolerance"] == pytest.approx(0.05)

    @pytest.mark.parametrize(
        "words", ["compare a b --margin", "plan s --effect", "run --sequential-effect", "gate a --regression-tolerance"]
    )
    @pytest.mark.parametrize("written", ["0.5", "0.7", "0.999"])
    def test_what_can_be_read_in_two_ways_is_refused(self, tmp_path: Path, words: str, written: str) -> None:
        refused = drive(tmp_path, *words.split(), written)
        assert (refused.code, f"write {written}% or {float(written) * 100:g}%" in refused.err) == (2, True)

    @pytest.mark.parametrize("written", ["nan", "101", "200%", "-1", "x", ""])
    def test_what_is_no_difference_of_rates_is_refused(self, tmp_path: Path, written: str) -> None:
        refused = drive(tmp_path, "plan", "suite.yaml", f"--effect={written}")
        assert (refused.code, "--effect: must be points > 0 and ≤ 100" in refused.err) == (2, True)


class TestRunFlags:
    def test_x_stops_at_the_first_failure(self, project: Path) -> None:
        stopped = drive_run(project, "-x", "-j", "1", target="agent.py:bad")
        assert stopped.report["summary"]["trials"]["failed"] == 1
        assert stopped.report["summary"]["trials"]["pending"] > 0

    def test_a_time_limit_replaces_the_suites_but_not_a_cases_own(self, tmp_path: Path) -> None:
        slow = "import time\ndef answer(text):\n    time.sleep(0.5)\n    return text\n"
        suite = """
target: agent.py:answer
config: {timeout_seconds: 60}
test_cases:
  - {id: usual, input: hi, expected: hi}
  - {id: patient, input: hi, expected: hi, timeout_seconds: 30}
"""
        write(tmp_path, agent_py=slow, suite_yaml=suite)
        done = drive_run(tmp_path, "--timeout", "0.1")
        assert done.states() == {"usual": ["failed"], "patient": ["passed"]}

    def test_a_seed_replaces_the_suites(self, project: Path) -> None:
        def seeds(*more: str) -> list[int]:
            return [trial["seed"] for trial in drive_run(project, *more).report["trials"]]

        assert seeds("--seed", "7") == seeds("--seed", "7") != seeds()

    def test_a_suite_is_read_from_standard_input(self, project: Path) -> None:
        text = SUITE.replace("name: capitals", "name: piped").replace("agent.py:good", "agent.py:bad")
        (project / "suite.yaml").unlink()
        done = pipe(project, text, "run", "-", "--json")
        assert (done.code, done.report["metadata"]["suite_name"]) == (1, "piped")
        resumed = succeed(project, "resume", "latest", "--json", code=1)
        assert resumed.run_name == done.run_name
        again = drive(project, "run", "piped", "--failed", "--json")
        assert list(again.states()) == ["peru"]

    @pytest.mark.parametrize("text", ["", "a: 1", "test_cases: 5", "{"])
    def test_what_is_no_suite_is_reported_with_its_line(self, tmp_path: Path, text: str) -> None:
        refused = pipe(tmp_path, text, "run", "-")
        assert (refused.code, "stdin" in refused.err) == (2, True), refused.err

    def test_failed_with_nothing_failed_is_success(self, project: Path) -> None:
        name = run(project, "good")
        for words in ((), ("--dry-run",), ("-o", "report.json")):
            done = succeed(project, "run", "suite.yaml", "--failed", *words)
            assert "nothing to run: every case passed when it was last run on agent.py:good" in done.err
        assert (project / "report.json").exists()
        assert drive_run(project, "--failed").json == {"eval_reports": []}
        assert succeed(project, "runs", "--json").json["runs"][0]["run_name"] == name, "nothing was started"

    def test_a_report_is_written_into_a_folder_that_does_not_exist_yet(self, project: Path) -> None:
        succeed(project, "run", "suite.yaml", "-o", "reports/new/report.xml")
        assert (project / "reports" / "new" / "report.xml").is_file()


def test_an_answer_that_is_too_long_to_keep_says_how_much_is_missing(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py="def answer(text):\n    return 'ab' * 2_500_000\n",
        suite_yaml="target: agent.py:answer\ntest_cases: [{id: a, input: hi, expected: ab}]\n",
    )
    succeed(tmp_path, "run", "suite.yaml", code=1)
    assert "without 2.9 MB in between" in succeed(tmp_path, "show", "latest", "a").out


def test_what_is_missing_is_counted_once_though_it_stood_in_several_places(tmp_path: Path) -> None:
    """The answer is also the agent's message, an event and what the program printed."""
    write(
        tmp_path,
        agent_py="import json\nprint(json.dumps({'type': 'agent_choice', 'content': 'ab' * 2_500_000}))\n",
        suite_yaml="target: {command: [python, agent.py], events: docker-agent}\n"
        "test_cases: [{id: a, input: hi, expected: {contains: ab}}]\n",
    )
    succeed(tmp_path, "run", "suite.yaml")
    assert "without 2.9 MB in between" in succeed(tmp_path, "show", "latest", "a").out


def test_compare_fails_as_regressions_does(project: Path) -> None:
    before, now = run(project, "good"), run(project, "bad")
    succeed(project, "baseline", before)
    judged = drive(project, "regressions", "capitals", "--json")
    assert judged.code == 1
    assert drive(project, "compare", before, now, "--fail").code == 1
    assert drive(project, "compare", before, now).code == 0
    assert drive(project, "compare", now, before, "--fail").code == 0
    broken = run(project, "unreachable")
    unknown = drive(project, "compare", before, broken, "--fail")
    assert (unknown.code, unknown.out.startswith("INVALID   capitals: the run broke")) == (3, True)
    assert drive(project, "compare", broken, before, "--fail").code == 2, "nothing can be compared with it"


@pytest.mark.parametrize("flags", [[], ["-q"]])
def test_compare_that_fails_says_first_why_as_regressions_does(tmp_path: Path, flags: list[str]) -> None:
    agent = "def good(text):\n    return 'yes'\n\ndef bad(text):\n    return 'no' if text == '3' else 'yes'\n"
    cases = "".join(f"  - {{id: c{number}, input: '{number}', expected: 'yes'}}\n" for number in range(40))
    write(tmp_path, agent_py=agent, suite_yaml=f"name: many\ntest_cases:\n{cases}", pyproject_toml="")
    for name, code in (("good", 0), ("bad", 1)):
        succeed(tmp_path, "run", "suite.yaml", "--target", f"agent.py:{name}", "--run-name", name, code=code)
    succeed(tmp_path, "baseline", "good")
    judged = drive(tmp_path, "regressions", "many", *flags)
    compared = drive(tmp_path, "compare", "good", "bad", "--fail", *flags)
    assert (judged.code, compared.code) == (1, 1)
    first = compared.out.splitlines()[0]
    assert first == judged.out.splitlines()[0]
    assert first.startswith("FAILED   always passed before and always fails now: c3")
    assert "FAILED" not in succeed(tmp_path, "compare", "good", "bad", *flags).out


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_a_script_is_printed(self, tmp_path: Path, shell: str) -> None:
        assert "eval-harness" in succeed(tmp_path, "completion", shell).out

    def test_commands_flags_and_runs_are_completed(self, project: Path) -> None:
        name = run(project, "good")
        succeed(project, "baseline", name, "--name", "release")
        assert {"run", "runs"} <= completed(project, "eval-harness ru")
        assert "--timeout" in completed(project, "eval-harness run --ti")
        assert {"latest", name, "release"} <= completed(project, "eval-harness show ''")
        assert completed(project, "eval-harness run cap") == {"capitals"}


def completed(folder: Path, line: str) -> set[str]:
    words = shlex.split(line)
    env = {"_EVAL_HARNESS_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = drive(folder, env=env)
    return {row.partition(",")[2] for row in done.out.splitlines()}


def pipe(folder: Path, text: str, *words: str) -> Outcome:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(text.encode())
        with start(folder, *words, stdin=stdin.fileno()) as started:
            return started.wait()


def test_no_color_wins_over_a_terminal(project: Path) -> None:
    program = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    command = [sys.executable, "-c", program, sys.executable, "-m", "evalharness", "run", "suite.yaml"]
    plain = {"env": {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": str(project)}, "cwd": project}
    coloured = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, **plain)
    assert b"\x1b[" in coloured.stdout
    done = subprocess.run([*command, "--no-color"], capture_output=True, check=False, stdin=subprocess.DEVNULL, **plain)
    assert b"PASSED" in done.stdout
    assert b"\x1b[" not in done.stdout
