"""`verify`: checks a report against its trials in the store or in a file, and tables of other people."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from capitals import capitals_project
from driving import drive, drive_run, write

from evalharness.stores.encoding import unpack

GATED = """
name: gated
target: agent.py:answer
trials: 3
k: [1, 2]
gate: {thresholds: {default: {pass_rate: 0.5, pass^2: 0.9}, categories: {asia: {score: 0.9}}}, max_latency_s: 60}
test_cases:
  - {id: france, input: France, expected: Paris, category: europe, weight: 2}
  - {id: peru, input: Peru, graders: [{exact: Lima}, {contains: us, required: false}], category: america}
  - {id: japan, input: Japan, expected: Tokyo, category: asia, cluster: island}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(capitals_project(tmp_path), gated_yaml=GATED)


def rewrite(project: Path, change: Callable[[Any], None]) -> None:
    path = project / "report.json"
    document = json.loads(path.read_text())
    change(document["eval_report"])
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("suite", ["suite.yaml", "gated.yaml"])
def test_a_run_and_its_report_agree(project: Path, suite: str) -> None:
    report = drive_run(project, "-o", "report.json", suite=suite).report
    name, trials = report["metadata"]["run_name"], len(report["trials"])
    for what in (name, report["metadata"]["run_id"], "report.json"):
        done = drive(project, "verify", what)
        assert done.code == 0, done.both
        assert f"figures that were checked follow from its {trials} trials" in done.out
    [found] = drive(project, "verify", name, "--json").json["verified"]
    assert (found["rows"], found["mismatches"], found["basis"]) == (trials, [], "trials")
    assert found["figures"] > 80


def test_a_changed_report_is_reported_figure_by_figure(project: Path) -> None:
    drive_run(project, "-o", "report.json")

    def flatter(report: Any) -> None:
        report["summary"]["pass_rate"] = 0.95
        report["measurements"]["pass_rate"]["low"] = 0.9

    rewrite(project, flatter)
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "2 of " in done.out
    assert "summary.pass_rate" in done.out
    assert "0.95" in done.out
    [found] = drive(project, "verify", "report.json", "--json").json["verified"]
    [first, second] = found["mismatches"]
    assert (first["figure"], first["reported"], first["found"]) == ("summary.pass_rate", 0.95, pytest.approx(2 / 3))
    assert second["figure"] == "measurements.pass_rate.low"


@pytest.mark.parametrize(("key", "value"), [("state", "passed"), ("score", 0.75)])
def test_a_trial_that_contradicts_its_grades_is_reported(project: Path, key: str, value: Any) -> None:
    drive_run(project, "-o", "report.json")

    def flatter(report: Any) -> None:
        [trial] = [each for each in report["trials"] if (each["case_id"], each["index"]) == ("peru", 0)]
        trial[key] = value

    rewrite(project, flatter)
    done = drive(project, "verify", "report.json", "--json")
    assert done.code == 1
    assert f"trials.peru#1.{key}" in [each["figure"] for each in done.json["verified"][0]["mismatches"]]


def test_a_report_without_its_trials_is_checked_by_its_cases(project: Path) -> None:
    drive_run(project, "-o", "report.json")
    rewrite(project, lambda report: report.pop("trials"))
    done = drive(project, "verify", "report.json")
    assert done.code == 0
    assert "follow from its 3 cases" in done.out
    assert "not checked: the cases themselves" in done.out
    rewrite(project, lambda report: report["metrics"].update(pass_at_1=0.9))
    assert drive(project, "verify", "report.json").code == 1


def test_several_reports_in_a_file_are_checked_one_by_one(project: Path) -> None:
    drive(project, "run", "suite.yaml", "gated.yaml", "-o", "both.json")
    done = drive(project, "verify", "both.json", "--json")
    assert done.code == 0
    assert [found["rows"] for found in done.json["verified"]] == [6, 9]


@pytest.mark.parametrize("column", ["state = 'passed', score = 1.0", "first_state = 'passed'", "cost_usd = 3.5"])
def test_rows_of_the_store_that_were_changed_are_reported(project: Path, column: str) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        connection.execute(f"UPDATE trials SET {column} WHERE case_id = 'peru' AND idx = 0")
    done = drive(project, "verify", name)
    assert done.code == 1
    assert "trials.peru#1" in done.out
    figures = [line.split()[0] for line in done.out.splitlines() if line.startswith("trials.")]
    assert len(figures) == len(set(figures)), "each is reported once"


