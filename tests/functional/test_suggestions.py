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
        broken_py="import os\ndef answer(text:\n    return text\n",
        short_py="answer = lambda text: text\n",
        passing_py="from __future__ import annotations\nfrom agent import answer\n",
        suite_yaml=SUITE.format("null"),
    )
    return tmp_path


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("agent.py", "'agent.py' is a file; name the function: agent.py:answer, agent.py:other"),
        ("nowhere.py", "no file nowhere.py"),
        ("nowhere.py:answer", "no file nowhere.py"),
        ("agnt.py:answer", "no file agnt.py. Did you mean 'agent.py:answer'?"),
        ("agnt.py", "no file agnt.py. Did you mean 'agent.py'?"),
        ("python3 agent.py", "Did you mean 'cmd:python3 agent.py'?"),
        ("broken.py", "'broken.py' cannot be read as Python: line 2: "),
        ("short.py", "'short.py' is a file; name the function: short.py:answer"),
        ("passing.py", "'passing.py' is a file; name the function: passing.py:answer"),
        ("agent.py:anwser", "unknown function 'anwser' in agent.py. Did you mean 'answer'?"),
        ("openai/gpt-4o", "Did you mean 'chat:openai/gpt-4o'?"),
        ("chat:opnai/gpt-4o", "unknown model provider 'opnai'. Did you mean 'openai'?"),
    ],
)
def test_a_target_that_does_not_exist(folder: Path, target: str, message: str) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", target)
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("agent.py:anwser", "suite.yaml:2: target: unknown function 'anwser' in agent.py; did you mean 'answer'?"),
        ("agent.py", "suite.yaml:2: target: 'agent.py' is a file; name the function: agent.py:answer, agent.py:other"),
        ("nowhere.py:f", "suite.yaml:2: target: no file nowhere.py"),
        ("agnt.py:answer", "suite.yaml:2: target: no file agnt.py; did you mean 'agent.py:answer'?"),
        ("openai/gpt-4o", "suite.yaml:2: target: unknown target 'openai/gpt-4o'; did you mean 'chat:openai/gpt-4o'?"),
        ("chat:opnai/gpt-4o", "suite.yaml:2: target: unknown model provider 'opnai'; did you mean 'openai'?"),
    ],
)
def test_validate_finds_it_without_running_anything(folder: Path, target: str, message: str) -> None:
    write(folder, suite_yaml=SUITE.format(target))
    done = drive(folder, "validate", "suite.yaml")
    assert done.code == 2
    assert message in done.both
    write(folder, suite_yaml=SUITE.format(target) + "trails: 3\n")
    assert message in drive(folder, "validate", "suite.yaml").both, "other problems do not hide it"


def test_validate_lists_the_targets_of_a_broken_suite_among_its_problems_by_line(folder: Path) -> None:
    targets = "targets: {one: agent.py:anwser}\nvariants:\n  - {name: a, target: one}\n  - {name: b, target: no.py:f}\n"
    write(folder, suite_yaml=SUITE.format("nowhere.py:f") + "trails: 3\n" + targets)
    reported = [line.split(": ")[:2] for line in drive(folder, "validate", "suite.yaml").err.splitlines()]
    places = [(int(place.rpartition(":")[2]), field) for place, field in (line for line in reported if len(line) == 2)]
    assert [field for _, field in places] == ["target", "trails", "targets.one", "variants[1]"]
    assert places == sorted(places)


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


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("run agent.py", "agent.py: is Python code, not a suite", "run SUITE --target agent.py:FUNCTION"),
        ("run suite.yaml agent.py:answer", "agent.py:answer: is a function, not a suite", "--target agent.py:answer"),
        ("suite.yaml", "unknown command 'suite.yaml'. Did you mean 'run suite.yaml'?", "--help"),
    ],
)
def test_a_target_in_place_of_a_suite_and_a_suite_in_place_of_a_command(
    folder: Path, words: str, said: str, hint: str
) -> None:
    done = drive(folder, *words.split())
    assert done.code == 2
    assert said in done.err and hint in done.err


def test_a_suite_whose_own_target_is_missing_still_runs_on_another(folder: Path) -> None:
    write(folder, suite_yaml=SUITE.format("nowhere.py:f"))
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:answer")
    assert done.code == 0
    assert "nowhere" not in done.both


