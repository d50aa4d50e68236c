"""`eval-harness regrade` from a user's view: new grades for old answers, and never a new answer."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, texts, wait_until, write
from held_project import Project, interrupted

AGENT = """
def answer(text):
    with open("log", "a") as log:
        log.write(text + "\\n")
    if text == "boom":
        raise ValueError("no idea")
    return text.upper()
"""
GRADER = "def judged(context):\n    return context.text == 'TEA'\n"
LENIENT = "def judged(context):\n    return context.text.isupper()\n"
CASES = {"tea": "tea", "milk": "milk", "crash": "boom"}


def suite(**changes: Any) -> str:
    cases = [{"id": id_, "input": text, "graders": ["grader.py:judged"]} for id_, text in CASES.items()]
    return json.dumps({"name": "drinks", "target": "agent.py:answer", "test_cases": cases, **changes})


def project(folder: Path, **changes: Any) -> tuple[Path, str]:
    """A folder with one run of three cases: `tea` passes, `milk` fails, `crash` gives no answer."""
    write(folder, agent_py=AGENT, grader_py=GRADER, suite_json=suite(config={"retries": 0}, **changes))
    done = drive(folder, "run", "suite.json", "--json")
    assert done.code == 1, done.err
    return folder, done.run_name


def executed(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def runs(folder: Path) -> list[Any]:
    listed: list[Any] = drive(folder, "runs", "--json").json["runs"]
    return listed


def shown(folder: Path, run: str) -> Outcome:
    return drive(folder, "show", run, "--json")


def test_changed_grader_code_counts_and_the_old_grades_stay(tmp_path: Path) -> None:
    folder, old = project(tmp_path, trials=2)
    before = shown(folder, old).json
    (folder / "agent.py").unlink()  # no target is needed
    write(folder, grader_py=LENIENT)

    done = drive(folder, "regrade", old)
    assert done.code == 1, "crash has no answer, whichever grader is used"
    new = runs(folder)[0]["run_name"]
    assert f"{new} regrades {old}: 4 of 6 trials graded again; the target was not run\n" in done.out
    assert "1 case changed: milk: failed → passed\n" in done.out
    assert "2 trials without an answer to grade, kept as before\n" in done.out
    assert "FAILED   1 failed, 2 passed" in done.out
    assert len(executed(folder)) == 6

    after = shown(folder, new)
    assert after.states() == {"tea": ["passed"] * 2, "milk": ["passed"] * 2, "crash": ["failed"] * 2}
    assert "no idea" in after.report["failures"][0]["reason"]
    assert after.report["metadata"]["regrade_of"] == before["eval_report"]["metadata"]["run_id"]
    assert after.report["notes"][0]["text"].startswith(f"{new} regrades {old}")
    assert shown(folder, old).json == before


def test_a_regrade_is_marked_in_lists_and_shown_with_what_it_is(tmp_path: Path) -> None:
    folder, old = project(tmp_path)
    drive(folder, "regrade", old)
    new, first = runs(folder)
    assert (first["run_name"], first["regrade_of"], new["regrade_of"]) == (old, "", first["run_id"])
    assert re.search(rf" {new['run_name']} .* regrade of {old} ", drive(folder, "runs").out)
    assert (
        f"{new['run_name']} regrades {old}: 2 of 3 trials graded again; the target was not run"
        in drive(folder, "show", new["run_name"]).out
    )
    assert f" · regrade of {old} · " in drive(folder, "show", new["run_name"]).out.splitlines()[0]
    again = drive(folder, "regrade", new["run_name"])
    assert f"regrades {new['run_name']}" in again.out
    assert "no case changed" in again.out


def test_a_changed_suite_grades_by_case_id(tmp_path: Path) -> None:
    folder, old = project(tmp_path)
    cases = [
        {"id": "milk", "input": "milk", "expected": "MILK", "reference": "new"},
        {"id": "tea", "input": "green tea", "expected": "GREEN TEA"},
        {"id": "new", "input": "juice", "expected": "JUICE"},
    ]
    write(folder, changed_json=suite(test_cases=cases))
    done = drive(folder, "regrade", old, "--suite", "changed.json", "--json")
    assert done.code == 0, done.err
    assert done.states() == {"milk": ["passed"]}
    assert done.report["summary"]["trials"]["planned"] == 1
    for told in (
        "1 case left out (not in changed.json): crash",
        f"1 case left out (not in {old}): new",
        "1 case left out (the question has changed): tea",
    ):
        assert f"warning: {told}" in done.err
        assert told in texts(done.report["notes"])

    cases = cases[1:]
    write(folder, changed_json=suite(test_cases=cases))
    nothing = drive(folder, "regrade", old, "--suite", "changed.json")
    assert nothing.code == 2
    assert f"changed.json has no case that {old} has answered" in nothing.err
    assert len(runs(folder)) == 2


def test_thresholds_of_a_changed_suite_decide_the_verdict(tmp_path: Path) -> None:
    folder, old = project(tmp_path)
    write(folder, changed_json=suite(case_threshold=0.0))
    assert drive(folder, "regrade", old, "--suite", "changed.json").code == 0


def test_only_the_selected_cases_are_graded(tmp_path: Path) -> None:
    folder, old = project(tmp_path)
    done = drive(folder, "regrade", old, "--only", "tea", "--json")
    assert (done.code, done.states()) == (0, {"tea": ["passed"]})
    assert drive(folder, "regrade", old, "--only", "coffee").code == 2
    people = drive(folder, "regrade", old, "--grader-type", "human", "--json")
    assert people.states() == {"tea": ["awaiting"], "milk": ["awaiting"], "crash": ["failed"]}
    back = drive(folder, "regrade", people.report["metadata"]["run_id"], "--json")
    assert back.states() == {"tea": ["passed"], "milk": ["failed"], "crash": ["failed"]}


def test_a_secret_that_only_the_question_contained_is_not_asked_for_again(tmp_path: Path) -> None:
    cases = [{"id": "a", "input": "tea {{api_token}}", "expected": {"contains": "TEA"}}]
    write(tmp_path, agent_py=AGENT, suite_json=suite(test_cases=cases))
    assert drive(tmp_path, "run", "suite.json", "--var", "api_token=correct-horse-battery").code == 0
    done = drive(tmp_path, "regrade", runs(tmp_path)[0]["run_name"])
    assert (done.code, "1 of 1 trial graded again" in done.out) == (0, True)


def test_variables_are_as_they_were_unless_given_again_and_secrets_are_asked_for(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    graders = [{"contains": "{{wanted}}"}, {"not_contains": "{{api_token}}"}]
    cases = [{"id": "a", "input": "{{drink}} {{api_token}}", "graders": graders}]
    given = ("--var", f"api_token={secret}", "--var", "drink=tea", "--var", "wanted=MILK")
    write(tmp_path, agent_py=AGENT, suite_json=suite(test_cases=cases))
    assert drive(tmp_path, "run", "suite.json", *given).code == 1
    old = runs(tmp_path)[0]["run_name"]

    refused = drive(tmp_path, "regrade", old, "--var", "wanted=TEA")
    assert refused.code == 2
    assert f"run {old} needs a value for api_token" in refused.err
    assert "--var api_token=" in refused.err
    assert len(runs(tmp_path)) == 1

    done = drive(tmp_path, "regrade", old, "--var", "wanted=TEA", "--var", f"api_token={secret}")
    assert done.code == 0, done.err
    changed = drive(tmp_path, "regrade", old, "--suite", "suite.json", *given[:2], "--var", "drink=milk")
    assert changed.code == 2, "the question would be a different one"
    for path in (tmp_path / ".evalharness").iterdir():
        assert secret.encode() not in path.read_bytes()


def test_grading_on_redacted_text_says_so(tmp_path: Path) -> None:
    agent = "import os\ndef answer(text):\n    return text + os.environ.get('MY_TOKEN', '')\n"
    cases = [{"id": id_, "input": id_, "graders": [{"not_contains": "hunter"}]} for id_ in ("a", "b")]
    write(tmp_path, agent_py=agent, suite_json=suite(test_cases=cases))
    first = drive(tmp_path, "run", "suite.json", env={"MY_TOKEN": "hunter2-hunter2"})
    assert first.code == 1, "the grader saw the raw text"
    done = drive(tmp_path, "regrade", runs(tmp_path)[0]["run_name"])
    assert done.code == 0
    told = "2 trials graded on redacted text, because secrets are not stored: a, b"
    assert told in done.out
    assert told in drive(tmp_path, "show", runs(tmp_path)[0]["run_name"]).out


def test_grading_on_text_that_was_cut_says_so(tmp_path: Path) -> None:
    agent = "def answer(text):\n    return 'x' * 1_200_000 + 'needle' + 'x' * 1_200_000\n"
    cases = [{"id": "a", "input": "?", "graders": [{"contains": "needle"}]}]
    write(tmp_path, agent_py=agent, suite_json=suite(test_cases=cases))
    assert drive(tmp_path, "run", "suite.json").code == 0
    done = drive(tmp_path, "regrade", runs(tmp_path)[0]["run_name"])
    assert done.code == 1
    assert "1 trial graded on text that was cut to its beginning and end" in done.out


def test_a_grader_that_broke_is_repaired_by_regrading(tmp_path: Path) -> None:
    folder = write(tmp_path, agent_py=AGENT, grader_py="def judged(context):\n    raise KeyError('oops')\n")
    write(folder, suite_json=suite(test_cases=[{"id": "tea", "input": "tea", "graders": ["grader.py:judged"]}]))
    assert drive(folder, "run", "suite.json").code == 3
    old, name = runs(folder)[0]["run_id"], runs(folder)[0]["run_name"]
    still = drive(folder, "regrade", old)
    assert still.code == 3
    assert f"eval-harness regrade {name}" in still.out.splitlines()[-1]
    write(folder, grader_py=GRADER)
    assert drive(folder, "regrade", old).code == 0

    write(folder, grader_py="import nowhere_to_be_found\n")
    broken = drive(folder, "regrade", old)
    assert broken.code == 2
    assert "nowhere_to_be_found" in broken.err
    assert len(runs(folder)) == 3, "nothing is stored if the graders are not available"


def test_all_runs_of_a_matrix_are_regraded_together(tmp_path: Path) -> None:
    write(tmp_path, suite_json=suite(test_cases=[{"id": "a", "input": "tea", "expected": "tea"}]))
    drive(tmp_path, "run", "suite.json", "--target", "echo", "--target", "null")
    old = runs(tmp_path)[0]["run_name"]
    both = drive(tmp_path, "regrade", old, "--matrix", "--json")
    assert both.code == 1
    assert [report["metadata"]["variant"] for report in both.json["eval_reports"]] == ["echo", "null"]
    assert [report["verdict"] for report in both.json["eval_reports"]] == ["PASSED", "FAILED"]
    assert drive(tmp_path, "regrade", old, "--json").report["metadata"]["variant"] == "null"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name the run to grade again"),
        (("nobody-knows-000",), "unknown run 'nobody-knows-000'"),
        (("some-run-001", "--artifact", "a.json"), "--artifact cannot be used with a run (some-run-001)"),
        (("some-run-001", "--scorer", "cost"), "--scorer cannot be used with a run (some-run-001)"),
        (("--artifact", "a.json"), "--artifact needs --dataset"),
        (("--dataset", "d.json"), "--dataset needs --artifact"),
        (("--artifact", "a.json", "--dataset", "d.json", "--matrix"), "--matrix cannot be used with --artifact"),
        (("some-run-001", "--case", "a"), "--case cannot be used with a run"),
    ],
)
def test_wrong_usage_is_reported(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    done = drive(tmp_path, "regrade", *words)
    assert done.code == 2
    assert told in done.err
    as_json = drive(tmp_path, "regrade", *words, "--json")
    assert (as_json.code, as_json.json["error"]["code"]) == (2, 2)


def test_what_was_never_run_stays_pending(tmp_path: Path) -> None:
    held = Project(tmp_path)
    interrupted(held)
    [old] = held.run_names()
    done = held.call("regrade", old)
    assert done.code == 130
    assert "4 of 5 trials graded again" in done.out
    assert "1 pending, 4 passed" in done.out
    assert f"1 trial of {old} not run yet, so pending here too" in done.out
    new = held.run_names()[-1]

    refused = held.call("resume", new)
    assert refused.code == 2
    assert f"run {new} is an unfinished regrade" in refused.err
    assert len(held.executed()) == 5, "nothing was run"
    resumed = held.call("resume", "--json")
    assert resumed.json["eval_report"]["metadata"]["run_name"] == old, "the run, not its regrade"
    assert held.call("regrade", old).code == 0


HOLDING = """
import asyncio, os
from pathlib import Path

