"""JUnit XML for CI servers: well formed whatever a reason contains, counts that add up, the gate as a suite."""

from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

import pytest
from reported import A, E, F, P, S, reported

from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.sequential import SequentialPlan
from evalharness.engine.running.sequential_decision import follow
from evalharness.reports.junit import JunitReporter
from evalharness.reports.words.say import say

GATE = {"thresholds": {"pass_rate": 0.99}, "required_cases": ["good"], "each_case": 1}


def written(*reports: Report, redact: Any = str) -> ElementTree.Element:
    stream = io.StringIO()
    JunitReporter().write([*map(ReportedRun, reports)], stream, Presentation(redact))
    return ElementTree.fromstring(stream.getvalue())


def only(report: Report) -> ElementTree.Element:
    [suite] = written(report)
    return suite


def counts_of(suite: ElementTree.Element) -> dict[str, int]:
    return {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}


def verdicts_of(suite: ElementTree.Element) -> dict[str, list[str]]:
    return {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}


def test_every_case_is_a_test_case_with_its_verdict() -> None:
    report, _ = reported({"good": [P, P], "bad": [P, F], "broken": [E, E], "left": [S, S], "due": [P, A]})
    suite = only(report)
    assert counts_of(suite) == {"tests": 6, "failures": 1, "errors": 2, "skipped": 2}
    verdicts = verdicts_of(suite)
    assert verdicts.pop("the run itself") == ["error"]  # a case that could not be judged makes it INVALID
    assert verdicts == {"good": [], "bad": ["failure"], "broken": ["error"], "left": ["skipped"], "due": ["skipped"]}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.attrib["message"], failure.text) == ("bad failed", "bad failed")


def test_a_suite_says_which_run_it_was() -> None:
    report, _ = reported({"good": [P, P]})
    suite = only(report)
    assert suite.attrib["name"] == "checkout on quick"
    assert (suite.attrib["id"], suite.attrib["timestamp"]) == ("eval-1", "2026-01-02T03:04:05")
    assert float(suite.attrib["time"]) == 2.5
    [case] = suite.iter("testcase")
    assert case.attrib["classname"] == "checkout"
    assert float(case.attrib["time"]) == pytest.approx(0.3125)
    properties = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert (properties["verdict"], properties["run"]) == ("PASSED", "quiet-sparrow-023")
    assert float(properties["pass_rate"]) == 1
    assert properties["pass_rate interval"].endswith(" to 1 (95 %)")
    assert "latency_s" in properties
    assert "latency_s interval" not in properties  # one case makes none


def test_a_run_that_may_stop_early_is_marked() -> None:
    report, _ = reported({"good": [P, P]})
    assert "sequential" not in {each.attrib["name"] for each in only(report).iter("property")}
    stopped = follow(SequentialPlan(seed=7, floor=0.9, fixed_n=78), ["good"], 2, ())
    suite = only(report.model_copy(update={"sequential": stopped}))
    properties = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert properties["sequential"].startswith("not decided so far, after 0 of 2 trials")


def test_several_variants_can_be_distinguished() -> None:
    report, _ = reported({"good": [P, P]}, gate={"thresholds": {"pass_rate": 0.5}})
    slow = report.model_copy(update={"metadata": report.metadata.model_copy(update={"variant": "slow"})})
    root = written(report, slow)
    names = ["checkout on quick", "gate of checkout on quick", "checkout on slow", "gate of checkout on slow"]
    assert [suite.attrib["name"] for suite in root] == names
    assert [case.attrib["classname"] for case in root.iter("testcase")] == names


def test_a_run_that_broke_is_not_green() -> None:
    report, _ = reported({"one": [P, E], "two": [P, E]})
    assert (report.verdict, report.summary.errors) == ("INVALID", 0)
    suite = only(report)
    assert counts_of(suite) == {"tests": 3, "failures": 0, "errors": 1, "skipped": 0}
    assert verdicts_of(suite) == {"the run itself": ["error"], "one": ["system-out"], "two": ["system-out"]}
    error, aside = suite.find("testcase/error"), suite.find("testcase/system-out")
    assert error is not None
    assert aside is not None
    assert error.attrib["message"] == f"the run is INVALID: {say(report.why)}"
    assert aside.text == "1 trial ended in error"


