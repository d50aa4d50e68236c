"""`verify` of a comparison: in a file by the report's own cases, for a run by comparing it with its baseline again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from capitals import capitals_project
from driving import drive, write

from evalharness.stores.encoding import unpack

WORSE = """
name: worse
target: agent.py:later
trials: 4
gate: {regression: true}
test_cases:
  - {id: france, input: France, expected: Paris}
  - {id: peru, input: Peru, expected: Lima}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(capitals_project(tmp_path), worse_yaml=WORSE)


def rewrite(project: Path, change: Callable[[Any], None]) -> None:
    path = project / "report.json"
    document = json.loads(path.read_text())
    change(document["eval_report"])
    path.write_text(json.dumps(document))


@pytest.fixture
def compared(project: Path) -> str:
    """A run that is worse than its baseline; its report is in report.json."""
    before = drive(project, "run", "worse.yaml", "--baseline", "none", "--json").run_name
    drive(project, "baseline", before)
    words = ("run", "worse.yaml", "--target", "agent.py:answer", "-o", "report.json", "--json")
    report = drive(project, *words).report
    assert report["comparison"]["verdict"] == "REGRESSION"
    return str(report["metadata"]["run_name"])


def test_a_comparison_in_a_file_is_checked_against_its_cases(project: Path, compared: str) -> None:
    done = drive(project, "verify", "report.json")
    assert done.code == 0, done.both
    assert "parts of the comparison: p-values" in done.out.partition("not checked:")[2]
    assert "the rule of the comparison (metrics, alpha, power, margin, tolerance)" in done.out
    rewrite(project, lambda report: report["comparison"]["differences"]["pass_rate"].update(new=0.9, n_trials_new=7))
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "comparison.differences.pass_rate.new" in done.out
    assert "comparison.differences.pass_rate.n_trials_new" in done.out


def test_a_verdict_in_a_file_follows_from_its_differences(project: Path, compared: str) -> None:
    rewrite(project, lambda report: report["comparison"].update(verdict="NO REGRESSION"))
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "comparison.verdict" in done.out


def test_a_run_is_compared_with_its_baseline_again(project: Path, compared: str) -> None:
    done = drive(project, "verify", compared)
    assert done.code == 0, done.both
    assert "parts of the comparison: p-values" not in done.out
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        where = "WHERE name = ?", (compared,)
        report = json.loads(unpack(connection.execute(f"SELECT report FROM runs {where[0]}", where[1]).fetchone()[0]))
        report["comparison"]["differences"]["pass_rate"]["p"] /= 2
        connection.execute(f"UPDATE runs SET report = ? {where[0]}", (json.dumps(report).encode(), *where[1]))
    done = drive(project, "verify", compared)
    assert done.code == 1
    assert "comparison.differences.pass_rate.p " in done.out


def test_a_file_is_not_a_run_of_the_store_even_if_it_is_called_baseline(project: Path) -> None:
    """The file has changed since the run, so it is not compared with what the store knows of the run it names."""
    drive(project, "run", "worse.yaml", "--baseline", "none", "-o", "report.json")
    rewrite(project, lambda report: report["cases"][0].update(passed=2))
    (project / "report.json").rename(project / "baseline-of-monday")
    report = drive(project, "run", "worse.yaml", "--baseline", "baseline-of-monday", "--json").report
    assert report["comparison"]["old"]["source"] == "baseline-of-monday"
    done = drive(project, "verify", report["metadata"]["run_name"])
    assert done.code == 0, done.both


def test_a_regression_check_needs_its_comparison(project: Path) -> None:
    before = drive(project, "run", "worse.yaml", "--baseline", "none", "--json").run_name
    drive(project, "baseline", before)
    report = drive(project, "run", "worse.yaml", "--repeat", "20", "-o", "report.json", "--json").report
    assert [check["name"] for check in report["gate"]["checks"]] == ["regression", "flips"]
    assert drive(project, "verify", "report.json").code == 0
    rewrite(project, lambda report: report.update(comparison=None))
    rewrite(project, lambda report: report["gate"]["checks"][0].update(passed=True, value=None))
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "gate.checks.regression.passed" in done.out


@pytest.mark.parametrize(
    "change",
    [
        "state = 'failed', first_state = 'failed', score = 0.0",
        "duration_s = duration_s + 100",
        "input_tokens = 7",
        "seed = seed + 1",
        """grades = replace(grades, '"state":"pass"', '"state":"fail"')""",
    ],
)
def test_a_changed_row_of_the_baseline_is_found(project: Path, compared: str, change: str) -> None:
    """The stored report, which the comparison was made with, is unchanged."""
    assert drive(project, "verify", compared).code == 0
    before = drive(project, "show", compared, "--json").report["comparison"]["old"]["run_id"]
    [store] = project.rglob("*.db")
    with closing(sqlite3.connect(store)) as database, database:
        run = "(SELECT seq FROM runs WHERE id = ?)"
        changed = database.execute(
            f"UPDATE trials SET {change} WHERE run_seq = {run} AND case_id = 'france' AND idx = 0", (before,)
        )
        assert changed.rowcount == 1
    done = drive(project, "verify", compared)
    assert done.code == 1, done.both
    assert "baseline.trials.france#1" in done.out


OF_BASELINE = "(SELECT seq FROM runs WHERE id = ?)"


def change_store(project: Path, statement: str, run_id: str) -> None:
    [store] = project.rglob("*.db")
    with closing(sqlite3.connect(store)) as database, database:
        assert database.execute(statement, (run_id,)).rowcount > 0


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (f"DELETE FROM trials WHERE run_seq = {OF_BASELINE}", ""),
        ("UPDATE runs SET finished_at = NULL WHERE id = ?", ".finished_at"),
        ("UPDATE runs SET finished_at = '2999-01-01T00:00:00+00:00' WHERE id = ?", ".finished_at"),
    ],
)
def test_a_baseline_that_is_there_but_cannot_be_used_differs(
    project: Path, compared: str, statement: str, named: str
) -> None:
    before = drive(project, "show", compared, "--json").report["comparison"]["old"]
    change_store(project, statement, before["run_id"])
    done = drive(project, "verify", compared)
    assert done.code == 1, done.both
    assert "DIFFERS" in done.out
    assert f"baseline {before['run_name']}{named}" in done.out


def test_a_baseline_that_was_removed_is_not_checked(project: Path, compared: str) -> None:
    before = drive(project, "show", compared, "--json").report["comparison"]["old"]["run_name"]
    drive(project, "baseline", compared)
    assert drive(project, "runs", "rm", before).code == 0
    done = drive(project, "verify", compared)
    assert done.code == 0, done.both
    assert "parts of the comparison: p-values" in done.out.partition("not checked:")[2]
