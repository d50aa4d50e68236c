"""The commands that a report ends with can be pasted, and do what the situation needs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from driving import Outcome, drive, write

AGENT = """
import evalharness
def wrong(text): return "Cusco"
def raising(text): return {}[text]
def down(text): raise evalharness.TargetUnavailable("no route")
"""
GRADER = "def check(context): return context.capital == 'Lima'\n"
SUITE = """
name: capitals
test_cases:
  - {id: the capital of peru, input: Peru, expected: Lima}
  - {id: empty, input: '', expected: Cusco}
"""


def project(folder: Path, suite: str = SUITE) -> Path:
    return write(folder, agent_py=AGENT, grader_py=GRADER, suite_yaml=suite, pyproject_toml="")


def steps(done: Outcome) -> dict[str, list[str]]:
    """The last commands by label, as a shell would read them, without the program."""
    found = re.findall(r"^(look|rerun|resume|regrade|grade) +(\S.*)$", done.out, re.M)
    assert 1 <= len(found) <= 2, done.out
    assert done.out.rstrip().endswith(found[-1][1])
    words = {label: shlex.split(command) for label, command in found}
    assert all(program == "eval-harness" for program, *_ in words.values())
    return {label: rest for label, (_, *rest) in words.items()}


def test_a_wrong_answer_is_looked_at_and_run_again_once_the_target_is_fixed(tmp_path: Path) -> None:
    folder = project(tmp_path / "my project")
    (folder / "suites").mkdir()
    suite = (folder / "suite.yaml").rename(folder / "suites" / "my suite.yaml")
    done = drive(folder, "run", "suites/my suite.yaml", "--target", "agent.py:wrong", "--store", "my runs.db")
    assert done.code == 1 and suite.is_file()
    found = steps(done)
    assert list(found) == ["look", "rerun"]
    looked = drive(folder, *found["look"])
    assert looked.code == 0 and "Cusco" in looked.out and "Lima" in looked.out

    write(folder, agent_py='def wrong(text): return "Lima" if text else "Cusco"\n')
    fixed = drive(folder, *found["rerun"])
    assert fixed.code == 0, fixed.both
    assert "1 case" in fixed.out, "only the one that failed"


def test_terminal_and_page_look_first_at_the_case_that_they_list_first(tmp_path: Path) -> None:
    """One that always fails comes before a flaky one, whatever their order in the suite."""
    agent = 'told = []\ndef answer(text):\n    told.append(text)\n    return "ab"[told.count("flaky") % 2]\n'
    cases = "test_cases:\n  - {id: flaky, input: flaky, expected: a}\n  - {id: broken, input: broken, expected: c}\n"
    suite = f"name: two\ntarget: agent.py:answer\ntrials: 2\ngate: {{thresholds: {{pass_rate: 0.9}}}}\n{cases}"
    folder = write(tmp_path, agent_py=agent, suite_yaml=suite, pyproject_toml="")
    done = drive(folder, "run", "suite.yaml", "-j", "1")
    assert "1 flaky" in done.out
    _, name, case = steps(done)["look"]
    assert case == "broken"
    assert drive(folder, "report", name, "-o", "run.html").code == 0
    advice, _, after = (folder / "run.html").read_text().partition(">Next<")
    assert "gate&#39;s <code>quarantine:</code> for a while" in advice
    first = after.partition("</code>")[0]
    assert first.endswith(f"eval-harness show {name} {case}")


def test_a_run_shown_from_another_folder_is_run_again_from_there(tmp_path: Path) -> None:
    folder = project(tmp_path, f"target: agent.py:wrong{SUITE}")
    drive(folder, "run", "suite.yaml")
    below = folder / "notes"
    below.mkdir()
    write(below, suite_yaml="name: another\ntarget: echo\ntest_cases: [{id: a, input: b, expected: b}]")
    rerun = steps(drive(below, "show"))["rerun"]
    assert rerun == ["run", "../suite.yaml", "--failed"]
    again = drive(below, *rerun)
    assert again.code == 1 and "the capital of peru" in again.out


def test_a_run_that_stopped_at_a_failure_says_how_to_look_at_it(tmp_path: Path) -> None:
    folder = project(tmp_path)
    found = steps(drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong", "-x", "-j", "1"))
    assert list(found) == ["look", "resume"]
    assert "Cusco" in drive(folder, *found["look"]).out
    assert drive(folder, *found["resume"]).code == 1


def test_a_target_that_raises_is_fixed_and_run_again(tmp_path: Path) -> None:
    folder = project(tmp_path)
    found = steps(drive(folder, "run", "suite.yaml", "--target", "agent.py:raising"))
    write(folder, agent_py='def raising(text): return "Lima" if text else "Cusco"\n')
    assert drive(folder, *found["rerun"]).code == 0


def test_answers_are_graded_again_by_a_grader_that_was_fixed(tmp_path: Path) -> None:
    suite = "name: own\ntarget: agent.py:wrong\ntest_cases: [{id: a, input: x, graders: [{function: grader.py:check}]}]"
    folder = project(tmp_path, suite)
    done = drive(folder, "run", "suite.yaml")
    assert done.code == 3
    found = steps(done)
    assert list(found) == ["look", "regrade"]
    write(folder, grader_py="def check(context): return context.output == 'Cusco'\n")
    fixed = drive(folder, *found["regrade"])
    assert fixed.code == 0, fixed.both


def test_an_outage_is_continued_when_it_is_over(tmp_path: Path) -> None:
    gate = "import os, evalharness\ndef answer(text):\n    if not os.path.exists('up'): raise ConnectionError('down')\n"
    folder = write(project(tmp_path), up_py=f"{gate}    return 'Lima' if text else 'Cusco'\n")
    done = drive(folder, "run", "suite.yaml", "--target", "up.py:answer")
    assert done.code == 3
    found = steps(done)
    assert list(found) == ["look", "resume"]
    (folder / "up").touch()
    again = drive(folder, *found["resume"])
    assert again.code == 0, again.both


def test_what_was_given_on_the_command_line_is_given_again(tmp_path: Path) -> None:
    suite = "name: v\ntarget: echo\ntest_cases: [{id: a, input: '{{who}}', expected: Bob}]\n"
    folder = project(tmp_path, suite)
    found = steps(drive(folder, "run", "suite.yaml", "--var", "who=Ann B"))
    assert found["rerun"] == ["run", "suite.yaml", "--var", "who=Ann B", "--failed"]
    assert drive(folder, *found["rerun"]).code == 1, "it still fails, but it runs"


def test_a_refused_resume_says_what_to_do_instead(tmp_path: Path) -> None:
    suite = "name: own\ntest_cases: [{id: a, input: x, graders: [{function: grader.py:check}]}]\n"
    folder = project(tmp_path, suite)
    drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong")
    write(folder, grader_py="def check(context): return context.output == 'Cusco'\n")
    refused = drive(folder, "resume")
    assert refused.code == 2
    command = re.search(r"eval-harness (regrade \S+);", refused.err)
    assert command, refused.err
    assert drive(folder, *command[1].split()).code == 0

    drive(folder, "run", "suite.yaml", "--target", "agent.py:down")
    write(folder, agent_py="def down(text): return 'Cusco'\n")
    refused = drive(folder, "resume")
    assert refused.code == 2
    assert "eval-harness run suite.yaml --failed" in refused.err


def test_as_many_trials_are_run_again_as_were_asked_for(tmp_path: Path) -> None:
    done = drive(project(tmp_path), "run", "suite.yaml", "--target", "agent.py:wrong", "--repeat", "3")
    assert steps(done)["rerun"] == ["run", "suite.yaml", "--target", "agent.py:wrong", "--repeat", "3", "--failed"]


def test_the_seed_and_the_limits_that_were_given_are_given_again(tmp_path: Path) -> None:
    given = ["--timeout", "2.5", "--seed", "0", "--fail-under", "0.95"]
    done = drive(project(tmp_path), "run", "suite.yaml", "--target", "agent.py:wrong", *given)
    rerun = steps(done)["rerun"]
    assert rerun == ["run", "suite.yaml", "--target", "agent.py:wrong", *given, "--failed"]
    again = steps(drive(tmp_path, *rerun))
    assert again["rerun"] == rerun


def test_showing_a_run_does_not_say_to_show_it(tmp_path: Path) -> None:
    suite = "name: good\ntarget: echo\ntest_cases: [{id: a, input: x, expected: x}]\n"
    folder = project(tmp_path, suite)
    found = steps(drive(folder, "run", "suite.yaml", "--run-name", "fine"))
    assert found == {"look": ["show", "fine"]}
    shown = drive(folder, *found["look"])
    assert "PASSED" in shown.out.splitlines()[-1]


def test_of_several_targets_the_one_that_failed_is_run_again(tmp_path: Path) -> None:
    folder = project(tmp_path)
    asked = ("--target", "cmd: python3 -c 'print(1)'", "--target", "agent.py:wrong")
    found = steps(drive(folder, "run", "suite.yaml", *asked))
    assert found["rerun"] == ["run", "suite.yaml", "--target", "cmd: python3 -c 'print(1)'", "--failed"]


def test_failed_goes_by_runs_of_the_same_target(tmp_path: Path) -> None:
    folder = write(project(tmp_path), good_py='def answer(text): return "Lima" if text else "Cusco"\n')
    drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong")
    assert drive(folder, "run", "suite.yaml", "--target", "good.py:answer").code == 0
    again = drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong", "--failed", "--json")
    assert list(again.states()) == ["the capital of peru"]


def test_the_baseline_of_a_run_judges_its_rerun_too(tmp_path: Path) -> None:
    folder = write(project(tmp_path), good_py='def answer(text): return "Lima" if text else "Cusco"\n')
    drive(folder, "run", "suite.yaml", "--target", "good.py:answer")
    drive(folder, "baseline", "set", "latest", "-o", "base.json")
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong", "--baseline", "base.json")
    assert steps(done)["rerun"][-3:] == ["--baseline", "base.json", "--failed"]


def test_a_baseline_that_was_counted_back_is_named_in_the_rerun(tmp_path: Path) -> None:
    folder = write(project(tmp_path), good_py='def answer(text): return "Lima" if text else "Cusco"\n')
    drive(folder, "run", "suite.yaml", "--target", "good.py:answer", "--run-name", "before")
    done = drive(folder, "run", "suite.yaml", "--target", "agent.py:wrong", "--baseline", "latest")
    assert steps(done)["rerun"][-3:] == ["--baseline", "before", "--failed"]
