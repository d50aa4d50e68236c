"""How often a case has failed and when it last passed: kept by the store and counted once per run."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from driving import drive, wait_until, write
from held_project import Project

SUITE = """
name: steady
target: agent.py:answer
config: {retries: 0}
test_cases:
  - {id: old, input: a, expected: a, metadata: {failure_count: 2, last_passed: '2024-01-19'}}
  - {id: new, input: b, expected: b}
  - {id: odd, input: c, expected: c}
"""
AGENT = """
import json
from pathlib import Path
from evalharness import TargetUnavailable

def answer(text):
    wrong = json.loads(Path("wrong.json").read_text())
    if wrong.get(text) == "error":
        raise TargetUnavailable("down")
    return wrong.get(text, text)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, suite_yaml=SUITE, agent_py=AGENT, pyproject_toml="", wrong_json="{}")


def run(folder: Path, **wrong: str) -> dict[str, Any]:
    (folder / "wrong.json").write_text(json.dumps(wrong))
    report = drive(folder, "run", "suite.yaml", "--json").report
    return {failure["eval_id"]: failure["details"] for failure in report["failures"]}


def test_it_starts_with_the_file_and_is_kept_in_the_store(folder: Path) -> None:
    first = run(folder, a="no", b="no")
    assert first == {
        "old": {"failed": 1, "failure_count": 3, "last_passed": "2024-01-19"},
        "new": {"failed": 1, "failure_count": 1},
    }
    run(folder)
    again = run(folder, a="no", b="no", c="error")
    assert {id_: details.get("failure_count") for id_, details in again.items()} == {
        "old": 4,
        "new": 2,
        "odd": None,
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", again["new"]["last_passed"])
    assert again["old"]["last_passed"] == again["odd"]["last_passed"] == again["new"]["last_passed"]
    assert (folder / "suite.yaml").read_text() == SUITE

    newest = drive(folder, "runs", "--json").json["runs"][0]["run_name"]
    day = again["new"]["last_passed"][:10]
    assert f"    failed 4 times so far, last passed {day}\n" in drive(folder, "show", newest, "-v").out
    assert f"history: failed 4 times so far, last passed {day}" in drive(folder, "show", newest, "old").out
    data = drive(folder, "show", newest, "new", "--json").json
    assert data["history"] == {"failure_count": 2, "last_passed": again["new"]["last_passed"]}


def test_it_outlives_the_runs(folder: Path) -> None:
    run(folder, b="no")
    for row in drive(folder, "runs", "--json").json["runs"]:
        assert drive(folder, "runs", "rm", row["run_name"]).code == 0
    assert drive(folder, "store", "prune", "--older-than", "0m").code == 0
    suites = drive(folder, "list-suites", "--json").json["suites"]
    assert [row["suite"] for row in suites if row["registered"]] == ["steady"]
    assert run(folder, b="no")["new"]["failure_count"] == 2


def test_built_in_targets_are_not_part_of_it(folder: Path) -> None:
    run(folder, b="no")
    for target in ("oracle", "null"):
        assert drive(folder, "run", "suite.yaml", "--target", target).code in (0, 1)
    assert run(folder, b="no")["new"] == {"failed": 1, "failure_count": 2}


def test_a_dry_run_and_a_second_look_change_nothing(folder: Path) -> None:
    run(folder, b="no")
    for words in (("run", "suite.yaml", "--dry-run"), ("resume",), ("resume",)):
        drive(folder, *words)
    newest = drive(folder, "runs", "--json").json["runs"][0]["run_name"]
    assert drive(folder, "show", newest, "new", "--json").json["history"]["failure_count"] == 1


def test_what_resume_repairs_is_not_counted_again(folder: Path) -> None:
    run(folder, b="no", c="error")
    (folder / "wrong.json").write_text('{"b": "no"}')
    mended = drive(folder, "resume", "--json").report
    assert [failure["details"]["failure_count"] for failure in mended["failures"]] == [1]


def test_a_killed_run_counts_once_when_it_is_resumed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.hold("q4")
    (tmp_path / "grader.py").write_text("def judged(context):\n    return context.case.id == 'case-0'\n")
    with project.started("run", "suite.json") as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.kill()
    assert stored(project) == []
    project.let_go()
    resumed = [project.call("resume").code for _ in range(3)]
    assert resumed == [1, 1, 1]
    assert stored(project) == [0, 1, 1, 1, 1]


def test_a_run_killed_between_its_last_trial_and_its_report_counts_once(tmp_path: Path) -> None:
    project = Project(tmp_path, target="agent.py:wrong")
    assert project.call("run", "suite.json").code == 1
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        store.execute("UPDATE runs SET finished_at = NULL, report = NULL")
        store.execute("DELETE FROM case_history")
        store.commit()
    for _ in range(2):
        assert project.call("resume").code == 1
        assert stored(project) == [1, 1, 1, 1, 1]


def stored(project: Project) -> list[int]:
    """How often each case has failed, in the order of cases."""
    with closing(sqlite3.connect(f"file:{project.folder / 'store.db'}?mode=ro", uri=True)) as store:
        return [count for (count,) in store.execute("SELECT failure_count FROM case_history ORDER BY case_id")]
