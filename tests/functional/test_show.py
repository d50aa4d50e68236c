"""`show` gives everything about cases: what was expected and answered, each check, printed output, stack traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import drive, succeed, write

AGENT = """
import logging, sys

logging.basicConfig(level=logging.INFO)

def answer(text):
    print("thinking about", text)
    print("to stderr of", text, file=sys.stderr)
    logging.info("logged %s", text)
    return look_up(text) if text == "boom" else {"Peru": "Cusco"}.get(text, "Paris")

async def later(text):
    print("async", text)
    return "Paris"

def look_up(text):
    return {}[text]
"""
SUITE = """
name: capitals
target: agent.py:answer
trials: 2
test_cases:
  - {id: france, input: France, expected: Paris}
  - {id: peru, input: Peru, graders: [{exact: Lima}, {max_length: 20}]}
  - {id: boom, input: boom, expected: x}
  - {id: graded, input: x, graders: [{function: grader.py:check}]}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    grader = "def check(context):\n    return look(context)\n\ndef look(context):\n    return context.nothing > 3\n"
    write(folder, agent_py=AGENT, suite_yaml=SUITE, grader_py=grader, pyproject_toml="")
    assert drive(folder, "run", "suite.yaml", "--run-name", "first").code == 3
    return folder


def test_expected_actual_and_every_check_are_shown(project: Path) -> None:
    out = succeed(project, "show", "first", "peru").out
    assert "asked     Peru" in out
    assert "expected  exact: Lima" in out and "expected  max_length: 20" in out
    assert "answer    Cusco" in out
    assert "✗ exact: fail 0.00" in out and "- Lima\n" in out and "+ Cusco\n" in out
    assert "✓ max_length: pass 1.00" in out
    assert "trials 1, 2: failed   same answer in 2 of 2 trials" in out


def test_what_a_function_prints_is_kept_with_its_trial_and_passed_on(project: Path) -> None:
    out = succeed(project, "show", "first", "france").out
    assert "stdout    thinking about France\n" in out
    assert "stderr    to stderr of France\n" in out and "INFO:root:logged France" in out
    assert "Peru" not in out, "each trial has its own"
    run = drive(project, "run", "suite.yaml", "--only", "france", "--store", "other.db")
    assert run.err.count("thinking about France") == 2, "it still reaches the terminal"


def test_what_an_async_function_prints_is_kept(project: Path) -> None:
    drive(project, "run", "suite.yaml", "--target", "agent.py:later", "--only", "france,peru", "--store", "async.db")
    out = succeed(project, "show", "peru", "--store", "async.db").out
    assert "stdout    async Peru\n" in out and "async France" not in out


def test_the_streams_of_a_command_are_kept(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="name: c\ntest_cases: [{id: a, input: hi, expected: ho}]\n", pyproject_toml="")
    drive(tmp_path, "run", "suite.yaml", "--target", "cmd:sh -c 'echo ho; echo careful >&2'")
    assert "stderr    careful\n" in succeed(tmp_path, "show", "a").out


@pytest.mark.parametrize(
    ("case", "frames"),
    [("boom", ("in answer", "in look_up", "KeyError: 'boom'")), ("graded", ("in check", "in look", "AttributeError"))],
)
def test_the_stack_trace_has_the_users_frames_only(project: Path, case: str, frames: tuple[str, ...]) -> None:
    out = succeed(project, "show", "first", case).out
    trace = out[out.index("Traceback") :]
    assert all(frame in trace for frame in frames)
    assert "evalharness/" not in trace


def test_secrets_in_a_stack_trace_and_in_what_was_printed_are_redacted(tmp_path: Path) -> None:
    agent = "def answer(text):\n    print('key', text)\n    raise ValueError(text)\n"
    suite = "name: s\nsecrets: [who]\ntarget: agent.py:answer\ntest_cases: [{id: a, input: '{{who}}', expected: x}]\n"
    write(tmp_path, agent_py=agent, suite_yaml=suite, pyproject_toml="")
    drive(tmp_path, "run", "suite.yaml", "--var", "who=swordfish-12345")
    out = succeed(tmp_path, "show", "a").out
    assert "Traceback" in out and "stdout    key [redacted" in out
    assert "swordfish" not in out


