"""`--json`: one document on stdout, whatever happens and whatever the target prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from capitals import capitals_project
from driving import drive, write

METADATA = {"suite_name", "run_id", "run_name", "timestamp", "duration_seconds", "environment"}
COUNTS = {"passed", "failed", "skipped", "awaiting", "pending"}
SUMMARY = COUNTS | {"total_evals", "errors", "pass_rate", "case_pass_rate", "by_category", "by_topic", "by_grader"}
TRIAL = {"case_id", "index", "state", "score", "duration_s", "output", "error", "cost_usd", "input_tokens"}
TRIAL |= {"output_tokens", "attempts", "grades"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path)


def test_json_is_one_document_whatever_the_target_prints(project: Path) -> None:
    write(
        project,
        noisy_py="""
import ctypes, os, subprocess, sys
print("noise at import")
def answer(country):
    print("noise by print")
    sys.stdout.flush()
    os.write(1, b"noise by write\\n")
    subprocess.run(["echo", "noise by child"])
    ctypes.CDLL(None).puts(b"noise by C")
    return {"France": "Paris", "Peru": "Cusco", "Japan": "Tokyo"}[country]
""",
    )
    done = drive(project, "run", "suite.yaml", "--target", "noisy.py:answer", "--json")

    assert done.code == 1
    assert all(f"noise {kind}" in done.err for kind in ("at import", "by print", "by write", "by child"))
    assert list(done.json) == ["eval_report"]
    report = done.report
    assert {"metadata", "summary", "metrics", "measurements", "failures", "trials"} <= set(report)
    assert set(report["metadata"]) >= METADATA
    summary = report["summary"]
    assert set(summary) >= SUMMARY
    assert summary["total_evals"] == sum(summary[state] for state in (COUNTS | {"errors"})) == 3
    assert summary["trials"]["planned"] == sum(summary["trials"][state] for state in COUNTS | {"error"}) == 6
    assert summary["pass_rate"] == pytest.approx(2 / 3)
    assert set(summary["by_category"]) == {"europe", "america", "capability"}
    assert set(summary["by_topic"]) == {"europe", "america", "asia"}
    assert set(summary["by_grader"]) == {"code"}
    assert {"low", "high", "method"} <= set(report["measurements"]["pass_rate"])
    [failure] = report["failures"]
    assert failure["eval_id"] == failure["name"] == "peru"
    assert failure["reason"] == "exact: expected 'Lima', got 'Cusco'"
    assert failure["details"] == {"failed": 2, "failure_count": 1}
    assert failure["grader"] == "exact"
    assert failure["difference"] == {"expected": "Lima", "actual": "Cusco"}
    assert failure["trials"] == [1, 2]
    trials = report["trials"]
    assert [(trial["case_id"], trial["index"]) for trial in trials] == [
        (case, index) for case in ("france", "japan", "peru") for index in (0, 1)
    ]
    assert all(set(trial) >= TRIAL for trial in trials)
    assert trials[0]["output"] == "Paris"
    grade = trials[0]["grades"][0]
    assert {**grade, "grader": "exact", "kind": "exact", "state": "pass", "score": 1.0} == grade


def test_usage_errors_as_json(project: Path) -> None:
    write(project, broken_yaml="trials: many\ntest_cases: [{id: a, inptu: x}]\n")
    expected = {
        ("run", "--limit", "no"): "--limit",
        ("run", "--bogus"): "--bogus",
        ("bogus",): "no command 'bogus'",
        ("run", "missing.yaml"): "1 problem found",
        ("run", "broken.yaml"): "3 problems found",
        ("run", "suite.yaml", "--target", "orcale"): "Did you mean 'oracle'?",
        (
            "run",
            "suite.yaml",
            "--var",
            "novalue",
        ): "value for '--var': 'novalue' has no value; write novalue=VALUE",
        ("show", "nobody"): "unknown run 'nobody'",
    }
    for words, text in expected.items():
        done = drive(project, *words, "--json")
        error = done.json["error"]
        assert (done.code, error["code"]) == (2, 2), words
        assert text in error["message"], (words, error)
        assert isinstance(error["problems"], list)
    problems = drive(project, "run", "broken.yaml", env={"EVALHARNESS_JSON": "1"}).json["error"]["problems"]
    assert [(problem["line"], problem["field"]) for problem in problems] == [
        (1, "trials"),
        (2, "test_cases[0].inptu"),
        (2, "test_cases[0].input"),
    ]
    assert problems[1]["suggestion"] == "input"


def test_what_cannot_be_measured_is_named_with_null(tmp_path: Path) -> None:
    suite = "name: s\ntarget: echo\ntest_cases: [{id: a, input: a, expected: a}]\n"
    folder = write(tmp_path, suite_yaml=suite)
    done = drive(folder, "run", "suite.yaml", "--k", "1,3", "-o", "report.json", "--json")
    report = done.report
    assert set(report["measurements"]) == set(report["metrics"])
    assert report["metrics"]["pass_hat_3"] is None
    assert set(report["measurements"]["pass_hat_3"].values()) == {None}
    assert drive(folder, "verify", "report.json").code == 0
    assert drive(folder, "gate", "report.json", "--fail-under", "10").code == 0