def test_a_suite_without_cases_is_told_what_is_missing(folder: Path) -> None:
    write(folder, suite_yaml="name: s\ntarget: echo\n")
    done = drive(folder, "run", "suite.yaml")
    assert (done.code, "suite.yaml: test_cases is missing\n" in done.err) == (2, True)


def test_a_script_that_is_missing_is_named_with_its_folder_and_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE.format("cmd:sh agent.sh"))
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 2
    assert f"no such script 'agent.sh' in {tmp_path}\n" in done.err
    assert "create it, or write its path relative to the suite's folder" in done.err


def test_a_judge_that_nobody_asks_is_pointed_out(folder: Path) -> None:
    done = drive(folder, "run", "suite.yaml", "--target", "echo", "--judge-model", "foo")
    assert "foo was not used: no case has a grader that asks a model" in done.both


def test_failed_goes_by_runs_and_not_by_regrades_with_another_file(folder: Path) -> None:
    write(
        folder,
        suite_yaml="name: s\ntarget: echo\ntest_cases: [{id: a, input: a, expected: b}, {id: c, input: c}]\n",
        lenient_yaml="name: s\ntarget: echo\ntest_cases:\n- {id: a, input: a}\n- {id: c, input: c, expected: x}\n",
    )
    drive(folder, "run", "suite.yaml", "--run-name", "first")
    assert drive(folder, "regrade", "first", "--suite", "lenient.yaml").code == 1
    assert list(drive(folder, "run", "suite.yaml", "--failed", "--json").states()) == ["a"]


class TestCommands:
    SUITE = "target: cmd:python3 bott.py\ntest_cases: [{id: a, input: hi, expected: hi}]\n"

    def test_a_misspelt_script_is_wrong_usage_before_anything_runs(self, tmp_path: Path) -> None:
        write(tmp_path, bot_py="print(input())\n", suite_yaml=self.SUITE)
        checked = drive(tmp_path, "validate", "suite.yaml")
        assert checked.code == 2
        assert f"suite.yaml:1: target: no such script 'bott.py' in {tmp_path}; did you mean 'bot.py'?" in checked.err
        ran = drive(tmp_path, "run", "suite.yaml")
        assert (ran.code, f"no such script 'bott.py' in {tmp_path}. Did you mean 'bot.py'?" in ran.err) == (2, True)
        assert not (tmp_path / ".evalharness" / "store.db").exists()
        assert drive(tmp_path, "run", "suite.yaml", "--target", "cmd:python3 bot.py").code == 0
        asked = drive(tmp_path, "run", "suite.yaml", "--target", "cmd:python3 bto.py")
        assert (asked.code, "Did you mean 'bot.py'?" in asked.err) == (2, True)

    def test_a_program_that_is_not_installed_is_reported_by_validate_too(self, tmp_path: Path) -> None:
        write(tmp_path, suite_yaml=self.SUITE.replace("python3 bott.py", "no-such-program-here --fast"))
        for command in ("validate", "run"):
            done = drive(tmp_path, command, "suite.yaml")
            assert (done.code, "the program 'no-such-program-here' was not found" in done.both) == (2, True)

    @pytest.mark.parametrize(
        "brought", ["files: {bott.py: 'print(input())'}", "setup: echo 'print(input())' > bott.py"]
    )
    def test_a_script_that_a_case_brings_is_not_missing(self, tmp_path: Path, brought: str) -> None:
        write(tmp_path, suite_yaml=self.SUITE.replace("expected: hi}", f"expected: hi, {brought}}}"))
        assert drive(tmp_path, "validate", "suite.yaml").code == 0
        ran = drive(tmp_path, "run", "suite.yaml", "--sandbox", "none")
        assert ran.code == 0, ran.both

    def test_the_script_of_a_server_and_the_targets_of_cases_are_looked_for(self, tmp_path: Path) -> None:
        case = "{id: a, input: hi, expected: hi, target: 'cmd:python3 bott.py'}"
        write(tmp_path, suite_yaml=f"target: echo\ntest_cases: [{case}]\n")
        assert "no such script 'bott.py'" in drive(tmp_path, "run", "suite.yaml").err
        served = "target: {http: {url: 'http://127.0.0.1:1/', start: python3 serve.py}}"
        write(tmp_path, suite_yaml=f"{served}\ntest_cases: [{{id: a, input: hi, expected: hi}}]\n")
        done = drive(tmp_path, "run", "suite.yaml")
        assert (done.code, "no such script 'serve.py'" in done.err) == (2, True)