async def judged(context):
    while Path("hold-grader").exists() and context.index == 4:
        Path("holding").touch()
        await asyncio.sleep(0.01)
    return True
"""


@pytest.fixture
def half_graded(tmp_path: Path) -> Project:
    """A finished run, and a grader that waits at its last trial."""
    held = Project(
        tmp_path, trials=5, test_cases=[{"id": "a", "input": "q", "graders": ["grader.py:judged"]}], config={}
    )
    assert held.call("run", "suite.json").code == 0
    (tmp_path / "grader.py").write_text(HOLDING)
    (tmp_path / "hold-grader").touch()
    return held


def test_an_interrupted_regrade_leaves_nothing_behind(half_graded: Project) -> None:
    [old] = half_graded.run_names()
    with half_graded.started("regrade", old) as process:
        wait_until((half_graded.folder / "holding").exists)
        process.send_signal(signal.SIGINT)
        done = process.wait()
    assert done.code == 130
    assert "nothing of this regrade was kept" in done.err
    assert f"eval-harness regrade {old}" in done.err
    assert half_graded.run_names() == [old]
    assert len(half_graded.rows()) == 5
    assert half_graded.call("resume").code == 0


def test_no_command_finds_a_killed_regrade_and_the_next_one_removes_it(half_graded: Project) -> None:
    [old] = half_graded.run_names()
    with half_graded.started("regrade", old) as process:
        wait_until((half_graded.folder / "holding").exists)
        wait_until(lambda: len(half_graded.rows()) > 5)
        process.kill()
        process.wait()
    (half_graded.folder / "hold-grader").unlink()
    _, killed = half_graded.run_names()
    listed = half_graded.call("runs", "--json")
    assert old in listed.out
    assert killed not in listed.out
    for words in (("show", killed), ("compare", old, killed), ("resume", killed), ("regrade", killed)):
        refused = half_graded.call(*words)
        assert refused.code == 2
        assert refused.err.startswith("error: unknown")
    assert half_graded.call("regrade", old).code == 0
    assert len(half_graded.run_names()) == 2
    assert len(half_graded.rows()) == 10, "nothing is left of the one that was killed"
    assert half_graded.call("resume").code == 0
    assert len(half_graded.executed()) == 5


def test_a_regrade_leaves_those_of_others_alone(half_graded: Project) -> None:
    [old] = half_graded.run_names()
    with half_graded.started("regrade", old) as process:
        wait_until((half_graded.folder / "holding").exists)
        (half_graded.folder / "grader.py").write_text("def judged(context): return True")
        assert half_graded.call("regrade", old).code == 0
        (half_graded.folder / "hold-grader").unlink()
        assert process.wait().code == 0
    assert len(half_graded.run_names()) == 3