def test_several_cases_and_all_failures(project: Path) -> None:
    two = succeed(project, "show", "first", "peru", "france").out
    assert two.index("✗ peru") < two.index("✓ france")
    failed = succeed(project, "show", "first", "--failed").out
    assert all(f"{mark}" in failed for mark in ("✗ peru", "✗ boom", "! graded"))
    assert "france" not in failed
    data = succeed(project, "show", "--failed", "--json").json
    assert [each["case"]["id"] for each in data["cases"]] == ["peru", "boom", "graded"]
    assert drive(project, "show", "first", "peru", "--failed").code == 2


def test_a_run_without_failures_says_so(tmp_path: Path) -> None:
    suite = "name: s\ntarget: echo\ntest_cases: [{id: a, input: x, expected: x}]\n"
    write(tmp_path, suite_yaml=suite, pyproject_toml="")
    drive(tmp_path, "run", "suite.yaml", "--run-name", "good")
    assert succeed(tmp_path, "show", "--failed").out == "every case of good passed\n"


def test_failing_trials_of_cases_that_are_pending_are_shown(tmp_path: Path) -> None:
    suite = "name: s\ntarget: echo\ntrials: 2\ntest_cases: [{id: a, input: x, expected: y}, {id: b, input: x}]\n"
    write(tmp_path, suite_yaml=suite, pyproject_toml="")
    stopped = drive(tmp_path, "run", "suite.yaml", "-x", "-j", "1")
    assert "FAILED   1 failed so far, 2 pending" in stopped.out
    out = succeed(tmp_path, "show", "--failed").out
    assert "a   0 of 1 trial passed" in out and "trial 1: failed" in out
    assert "every case" not in out


def test_cases_without_a_verdict_are_not_said_to_have_passed(tmp_path: Path) -> None:
    suite = "name: s\ntarget: echo\ntest_cases: [{id: a, input: x, graders: [human]}, {id: b, input: x, expected: x}]\n"
    write(tmp_path, suite_yaml=suite, pyproject_toml="")
    drive(tmp_path, "run", "suite.yaml", "--run-name", "open")
    assert succeed(tmp_path, "show", "--failed").out == "no case of open failed; 1 is awaiting a grade\n"


def test_a_word_is_a_run_else_a_case_of_the_newest_run(project: Path, tmp_path: Path) -> None:
    assert succeed(project, "show", "peru").out == succeed(project, "show", "first", "peru").out
    assert succeed(project, "show").out == succeed(project, "show", "first").out
    unknown = drive(project, "show", "perv")
    assert (unknown.code, "unknown run or case 'perv'. Did you mean 'peru'?" in unknown.err) == (2, True)
    none = drive(write(tmp_path, pyproject_toml=""), "show")
    assert (none.code, "eval-harness run" in none.err) == (2, True)


def test_structures_differ_by_path_without_what_is_allowed(tmp_path: Path) -> None:
    answer = {"id": 7, "user": {"name": "Ada", "age": 35}, "tags": ["a", "c"], "seen": "today"}
    expected = {"user": {"age": 36, "city": "London"}, "tags": ["a", "b"]}
    write(tmp_path, agent_py=f"def answer(question):\n    return {answer!r}\n")
    case = {"id": "ada", "input": "Who?", "expected": {"structural_match": expected}}
    write(tmp_path, suite_yaml=json.dumps({"name": "people", "target": "agent.py:answer", "test_cases": [case]}))
    wanted = ["$.user.age: 36 → 35", '$.user.city: missing, expected "London"', '$.tags[1]: "b" → "c"']
    for done in (drive(tmp_path, "run", "suite.yaml"), drive(tmp_path, "show", "latest", "ada")):
        for line in wanted:
            assert line in done.out
        assert "$.seen" not in done.out
        assert "$.id" not in done.out