def test_trials_that_were_removed_from_the_store_are_missed(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        connection.execute("DELETE FROM trials WHERE case_id = 'peru'")
    done = drive(project, "verify", name)
    assert done.code == 1
    assert "summary.pass_rate" in done.out


def test_a_sequential_run_comes_to_the_same_end_again(project: Path) -> None:
    suite = (
        (project / "suite.yaml")
        .read_text()
        .replace("name: capitals", "name: early\ngate: {thresholds: {pass_rate: 0.8}}")
    )
    write(project, early_yaml=suite)
    words = ("run", "early.yaml", "--target", "agent.py:later", "--sequential", "-o", "report.json", "--json")
    report = drive(project, *words).report
    assert report["sequential"]["decision"] == "PASSED"
    for what in (report["metadata"]["run_name"], "report.json"):
        done = drive(project, "verify", what)
        assert done.code == 0, done.both
    rewrite(project, lambda told: told["sequential"].update(trials_used=3))
    assert drive(project, "verify", "report.json").code == 1
    rewrite(project, lambda told: told.pop("trials"))
    believed = drive(project, "verify", "report.json").out
    assert "what the sequential run decided" in believed
    assert "how many of their trials, and which" in believed


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("other.json", '{"a": 1}', "is neither a report nor a table of pass^k"),
        ("broken.json", "{", "is not JSON"),
        ("list.json", "[]", "is neither a report nor a table of pass^k"),
        ("old.json", '{"eval_report": {"verdict": "PASSED"}}', "is not a report that this version can read"),
        ("empty.csv", "a,b\n1,2\n", "is neither a report nor a table of pass^k"),
    ],
)
def test_a_file_that_is_not_a_report_is_wrong_usage(project: Path, name: str, text: str, said: str) -> None:
    (project / name).write_text(text)
    done = drive(project, "verify", name)
    assert done.code == 2
    assert said in done.err


def test_what_is_nowhere_is_reported(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    assert "does not exist" in drive(project, "verify", "nowhere.json").err
    done = drive(project, "verify", f"{name}x")
    assert done.code == 2
    assert f"Did you mean '{name}'?" in done.err
    assert "unknown run or report file" in drive(project, "verify", ".").err + drive(project, "verify", "x").err


def test_a_published_table(project: Path) -> None:
    table = {
        "results": {
            "airline": {"pass_1": 42.0, "pass_2": 27.3, "pass_3": 22.0, "pass_4": 20.0},
            "telecom": {"pass_1": 9.79, "pass_2": 7.22, "pass_3": 5.67, "pass_4": 3.09, "num_tasks": 97},
        }
    }
    (project / "table.json").write_text(json.dumps(table))
    done = drive(project, "verify", "table.json", "--tasks", "airline=50")
    assert done.code == 1
    assert "14 passed 0×, 12 passed 1×, 10 passed 2×, 4 passed 3×, 10 passed 4×" in done.out
    assert "telecom  cannot come from 97 tasks × 4 trials" in done.out
    write(project, table_csv="model,pass^1,pass^2,pass^3,pass^4,tasks\ngpt,0.420,0.273,0.220,0.200,50\n")
    done = drive(project, "verify", "table.csv", "--json")
    assert done.code == 0
    assert done.json["rates"][0]["histogram"] == [14, 12, 10, 4, 10]


@pytest.mark.parametrize("written", ["", "x", "retail=", "0", "retail=-1", "1.5", "9999999999"])
def test_tasks_must_be_numbers(written: str, project: Path) -> None:
    done = drive(project, "verify", "table.json", "--tasks", written)
    assert (done.code, f"must be a number of tasks or NAME=NUMBER (114, retail=114), not '{written}'" in done.err) == (
        2,
        True,
    )


def test_a_table_that_tells_too_little_is_not_said_to_agree(project: Path) -> None:
    (project / "table.json").write_text(json.dumps({"retail": {"pass_1": 0.42, "pass_2": 0.273}}))
    done = drive(project, "verify", "table.json")
    assert done.code == 0
    assert "NOT CHECKED   no row has enough figures" in done.out
    assert "NOT CHECKED" not in drive(project, "verify", "table.json", "--tasks", "1000").out


def test_flags_of_tables_are_said_to_do_nothing_on_a_report(project: Path) -> None:
    drive_run(project, "-o", "report.json")
    done = drive(project, "verify", "report.json", "--tasks", "5", "--trials", "2")
    assert done.code == 0
    assert "note: --tasks is for tables of pass^k and has no effect here" in done.err
    assert "--trials is for tables" in done.err
    assert "note" not in drive(project, "verify", "report.json").err


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("empty.csv", "a,b\n1,2\n", "model,pass^1,pass^2,tasks"),
        ("other.json", "{}", "eval-harness report RUN -o FILE.json"),
        ("junit.xml", "<testsuites/>", "a report must be JSON"),
    ],
)
def test_a_hint_fits_the_kind_of_file(project: Path, name: str, text: str, hint: str) -> None:
    (project / name).write_text(text)
    assert hint in drive(project, "verify", name).err


