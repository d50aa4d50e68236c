"""Flaky cases over comparable runs, quarantine, and items when several targets tried the same cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, line_of, write

# Gives the answer that the file `answers` has for each question, so that runs may differ.
AGENT = """
import json, pathlib

def answer(question, context):
    return json.loads(pathlib.Path("answers").read_text())[question][context.index]

def always(question): return "yes" if question in "abc" else "no"
def first(question): return "yes" if question in "ad" else "no"
def second(question): return "yes" if question in "ab" else "no"
def third(question): return "yes" if question in "abc" else "no"
def odd(question): return "yes" if question in "d" else "no"
"""
SUITE = """
name: coins
target: agent.py:answer
trials: 2
test_cases:
  - {id: a, input: a, expected: "yes"}
  - {id: b, input: b, expected: "yes"}
  - {id: c, input: c, expected: "yes"}
  - {id: d, input: d, expected: "yes"}
"""
STEADY = '{"a": ["yes", "yes"], "b": ["yes", "yes"], "c": ["no", "no"], "d": ["yes", "yes"]}'
SHAKY = '{"a": ["yes", "no"], "b": ["no", "no"], "c": ["no", "no"], "d": ["yes", "yes"]}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")


def run(project: Path, answers: str, *words: str) -> str:
    (project / "answers").write_text(answers)
    return drive(project, "run", "suite.yaml", "-v", *words).out


def test_trials_of_comparable_runs_count_together(project: Path) -> None:
    assert "\nflaky " not in run(project, STEADY)
    assert "flaky       1 case (flip rate ≥ 30 %): a 50 % (3 of 4 trials passed) – 1 new" in run(project, SHAKY)
    report = drive(project, "run", "suite.yaml", "--json").report
    assert report["flaky"] == [
        {"case_id": "a", "flip_rate": pytest.approx(8 / 15), "passed": 4, "trials": 6, "runs": 3, "new": False}
    ]
    shown = drive(project, "show", report["metadata"]["run_name"], "--json").report
    assert shown["flaky"] == report["flaky"]


def test_another_target_or_another_question_is_not_comparable(project: Path) -> None:
    run(project, STEADY)
    write(project, agent_py=AGENT + "\n# another agent now\n")
    assert "a 100 % (1 of 2 trials passed)" in run(project, SHAKY)
    write(project, suite_yaml=SUITE.replace("id: a, input: a", "id: a, name: A, input: b"))
    assert "a 100 %" not in run(project, STEADY)


def test_a_run_is_shown_with_what_was_known_then(project: Path) -> None:
    run(project, SHAKY)
    first = drive(project, "runs", "--json").json["runs"][0]["run_name"]
    for _ in range(3):
        run(project, STEADY)
    assert "a 100 % (1 of 2 trials passed)" in drive(project, "show", first, "-v").out


def test_advice_knows_that_a_case_passed_before(project: Path) -> None:
    run(project, STEADY)
    (project / "answers").write_text(SHAKY)
    advice = drive(project, "run", "suite.yaml", "--json").report["findings"]
    assert [found["cases"] for found in advice if found["kind"] == "never"] == [["c"]], "b passed in the previous run"
    assert ["b"] in [found["cases"] for found in advice if found["kind"] == "flaky"]


def test_a_regrade_counts_no_answer_twice(project: Path) -> None:
    run(project, SHAKY)
    name = drive(project, "runs", "--json").json["runs"][0]["run_name"]
    assert drive(project, "regrade", name, "--json").report["flaky"][0]["trials"] == 2
    assert drive(project, "run", "suite.yaml", "--json").report["flaky"][0]["trials"] == 4


def test_quarantine_is_reported_and_suggested(project: Path) -> None:
    gate = (
        "gate: {thresholds: {pass_rate: 0.1}, quarantine: [{case: b, reason: slow, owner: Ada, expires: 2999-01-01}]}"
    )
    write(project, suite_yaml=SUITE + gate + "\n")
    (project / "answers").write_text(SHAKY)
    done = drive(project, "run", "suite.yaml", "-v")
    assert "quarantined" not in line_of(done, "flaky"), "that is a different case"
    assert line_of(done, "quarantined").endswith("1 case that the gate does not count: b")
    report = drive(project, "run", "suite.yaml", "--json").report
    assert "`quarantine:`" in report["recommendations"][-1]
    assert report["findings"][-1]["cases"] == ["a"]


def test_items_are_reported_once_five_targets_tried_the_cases(project: Path) -> None:
    names = ("always", "first", "second", "third")
    for name in names:
        drive(project, "run", "suite.yaml", "--target", f"agent.py:{name}")
    newest = drive(project, "runs", "--json").json["runs"][0]["run_name"]
    assert "items" not in drive(project, "show", newest, "-v").out
    drive(project, "run", "suite.yaml", "--target", "oracle")
    assert "items" not in drive(project, "show", newest, "-v").out, "an oracle does not count as a target"
    report = drive(project, "run", "suite.yaml", "--target", "agent.py:odd", "--json").report
    assert set(report["items"]["runs"]) == {f"agent.py:{name}" for name in (*names, "odd")}
    assert {case["case_id"]: case["flag"] for case in report["items"]["cases"]}["d"] == "negative discrimination"
    done = drive(project, "show", newest, "-v")
    assert "5 targets tried these cases" in line_of(done, "items")
    assert "d: weak targets pass it more often than strong ones" in done.out
    assert "discrimination -0.91 over 5 targets" in done.out


@pytest.mark.parametrize("words", [(), ("-o", "report.json")], ids=["on the screen alone", "with a file"])
def test_items_are_on_the_screen_with_and_without_a_file(project: Path, words: tuple[str, ...]) -> None:
    for name in ("always", "first", "second", "third"):
        assert "items" not in drive(project, "run", "suite.yaml", "--target", f"agent.py:{name}", "-v").out
    done = drive(project, "run", "suite.yaml", "--target", "agent.py:odd", "-v", *words)
    assert "5 targets tried these cases" in line_of(done, "items")


def test_a_part_of_the_cases_does_not_displace_a_whole_run(project: Path) -> None:
    names = ("always", "first", "second", "third", "odd")
    for name in names:
        drive(project, "run", "suite.yaml", "--target", f"agent.py:{name}")
    newest = drive(project, "runs", "--json").json["runs"][0]["run_name"]
    before = drive(project, "show", newest, "--json").report["items"]
    assert before["reliability"] is not None
    drive(project, "run", "suite.yaml", "--target", "agent.py:odd", "--limit", "1")
    assert drive(project, "show", newest, "--json").report["items"] == before
    drive(project, "run", "suite.yaml", "--target", "agent.py:odd")
    assert drive(project, "show", newest, "--json").report["items"]["runs"]["agent.py:odd"] != newest


def test_items_are_in_the_order_of_the_suite(project: Path) -> None:
    cases = "".join(f"  - {{id: i{n}, input: a, expected: 'yes'}}\n" for n in range(11))
    write(project, suite_yaml=f"name: coins\ntest_cases:\n{cases}")
    for name in ("always", "first", "second", "third", "odd"):
        report = drive(project, "run", "suite.yaml", "--target", f"agent.py:{name}", "--json").report
    assert [case["case_id"] for case in report["items"]["cases"]] == [f"i{n}" for n in range(11)]
