"""`eval-harness resume` from a user's view: beside a living run, after a kill, after edits, after errors."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from driving import drive, wait_until
from held_project import Project, interrupted


def counts(document: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(document)["eval_report"]["summary"]["trials"]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_living_run_is_not_resumed(project: Project) -> None:
    project.hold("q4")
    with project.started("run", "suite.json", "-j", "2", "--json") as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        refused = project.call("resume")
        assert refused.code == 2
        assert f"run {project.run_names()[0]} is running in another process" in refused.err
        assert process.poll() is None
        project.let_go()
        done = process.wait()
    assert done.code == 0, done.err
    assert counts(done.out)["passed"] == 5
    assert len(project.executed()) == 5
    assert project.call("resume").code == 0


def test_a_second_resume_is_refused_while_the_first_goes_on(project: Project) -> None:
    interrupted(project)
    project.hold()
    with project.started("resume", "--json") as first:
        wait_until(lambda: len(project.executed()) == 6)
        assert project.call("resume").code == 2
        project.let_go()
        done = first.wait()
    assert done.code == 0, done.err
    assert counts(done.out)["passed"] == 5
    again = project.call("resume")
    assert again.code == 0
    assert len(project.executed()) == 6


@pytest.mark.parametrize(("target", "code"), [("agent.py:answer", 0), ("agent.py:wrong", 1)])
def test_a_finished_run_says_its_verdict_again_and_runs_nothing(tmp_path: Path, target: str, code: int) -> None:
    project = Project(tmp_path, target=target)
    first = project.call("run", "suite.json", "--json")
    again = project.call("resume", "--json")
    assert (first.code, again.code) == (code, code)
    assert again.json == first.json
    assert len(project.executed()) == 5


def test_a_run_killed_between_its_last_trial_and_its_report_is_finished_by_resume(project: Project) -> None:
    """The store still says "interrupted", from before the resume that was killed."""
    interrupted(project)
    project.call("resume")
    connection = sqlite3.connect(project.folder / "store.db")
    with connection:
        connection.execute("UPDATE runs SET stopped = 'interrupted', report = NULL, finished_at = NULL")
    connection.close()
    resumed = project.call("resume")
    assert resumed.code == 0, resumed.out
    assert "PASSED" in resumed.out
    assert len(project.executed()) == 6
    connection = sqlite3.connect(project.folder / "store.db")
    assert connection.execute("SELECT finished_at IS NOT NULL, report IS NOT NULL FROM runs").fetchall() == [(1, 1)]
    connection.close()


def test_two_targets_killed_in_the_middle_are_resumed_as_a_whole(project: Project) -> None:
    project.hold("q4")
    project.hold(file="hold-other")
    words = ("run", "suite.json", "--target", "agent.py:answer", "--target", "agent.py:other", "-j", "2")
    with project.started(*words) as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.kill()
    project.let_go()
    project.let_go("hold-other")
    resumed = project.call("resume", project.run_names()[0], "--json")
    assert resumed.code == 0, resumed.err
    reports = resumed.json["eval_reports"]
    assert [report["summary"]["trials"]["passed"] for report in reports] == [5, 5]
    assert [report["metadata"]["variant"] for report in reports] == ["agent.py:answer", "agent.py:other"]
    assert Counter(project.executed()) == {
        **{f"q{n}": 1 for n in range(4)},
        "q4": 2,
        **{f"other q{n}": 1 for n in range(5)},
    }


@pytest.mark.parametrize(
    ("file", "named"), [("agent.py", "the target"), ("grader.py", "the graders of case-0, case-1, case-2 …")]
)
def test_edited_code_is_not_mixed_with_what_ran_before(project: Project, file: str, named: str) -> None:
    interrupted(project)
    path = project.folder / file
    before = path.read_text()
    path.write_text(before + "\n# edited\n")
    refused = project.call("resume")
    assert refused.code == 2
    assert f"{named} changed since it began" in refused.err
    assert len(project.executed()) == 5
    path.write_text(before)
    assert project.call("resume").code == 0


def test_a_changed_file_of_a_case_is_not_mixed_with_what_ran_before(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("before")
    graders = {"graders": ["grader.py:judged"]}
    files = {"files": {"notes.txt": {"path": "notes.txt"}}}
    cases = [{"id": f"case-{n}", "input": f"q{n}", **graders, **(files if n == 4 else {})} for n in range(5)]
    project = Project(tmp_path, test_cases=cases)
    interrupted(project)
    (tmp_path / "notes.txt").write_text("after")
    refused = project.call("resume")
    assert refused.code == 2
    assert "the files of case-4 changed since it began" in refused.err
    assert len(project.executed()) == 5
    (tmp_path / "notes.txt").write_text("before")
    assert project.call("resume").code == 0


def test_a_run_that_stopped_after_failures_goes_on_to_its_end(tmp_path: Path) -> None:
    project = Project(tmp_path, target="agent.py:wrong")
    assert project.call("run", "suite.json", "-j", "1", "--max-failures", "2").code == 1
    assert len(project.executed()) == 2
    resumed = project.call("resume", "--json")
    assert (resumed.code, counts(resumed.out)["failed"]) == (1, 5)


def test_the_environment_of_the_run_is_there_again_unless_other_values_are_given(tmp_path: Path) -> None:
    project = Project(tmp_path, target="agent.py:coloured")
    given = ("--env", "COLOUR=red", "--env", "SHAPE=round")
    project.call("run", "suite.json", "-j", "1", "--max-failures", "1", *given)
    assert project.executed() == ["red round"]
    project.call("resume", "-j", "1", "--env", "COLOUR=blue")
    assert project.executed()[1:] == ["blue round"] * 4


def test_errors_are_tried_again_and_their_attempts_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, target="agent.py:unsteady")
    (tmp_path / "broken").touch()
    first = project.call("run", "suite.json")
    assert first.code == 3
    assert "INVALID" in first.out
    assert project.call("resume").code == 3
    (tmp_path / "broken").unlink()
    mended = project.call("resume", "--json")
    assert mended.code == 0, mended.err
    assert counts(mended.out)["passed"] == 5
    assert [row[3:] for row in project.rows()] == [("passed", 1), ("passed", 1), ("passed", 3), *[("passed", 1)] * 2]
    assert Counter(project.executed()) == {"q0": 1, "q1": 1, "q2": 3, "q3": 1, "q4": 1}


def test_a_run_whose_baseline_is_gone_is_finished_and_judged_by_another(tmp_path: Path) -> None:
    project = Project(tmp_path, gate={"regression": "base.json"})
    first = ("run", "suite.json", "--baseline", "none", "-o", "base.json", "--store", "other.db")
    assert drive(tmp_path, *first).code == 0
    (tmp_path / "log").unlink()
    assert interrupted(project).code == 130
    (tmp_path / "base.json").rename(tmp_path / "kept.json")
    resumed = project.call("resume", "--json")
    assert (resumed.code, counts(resumed.out)["passed"]) == (2, 5)
    [name] = project.run_names()
    [check] = resumed.report["gate"]["checks"]
    assert "there is no file" in check["text"]["text"]
    assert f"eval-harness gate {name} --baseline B" in check["text"]["text"]
    assert project.call("gate", name, "--baseline", "kept.json").code == 0


def test_secrets_are_asked_for_again(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    project = Project(tmp_path, vars={"colour": "red"})
    suite = json.loads((tmp_path / "suite.json").read_text())
    suite["test_cases"][0]["input"] = "{{api_token}} {{place}}"
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    project.hold("q4")
    given = ("--var", f"api_token={secret}", "--var", "place=Paris")
    with project.started("run", "suite.json", "-j", "2", *given) as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.send_signal(signal.SIGINT)
        process.wait()
    project.let_go()
    assert project.executed()[0] == f"{secret} Paris"
    for path in tmp_path.glob("store.db*"):
        assert secret.encode() not in path.read_bytes()
    refused = project.call("resume")
    assert refused.code == 2
    assert "--var api_token=" in refused.err
    assert "place" not in refused.err
    assert len(project.executed()) == 5
    resumed = project.call("resume", "--var", f"api_token={secret}")
    assert resumed.code == 0, resumed.err
    assert project.executed()[-1] == "q4"