def test_whether_later_answers_count_is_checked_or_reported(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    rewrite(project, lambda report: report["metadata"].update(retry_failed=True, variant="other"))
    told = drive(project, "verify", "report.json").out.partition("not checked:")[2]
    assert "retry_failed" in told and "variant" in told
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        report = json.loads(unpack(connection.execute("SELECT report FROM runs").fetchone()[0]))
        report["metadata"]["retry_failed"] = True
        connection.execute("UPDATE runs SET report = ?", (json.dumps(report).encode(),))
    assert "metadata.retry_failed" in drive(project, "verify", name).out


def test_figures_of_cases_kept_beside_the_report_are_checked(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    assert "AGREES" in drive(project, "verify", name).out
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        cases = json.loads(unpack(connection.execute("SELECT cases FROM runs").fetchone()[0]))
        cases["passed"][0] += 1
        connection.execute("UPDATE runs SET cases = ?", (json.dumps(cases).encode(),))
    assert f"cases.{cases['case_id'][0]}.passed" in drive(project, "verify", name).out


@pytest.mark.parametrize(
    ("column", "forged"), [("category", "other"), ("criticality", "low"), ("weight", 9.0), ("topic", "other")]
)
def test_what_the_suite_says_of_a_case_is_checked(project: Path, column: str, forged: Any) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        cases = json.loads(unpack(connection.execute("SELECT cases FROM runs").fetchone()[0]))
        cases[column] = [forged] * len(cases["case_id"])
        connection.execute("UPDATE runs SET cases = ?", (json.dumps(cases).encode(),))
    assert f"cases.{cases['case_id'][0]}.{column}" in drive(project, "verify", name).out


@pytest.mark.parametrize("is_earlier", [True, False])
def test_only_a_report_from_before_there_was_a_figure_may_lack_it(project: Path, is_earlier: bool) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        report, cases = (
            json.loads(unpack(body)) for body in connection.execute("SELECT report, cases FROM runs").fetchone()
        )
        assert report["summary"].pop("by_difficulty").keys() == {"hard"}
        assert "hard" in cases.pop("difficulty")
        if is_earlier:
            del report["metadata"]["format"]
        bodies = [json.dumps(body).encode() for body in (report, cases)]
        connection.execute("UPDATE runs SET report = ?, cases = ?", bodies)
    done = drive(project, "verify", name)
    assert done.code == (0 if is_earlier else 1), done.both
    assert ("an earlier version did not report yet (by_difficulty, difficulty)" in done.out) == is_earlier
    assert ("cases.peru.difficulty" in done.out) != is_earlier
    assert ("summary.by_difficulty.hard.total" in done.out) != is_earlier


@pytest.mark.parametrize("is_earlier", [True, False])
def test_a_smallest_drop_is_checked_unless_an_earlier_version_named_it_in_its_own_way(
    project: Path, is_earlier: bool
) -> None:
    drive(project, "baseline", drive_run(project, "-o", "report.json").run_name)
    name = drive_run(project, "-o", "report.json", "--baseline", "default").run_name
    assert "AGREES" in drive(project, "verify", name).out
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        [body] = connection.execute("SELECT report FROM runs WHERE name = ?", (name,)).fetchone()
        report = json.loads(unpack(body))
        report["comparison"]["differences"]["pass_rate"].update(detectable=0.123)
        report["metadata"]["format"] = 1 if is_earlier else 2
        connection.execute("UPDATE runs SET report = ? WHERE name = ?", (json.dumps(report).encode(), name))
    done = drive(project, "verify", name)
    assert done.code == (0 if is_earlier else 1), done.both
    assert ("comparison.differences.pass_rate.detectable" in done.out) != is_earlier


def test_cases_that_are_gone_are_reported_as_not_checked(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    assert "which are not kept" not in drive(project, "verify", name).out
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        connection.execute("UPDATE runs SET cases = NULL")
    assert "the figures of its cases, which were not kept" in drive(project, "verify", name).out


def test_a_run_without_any_trial_is_not_said_to_agree(project: Path) -> None:
    name = drive_run(project, "-o", "report.json").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        connection.execute("DELETE FROM trials")
        connection.execute("UPDATE runs SET report = NULL, cases = NULL, finished_at = NULL")
    done = drive(project, "verify", name)
    assert "NOT CHECKED   it has no trials yet" in done.out
    assert "AGREES" not in done.out


def test_a_run_is_judged_again_by_its_own_gate(project: Path) -> None:
    name = drive_run(project, "-o", "report.json", suite="gated.yaml").run_name
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        report = json.loads(unpack(connection.execute("SELECT report FROM runs").fetchone()[0]))
        assert report["verdict"] == "FAILED"
        report["gate"]["checks"] = [check for check in report["gate"]["checks"] if check["passed"]]
        report["gate"].update(verdict="PASSED", exit_code=0)
        report.update(verdict="PASSED", exit_code=0)
        connection.execute("UPDATE runs SET report = ?", (json.dumps(report).encode(),))
    done = drive(project, "verify", name)
    assert done.code == 1
    assert "gate.checks " in done.out
    assert "gate.verdict" in done.out


def test_a_file_whose_gate_lost_its_checks_differs(project: Path) -> None:
    drive_run(project, "-o", "report.json", suite="gated.yaml")
    assert "what the gate asks for" in drive(project, "verify", "report.json").out.partition("not checked:")[2]

    def flatter(report: Any) -> None:
        report["gate"].update(verdict="PASSED", exit_code=0, checks=[])
        report.update(verdict="PASSED", exit_code=0)

    rewrite(project, flatter)
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "gate.checks " in done.out


def test_figures_that_nothing_can_be_computed_from_are_reported_with_their_file(project: Path) -> None:
    drive_run(project, "-o", "report.json")
    rewrite(project, lambda report: report["cases"][0].update(weight=float("inf")))
    done = drive(project, "verify", "report.json")
    assert done.code == 2
    assert "report.json: every weight must be" in done.err


def test_a_row_without_a_figure_is_named(project: Path) -> None:
    rows = [{"name": "m", "tasks": 5, "pass_1": 0.4}, {"name": "n", "tasks": 5}, {"seed": 3}]
    groups = {"name": "leaderboard", "results": {"retail": {"pass_1": 0.4}, "telecom": {"num_tasks": 97}}}
    for table, label in [(rows, "n"), (groups, "telecom")]:
        (project / "table.json").write_text(json.dumps(table))
        first, second = drive(project, "verify", "table.json", "--trials", "2", "--json").json["rates"]
        assert (second["label"], second["possible"], second["text"]["text"]) == (label, None, "it has no figure")
        assert first["label"] in ("m", "retail")


@pytest.mark.parametrize(
    ("old", "new", "figure"),
    [
        (',"required":false', "", "trials.france#1.grades.2.required"),
        ('"weight":3', '"weight":4', "trials.france#1.grades.1.weight"),
    ],
)
def test_grades_in_a_row_are_those_of_its_attempts(project: Path, old: str, new: str, figure: str) -> None:
    graders = "[{contains: Par, weight: 3}, {contains: is, required: false}]"
    write(
        project, graded_yaml=f"target: agent.py:answer\ntest_cases: [{{id: france, input: France, graders: {graders}}}]"
    )
    name = drive(project, "run", "graded.yaml", "--json").run_name
    assert drive(project, "verify", name).code == 0
    with closing(sqlite3.connect(project / ".evalharness" / "store.db")) as connection, connection:
        connection.execute("UPDATE trials SET grades = replace(grades, ?, ?) WHERE case_id = 'france'", (old, new))
    done = drive(project, "verify", name)
    assert done.code == 1, done.both
    assert figure in done.out