@pytest.mark.parametrize(("trials", "verdict"), [([P, A], "UNDECIDED"), ([P], "INTERRUPTED")])
def test_a_run_that_did_not_come_to_a_verdict_is_not_green(trials: list[Any], verdict: str) -> None:
    report, _ = reported({"whole": [P, P], "part": trials}, trials=2)
    assert report.verdict == verdict
    suite = only(report)
    assert verdicts_of(suite)["the run itself"] == ["error"]
    assert counts_of(suite)["errors"] == 1


def test_a_failure_in_quarantine_is_skipped() -> None:
    held = {"case": "bad", "reason": "flaky since May", "owner": "Ada", "expires": "2999-01-01"}
    report, _ = reported({"good": [P, P], "bad": [P, F]}, gate={"thresholds": {"pass_rate": 0.5}, "quarantine": [held]})
    run, _ = written(report)
    assert verdicts_of(run) == {"good": [], "bad": ["skipped"]}
    skipped = run.find("testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "quarantined, so the gate does not count it: bad failed"


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        ("<b> & \"quotes\" 'too' ]]>", "<b> & \"quotes\" 'too' ]]>"),
        ("bell \x07, null \x00, \x1b[31mred\x1b[0m", "bell , null , red"),
        ("half a character \ud800 and \ufffe", "half a character  and "),
        ("first\nsecond\tthird", "first\nsecond\tthird"),
        ("grüße 😀", "grüße 😀"),
        ("", None),
    ],
)
def test_any_reason_can_be_written(reason: str, read: str | None) -> None:
    report, _ = reported({"bad": [F]}, reason=reason)
    failure = only(report).find("testcase/failure")
    assert failure is not None
    assert failure.text == read
    assert failure.attrib["message"] == ((read or "failure").splitlines()[0])


def test_case_ids_and_names_can_be_written_too() -> None:
    report, _ = reported({'a"<&>\x01': [P]})
    assert [case.attrib["name"] for case in only(report).iter("testcase")] == ['a"<&>']


def test_secrets_are_taken_out_everywhere() -> None:
    report, _ = reported({"bad": [F]}, reason="sent hunter2hunter2")
    stream = io.StringIO()
    hidden = Presentation(lambda text: text.replace("hunter2hunter2", "[redacted:KEY]"))
    JunitReporter().write([ReportedRun(report)], stream, hidden)
    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("[redacted:KEY]") == 2


def test_a_gate_is_a_suite_of_its_own() -> None:
    report, _ = reported({"good": [P, P], "bad": [P, F]}, gate=GATE)
    run, gate = written(report)
    assert run.attrib["name"] == "checkout on quick"
    assert gate.attrib["name"] == "gate of checkout"
    counts = {name: gate.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "0"}
    verdicts = {case.attrib["name"]: [child.tag for child in case] for case in gate.iter("testcase")}
    assert verdicts == {"pass_rate": ["failure"], "each_case": [], "required_cases": []}


def test_what_a_gate_leaves_open_is_skipped() -> None:
    report, _ = reported({"good": [P, P], "due": [P, A]}, gate=GATE)
    _, gate = written(report)
    assert gate.attrib["skipped"] == str(sum(case.find("skipped") is not None for case in gate.iter("testcase"))) != "0"


def test_what_a_gate_cannot_compute_is_an_error() -> None:
    report, _ = reported({"good": [P, P]}, gate={"thresholds": {"pass_rate": 0.1}, "regression": True})
    assert report.exit_code == 2
    _, gate = written(report)
    counts = {name: gate.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "2", "failures": "0", "errors": "1", "skipped": "0"}
    verdicts = {case.attrib["name"]: [child.tag for child in case] for case in gate.iter("testcase")}
    assert verdicts == {"pass_rate": [], "regression": ["error"]}


def test_several_runs_are_side_by_side() -> None:
    first, _ = reported({"a": [P]})
    second, _ = reported({"a": [F]})
    assert [suite.attrib["failures"] for suite in written(first, second)] == ["0", "1"]
