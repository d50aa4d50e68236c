"""Reports read from files: our own document, results of recorded sessions, and other files."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case_result import CaseResult
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.errors import UsageError
from evalharness.formats.results.written_reports import read_report
from evalharness.reports.json_report import JsonReporter
from evalharness.reports.words.say import say
from evalharness.testing.stored_records import make_run, make_trial, sample_report

CASES = (CaseResult(case_id="a", key="k", trials=3, passed=2, state="failed", score=2 / 3), CaseResult(case_id="b"))


def written(folder: Path, data: Any) -> Path:
    path = folder / "report.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("trials", [None, [make_trial()]])
def test_what_a_run_writes_is_read_with_or_without_its_trials(tmp_path: Path, trials: Any) -> None:
    report = sample_report(make_run()).model_copy(update={"cases": CASES})
    stream = io.StringIO()
    JsonReporter().write([ReportedRun(report, trials=lambda: trials)], stream, Presentation())
    assert ("trials" in json.loads(stream.getvalue())["eval_report"]) is (trials is not None)
    assert read_report(written(tmp_path, stream.getvalue())) == report


def test_what_was_not_measured_has_no_interval_either(tmp_path: Path) -> None:
    report = sample_report(make_run()).model_copy(update={"cases": CASES, "metrics": {"pass_hat_4": None}})
    stream = io.StringIO()
    JsonReporter().write([ReportedRun(report)], stream, Presentation())
    data = json.loads(stream.getvalue())
    assert read_report(written(tmp_path, data)).measurements == report.measurements
    data["eval_report"]["measurements"]["pass_hat_4"] |= {"low": 0.8, "high": 0.95}
    with pytest.raises(UsageError, match=r"measurements.pass_hat_4"):
        read_report(written(tmp_path, data))


def test_one_report_of_a_list_is_one_report(tmp_path: Path) -> None:
    report = sample_report(make_run()).model_copy(update={"cases": CASES})
    data = report.model_dump(mode="json")
    assert read_report(written(tmp_path, {"eval_reports": [data]})) == report
    with pytest.raises(UsageError, match="2 runs"):
        read_report(written(tmp_path, {"eval_reports": [data, data]}))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("{", "not JSON"),
        ([], "is not a report"),
        ({"eval_report": 5}, "is not a report"),
        ({"test_cases": []}, "is not a report"),
        ({"eval_report": {"verdict": "FINE"}}, "metadata"),
        ({"eval_report": sample_report(make_run()).model_dump(mode="json")}, "individual cases"),
        ({"name": "x", "sessions": []}, "RUN.json"),
        ({"name": "x", "results": []}, "no results"),
        ({"name": "x", "timestamp": "2026-01-01T00:00:00Z", "duration": 5, "results": []}, "name their files"),
    ],
)
def test_what_is_not_a_report_is_refused_in_words(tmp_path: Path, data: Any, told: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(UsageError) as refusal:
        read_report(path)
    assert told in f"{refusal.value.message} {say(refusal.value.hint)}"
    assert str(path) in refusal.value.message


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"score": 7.5}, "the score of case 'a' must be from 0 to 1, not 7.5"),
        ({"score": -0.1}, "the score of case 'a' must be from 0 to 1, not -0.1"),
        ({"trials": 10**9}, "the counts of case 'a' are impossible: 2 passed of 1000000000 trials"),
        ({"errors": 10**9}, "the counts of case 'a' are impossible"),
        ({"passed": True}, r"cases\[0\]\.passed: must be a whole number, not true"),
        ({"duration_s": -1}, "duration_s of case 'a' is impossible: -1"),
        ({"cost_usd": math.inf}, "cost_usd of case 'a' is impossible: inf"),
        ({"dearest_usd": math.nan}, "dearest_usd of case 'a' is impossible: nan"),
        ({"cost_usd": 1e308}, "cost_usd of case 'a' is impossible: 1e.308"),
        ({"state": "great"}, "case 'a' has an unknown state: great"),
        ({"case_id": ""}, "a case has no id"),
        ({"weight": -1}, "weight of case 'a' is impossible: -1"),
        ({"trails": 3}, r"cases\[0\]\.trails: unknown key 'trails'; did you mean 'trials'\?"),
        ({"trials": "many"}, r"cases\[0\]\.trials: must be a whole number, not 'many'"),
    ],
)
def test_figures_that_cannot_be_are_refused(tmp_path: Path, figures: dict[str, Any], told: str) -> None:
    data = sample_report(make_run()).model_dump(mode="json")
    data["cases"] = [{"case_id": "a", "trials": 3, "passed": 2, "state": "failed", "score": 0.5} | figures]
    with pytest.raises(UsageError, match=told):
        read_report(written(tmp_path, {"eval_report": data}))


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(UsageError, match=path.name):
            read_report(path)


def result(path: str, **more: Any) -> dict[str, Any]:
    return {"input_path": path, "title": path, "cost": 0.5, **more}


def test_results_of_recorded_sessions_are_cases_by_file_with_repeats_as_trials(tmp_path: Path) -> None:
    wrong = {"size": "L", "size_expected": "S"}
    data = {
        "name": "brave-otter-042",
        "timestamp": "2026-01-02T03:04:05Z",
        "duration": 42_000_000_000,
        "results": [
            result("/w/evals/count.json", size="S", size_expected="S"),
            result("/w/evals/count.json", **wrong),
            result("/w/evals/broke.json", error="container failed"),
            result("/w/evals/fine.json"),
        ],
        "summary": {"total_evals": 4, "total_cost": 2.0},
    }
    report = read_report(written(tmp_path, data))
    assert (report.metadata.run_name, report.metadata.suite_name) == ("brave-otter-042", "evals")
    assert (report.metadata.duration_seconds, report.metadata.trials_per_case) == (42, 2)
    figures = {case.case_id: (case.passed, case.trials, case.errors, case.state) for case in report.cases}
    assert figures == {
        "count": (1, 2, 0, "failed"),  # not collapsed to "failed": each repeat is a trial
        "broke": (0, 0, 1, "error"),  # an error is not a wrong answer
        "fine": (1, 1, 0, "passed"),
    }
    assert {case.key for case in report.cases} == {""}, "it is unknown whether the question was the same"


def test_a_byte_order_mark_is_not_a_mistake(tmp_path: Path) -> None:
    report = sample_report(make_run()).model_copy(update={"cases": CASES})
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"eval_report": report.model_dump(mode="json")}), encoding="utf-8-sig")
    assert read_report(path) == report
