"""Names that lead nowhere: targets, functions and providers, and what the user probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, write

AGENT = """
import os
from json import dumps as as_json
from os.path import *

def _hidden(): ...

def answer(question):
    return question

async def other(question):
    return question

if os.sep == "/":
    bound = answer
"""
SUITE = 'name: s\ntarget: "{}"\ntest_cases: [{{input: a, expected: a}}]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path,
        agent_py=AGENT.replace("from os.path import *\n", ""),
        starry_py=AGENT,
        suite_yaml=SUITE.format("null"),
    )
    return tmp_path


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("agent.py", "'agent.py' is a file; name the function: agent.py:answer, agent.py:other"),
        ("nowhere.py", "no file nowhere.py"),
        ("agent.py:anwser", "unknown function of agent.py 'anwser'. Did you mean 'answer'?"),
        ("openai/gpt-4o", "Did you mean 'chat:openai/gpt-4o'?"),
        ("chat:opnai/gpt-4o", "unknown provider of models 'opnai'. Did you mean 'openai'?"),
    ],
)
def test_a_target_that_does_not_exist(folder: Path, target: str, message: str) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", target)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("agent.py:anwser", "suite.yaml:2: target: unknown function of agent.py 'anwser'; did you mean 'answer'?"),
        ("agent.py", "suite.yaml:2: target: 'agent.py' is a file; name the function: agent.py:answer, agent.py:other"),
        ("nowhere.py:f", "suite.yaml:2: target: no file nowhere.py"),
        ("openai/gpt-4o", "suite.yaml:2: target: unknown target 'openai/gpt-4o'; did you mean 'chat:openai/gpt-4o'?"),
        ("chat:opnai/gpt-4o", "suite.yaml:2: target: unknown provider of models 'opnai'; did you mean 'openai'?"),
    ],
)
def test_validate_finds_it_without_running_anything(folder: Path, target: str, message: str) -> None:
    write(folder, suite_yaml=SUITE.format(target))
    done = drive(folder, "validate", "suite.yaml")
    assert done.code == 2
    assert message in done.both


@pytest.mark.parametrize(
    "target",
    [
        "agent.py:os",
        "agent.py:as_json",
        "agent.py:bound",
        "agent.py:_hidden",
        "starry.py:join",
        "chat:openai/gpt-9",
        "{{who}}.py:f",
    ],
)
def test_validate_reports_nothing_that_may_be_there(folder: Path, target: str) -> None:
    write(folder, suite_yaml=SUITE.format(target))
    done = drive(folder, "validate", "suite.yaml")
    assert done.code == 0, done.both


def test_a_provider_of_ones_own_is_no_problem(folder: Path) -> None:
    write(folder, suite_yaml=SUITE.format("chat:mine/model"))
    assert drive(folder, "validate", "suite.yaml").code == 2
    assert drive(folder, "validate", "suite.yaml", env={"MINE_BASE_URL": "http://127.0.0.1:1/v1"}).code == 0


def test_a_suite_whose_own_target_is_missing_still_runs_on_another(folder: Path) -> None:
    write(folder, suite_yaml=SUITE.format("nowhere.py:f"))
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:answer")
    assert done.code == 0
    assert "nowhere" not in done.both


def test_a_judge_that_nobody_asks_is_pointed_out(folder: Path) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", "echo", "--judge-model", "foo")
    assert "foo was not asked: no case has a grader that asks a model" in done.both


def test_failed_goes_by_runs_and_not_by_regrades_with_another_file(folder: Path) -> None:
    write(
        folder,
        suite_yaml="name: s\ntarget: echo\ntest_cases: [{id: a, input: a, expected: b}, {id: c, input: c}]\n",
        lenient_yaml="name: s\ntarget: echo\ntest_cases:\n- {id: a, input: a}\n- {id: c, input: c, expected: x}\n",
    )
    drive(folder, "run", "suite.yaml", "--run-name", "first")
    assert drive(folder, "regrade", "first", "--suite", "lenient.yaml").code == 1
    assert list(drive(folder, "run", "suite.yaml", "--failed", "--json").states()) == ["a"]
