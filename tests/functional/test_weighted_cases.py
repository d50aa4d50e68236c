"""Cases with different weights: one rule for the rate in reports, gates, comparisons, plans and `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import drive, line_of, write

AGENT = """
from evalharness import TargetUnavailable

def answer(text):
    return text

def worse(text):
    return "no" if text in ("heavy", "light") else text

def unreachable(text):
    if text == "heavy":
        raise TargetUnavailable("the line is down")
    return text
"""
SUITE = """
name: weighed
target: agent.py:answer
max_error_rate: 0.9
config: {retries: 0}
test_cases:
  - {id: heavy, input: heavy, expected: heavy, weight: 3}
  - {id: wrong, input: wrong, expected: right}
  - {id: light, input: light, expected: no, weight: 0}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE)


def test_all_rates_of_a_report_follow_one_rule_and_counts_do_not(project: Path) -> None:
    report = drive(project, "run", "suite.yaml", "--json", "-o", "report.json").report
    assert {report["metrics"][name] for name in ("pass_rate", "pass_at_1", "score")} == {0.75}
    summary = report["summary"]
    assert (summary["pass_rate"], summary["passed"], summary["failed"]) == (0.75, 1, 2)
    assert summary["case_pass_rate"] == pytest.approx(1 / 3)
    for what in ("report.json", report["metadata"]["run_name"]):
        done = drive(project, "verify", what)
        assert done.code == 0, done.both


def test_a_file_that_reports_the_plain_mean_is_found(project: Path) -> None:
    drive(project, "run", "suite.yaml", "-o", "report.json")
    path = project / "report.json"
    document = json.loads(path.read_text())
    document["eval_report"]["summary"]["pass_rate"] = 1 / 3
    path.write_text(json.dumps(document))
    done = drive(project, "verify", "report.json")
    assert done.code == 1
    assert "summary.pass_rate" in done.out


def test_a_gate_asks_for_the_weighted_rate(project: Path) -> None:
    assert drive(project, "run", "suite.yaml", "--fail-under", "75%").code == 0
    done = drive(project, "run", "suite.yaml", "--fail-under", "76%", "--json")
    assert done.code == 1
    assert [check["value"] for check in done.report["gate"]["checks"]] == [0.75]


def test_errors_could_have_moved_the_weighted_rate(project: Path) -> None:
    bounds = drive(project, "run", "suite.yaml", "--target", "agent.py:unreachable", "--json").report["error_bounds"]
    assert bounds == {"trials": 1, "pass_rate_if_failed": 0.0, "pass_rate_if_passed": 0.75}


def test_a_comparison_weighs_cases_as_the_report_does(project: Path) -> None:
    before = drive(project, "run", "suite.yaml", "--json").run_name
    drive(project, "baseline", before)
    now = drive(project, "run", "suite.yaml", "--target", "agent.py:worse", "--baseline", before, "--json").report
    rate = now["comparison"]["differences"]["pass_rate"]
    assert (rate["old"], rate["new"], rate["n_cases"]) == (0.75, 0.0, 2)
    assert rate["method"].startswith("sign-flip test")
    assert "score" not in now["comparison"]["differences"]
    name = now["metadata"]["run_name"]
    assert "pass rate and score are weighted means over cases; 1 case with weight 0 does not count" in (
        drive(project, "compare", before, name, "-v").out
    )
    done = drive(project, "verify", name)
    assert done.code == 0, done.both


def test_a_sequential_run_counts_trials_alike_and_refuses_unequal_weights(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "--sequential", "--fail-under", "90%")
    assert done.code == 2
    assert "a run that may stop early cannot judge cases of different weights (from 0 to 3)" in done.err
    assert "run without --sequential, or give every case the same weight" in done.err
    even = SUITE.replace("weight: 3", "weight: 2").replace("weight: 0", "weight: 2")
    write(project, suite_yaml=even.replace("right}", "right, weight: 2}"))
    assert drive(project, "run", "suite.yaml", "--sequential", "--fail-under", "90%").code == 1


def test_a_plan_reports_the_weighted_rate_and_that_it_treats_cases_as_equal(project: Path) -> None:
    drive(project, "run", "suite.yaml", "--trials", "4")
    write(project, suite_yaml=SUITE.replace("expected: no, weight: 0", "expected: light"))
    drive(project, "run", "suite.yaml", "--trials", "4")
    plan = drive(project, "plan", "suite.yaml", "--json").json["plan"]
    assert plan["pass_rate"] == 0.8
    assert any(note["text"].startswith("cases have different weights") for note in plan["notes"])
    assert {row["detectable"] for row in plan["rows"]} == {None}, "whole cases are compared, and these are too few"
    assert "add cases" in line_of(drive(project, "plan", "suite.yaml"), "do this")
    write(project, suite_yaml=SUITE)
    assert drive(project, "plan", "suite.yaml", "--json").json["plan"]["cases"] == 2
