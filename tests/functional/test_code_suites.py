"""From a file of programming problems to a verdict: imported in one command, run in a sandbox."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from driving import COMMAND, clean_environment, drive, write

FIXTURES = Path(__file__).parents[1] / "fixtures" / "presets"
CODED = """\
name: coded
target: agent.py:answer
trials: 4
test_cases:
  - id: double
    input: Write a function double(n).
    graders:
      - function_output: {function_name: double, test_cases: [{args: [2], expected: 4}, {args: [0], expected: 0}]}
  - id: twice
    input: Write a function twice(n).
    graders:
      - code_tests: {test: "assert twice(2) == 4", entry_point: twice}
"""
AGENT = """\
def answer(question, context):
    name = "double" if "double" in question else "twice"
    wrong = ["return n * 2", "return n + 3", "import sys; sys.exit(0)", "while True: pass"][context.index]
    return f"```python\\ndef {name}(n):\\n    {wrong}\\n```"
"""


@pytest.mark.parametrize("preset", ["humaneval", "mbpp"])
def test_a_file_of_problems_becomes_a_suite_that_its_own_solutions_pass(preset: str, tmp_path: Path) -> None:
    done = drive(tmp_path, "import", str(FIXTURES / f"{preset}.jsonl"), "--preset", preset, "-o", "suite.yaml")
    assert done.code == 0, done.both
    assert f"suite '{preset}', 3 cases" in done.out
    solved = drive(tmp_path, "run", "suite.yaml", "--target", "oracle", "--json")
    assert {tuple(states) for states in solved.states().values()} == {("passed",)}, solved.both
    for idler in ("null", "echo"):
        unsolved = drive(tmp_path, "run", "suite.yaml", "--target", idler, "--json")
        assert {tuple(states) for states in unsolved.states().values()} == {("failed",)}, idler


def test_what_is_wrong_with_a_file_is_reported(tmp_path: Path) -> None:
    mbpp = str(FIXTURES / "mbpp.jsonl")
    for words, told in [
        (["--preset", "humaneval"], "mbpp.jsonl:1: [0]: these rows look like mbpp; use --preset mbpp"),
        (["--preset", "mbpp", "--map", "input=text"], "give a mapping or a preset, not both"),
        (["--preset", "mbpp", "--format", "native"], "with a preset the file is a table"),
        (["--preset", "gsm"], "humaneval"),
    ]:
        done = drive(tmp_path, "import", mbpp, *words)
        assert (done.code, done.out) == (2, ""), words
        assert told in done.err, done.both


def test_generated_code_is_graded_in_the_sandbox(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CODED.replace("test_cases: [", "timeout_per_case: 2, test_cases: ["), agent_py=AGENT)
    done = drive(tmp_path, "run", "suite.yaml", "--json")
    assert done.code == 1, done.both
    assert done.states() == {name: ["passed", "failed", "failed", "failed"] for name in ("double", "twice")}


def test_the_user_may_do_without_isolation(tmp_path: Path) -> None:
    agent = "def answer(question):\n    return 'def double(n): return n * 2\\ndef twice(n): return n * 2'\n"
    write(tmp_path, suite_yaml=CODED.replace("trials: 4", "trials: 1"), agent_py=agent)
    done = drive(tmp_path, "run", "suite.yaml", "--sandbox", "none", "--json")
    assert done.states() == {"double": ["passed"], "twice": ["passed"]}, done.both
    assert done.err.count("without protection") == 1
    write(tmp_path, suite_yaml="name: s\ntarget: echo\ntest_cases: [{id: a, input: x, expected: x}]\n")
    assert "without protection" not in drive(tmp_path, "run", "suite.yaml", "--sandbox", "none").err


NESTED = "graders: [{all_of: [{code_tests: {test: 'assert f() == 1'}}, {contains: def}]}]"
SETUP = "setup: 'true', expected: x"


@pytest.mark.parametrize("case", ["expected: {code_tests: {test: 'assert f() == 1'}}", NESTED, SETUP])
def test_a_missing_sandbox_is_reported_before_the_target_is_asked(case: str, tmp_path: Path) -> None:
    suite = f"name: s\ntarget: agent.py:answer\ntest_cases: [{{id: a, input: x, {case}}}]\n"
    write(tmp_path, suite_yaml=suite, agent_py="def answer(q):\n    open('asked', 'w')\n    return 'x'\n")
    hidden = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"]
    refused = subprocess.run(
        [*hidden, *COMMAND, "run", "suite.yaml"],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 3, refused.stderr
    assert "apt-get install bubblewrap" in refused.stderr
    assert not (tmp_path / "asked").exists()
