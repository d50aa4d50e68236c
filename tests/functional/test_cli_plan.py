"""`eval-harness plan`: how many cases and trials, judging by the last run, and honest where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import drive, line_of, write

# Of every five cases one never passes, one always, and three pass half of four trials.
AGENT = """
from evalharness import Answer

def answer(text, context):
    kind = int(text) % 5
    passes = kind == 1 or (kind > 1 and context.index % 2 == 0)
    return Answer(output="yes" if passes else "no", cost_usd=0.01)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cases = [{"id": f"case-{n}", "input": str(n), "expected": "yes"} for n in range(20)]
    suite = {"name": "mixed", "target": "agent.py:answer", "test_cases": cases}
    return write(tmp_path, agent_py=AGENT, suite_json=json.dumps(suite))


def test_before_the_first_run_the_worst_is_assumed_and_nothing_is_left_behind(project: Path) -> None:
    done = drive(project, "plan", "suite.json")
    assert done.code == 0
    assert "has not been run yet" in line_of(done, "judging by")
    assert not (project / ".evalharness").exists()


def test_one_trial_per_case_does_not_tell_chance_from_cases_that_differ(project: Path) -> None:
    drive(project, "run", "suite.json")
    assert "one trial per case" in line_of(drive(project, "plan", "mixed"), "judging by")


def test_the_last_run_says_how_many_trials_and_what_they_cost(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    done = drive(project, "plan", "suite.json", "--effect", "10", "--json")
    plan = done.json["plan"]

    assert plan["spread"]["basis"] == "measured"
    assert plan["spread"]["within"] == pytest.approx(0.6 / 3)
    best = plan["recommended"]
    assert (best["trials"], best["run_trials"], best["cost_usd"]) == (13, 260, pytest.approx(2.6))
    assert best["detectable"] <= 0.1

    told = drive(project, "plan", "suite.json", "--effect", "10")
    assert "13 trials of each of the 20 cases" in line_of(told, "do this")
    assert "260 trials a run, about $2.60" in line_of(told, "do this")


def test_it_says_when_more_trials_cannot_help_and_more_cases_are_needed(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    told = line_of(drive(project, "plan", "suite.json"), "more trials")
    assert "even endless ones need" in told
    assert "add cases" in told


def test_cases_and_trials_can_be_thought_of(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    plan = drive(project, "plan", "suite.json", "--cases", "200", "--trials", "3", "--json").json["plan"]
    assert (plan["cases"], plan["trials"]) == (200, 3)
    assert 3 in [row["trials"] for row in plan["rows"]]


def test_a_drop_larger_than_the_pass_rate_is_told(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "2")
    assert "cannot drop by 90 points" in drive(project, "plan", "suite.json", "--effect", "90").out


@pytest.mark.parametrize(
    "words",
    [("--effect", "0"), ("--power", "1"), ("--alpha", "0"), ("--cases", "0"), ("--effect", "0.001"), ("--effect", "x")],
)
def test_wishes_that_cannot_be_are_usage_errors(project: Path, words: tuple[str, str]) -> None:
    assert drive(project, "plan", "suite.json", *words).code == 2


def test_one_suite_is_planned_at_a_time(project: Path) -> None:
    write(project, other_json=json.dumps({"name": "other", "test_cases": [{"id": "a", "input": "1", "expected": "1"}]}))
    done = drive(project, "plan", ".")
    assert done.code == 2
    assert "one is planned at a time" in done.err
