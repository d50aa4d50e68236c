"""`eval-harness plan`: how many cases and trials are needed, estimated from the last run if there is one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from driving import drive, drive_run, line_of, write

# Of every five cases, one never passes, one always passes, and three pass half of four trials.
AGENT = """
from evalharness import Answer

def answer(text, context):
    kind = int(text) % 5
    passes = kind == 1 or (kind > 1 and context.index % 2 == 0)
    return Answer(output="yes" if passes else "no", cost_usd=0.01)
"""
BREAKS = """
from evalharness import TargetUnavailable

def answer(text, context):
    if int(text) < 5:
        raise TargetUnavailable("no network")
    return works(text, context)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cases = [{"id": f"case-{n}", "input": str(n), "expected": "yes"} for n in range(20)]
    suite = {"name": "mixed", "target": "agent.py:answer", "test_cases": cases}
    return write(tmp_path, agent_py=AGENT, suite_json=json.dumps(suite))


def test_before_the_first_run_the_worst_is_assumed_and_nothing_is_left_behind(project: Path) -> None:
    done = drive(project, "plan", "suite.json")
    assert done.code == 0
    assert "has not been run yet" in line_of(done, "based on")
    assert not (project / ".evalharness").exists()


def test_one_trial_per_case_does_not_separate_chance_from_cases_that_differ(project: Path) -> None:
    drive(project, "run", "suite.json")
    told = drive(project, "plan", "mixed")
    assert "one trial per case" in line_of(told, "based on")
    assert re.search(r"^4 +between [\d.]+ and [\d.]+ points", told.out, re.MULTILINE)
    assert "does not show how much the cases differ" in line_of(told, "ranges")


def test_several_trials_per_case_name_the_drop_without_about(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "5")
    assert re.search(r"^5 +[\d.]+ points", drive(project, "plan", "mixed").out, re.MULTILINE)


def test_the_last_run_says_how_many_trials_and_what_they_cost(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    done = drive(project, "plan", "suite.json", "--effect", "10", "--json")
    plan = done.json["plan"]

    assert plan["spread"]["basis"] == "measured"
    assert plan["spread"]["within"] == pytest.approx(0.6 / 3)
    best = plan["recommended"]
    assert (best["trials"], best["run_trials"], best["cost_usd"]) == (14, 280, pytest.approx(2.8))
    assert best["detectable"] <= 0.1

    told = drive(project, "plan", "suite.json", "--effect", "10")
    assert "14 trials of each of the 20 cases" in line_of(told, "do this")
    assert "280 trials a run, about $2.80" in line_of(told, "do this")


def test_it_says_when_more_trials_cannot_help_and_more_cases_are_needed(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    told = line_of(drive(project, "plan", "suite.json"), "more trials")
    assert "even with any number of them" in told
    assert "add cases" in told


def test_cases_and_trials_can_be_thought_of(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    plan = drive(project, "plan", "suite.json", "--cases", "200", "--trials", "3", "--json").json["plan"]
    assert (plan["cases"], plan["trials"]) == (200, 3)
    assert 3 in [row["trials"] for row in plan["rows"]]


def test_a_drop_larger_than_the_pass_rate_is_reported(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "2")
    assert "cannot drop by 90 points" in drive(project, "plan", "suite.json", "--effect", "90").out


@pytest.mark.parametrize(
    "words",
    [
        ("--effect", "0"),
        ("--effect", "nan"),
        ("--effect", "0.001"),
        ("--effect", "x"),
        ("--power", "1"),
        ("--power", "nan"),
        ("--alpha", "0"),
        ("--alpha", "1e-12"),
        ("--alpha", "nan"),
        ("--cases", "0"),
        ("--cases", "99999999999"),
        ("--trials", "1000000"),
        ("--cases", "1000000", "--trials", "1000"),
    ],
)
def test_wishes_that_cannot_be_are_usage_errors(project: Path, words: tuple[str, ...]) -> None:
    done = drive(project, "plan", "suite.json", *words)
    assert done.code == 2
    assert "beta" not in done.err


def test_a_number_of_trials_that_was_asked_for_is_kept_to(project: Path) -> None:
    drive(project, "run", "suite.json", "--repeat", "4")
    done = drive(project, "plan", "suite.json", "--effect", "10", "--trials", "1")
    told = line_of(done, "do this")
    assert "add cases: 1 trial of each shows drops of" in told
    assert "13 trials" not in told
    plan = drive(project, "plan", "suite.json", "--effect", "10", "--trials", "20", "--json").json["plan"]
    assert (plan["recommended"]["trials"], plan["is_reasonable"]) == (20, True)


def test_where_no_drop_is_possible_none_is_planned_for(project: Path) -> None:
    drive(project, "run", "suite.json", "--only", "case-0", "--repeat", "4")
    done = drive(project, "plan", "suite.json")
    assert "cannot drop by 5 points" in done.out
    assert "make more trials pass first" in line_of(done, "do this")
    assert "trials per case" not in done.out


def test_one_case_with_several_trials_is_reported_as_that(project: Path) -> None:
    drive(project, "run", "suite.json", "--only", "case-2", "--repeat", "4")
    told = line_of(drive(project, "plan", "suite.json"), "based on")
    assert "one case does not show how much cases differ" in told
    assert "one trial per case" not in told


def test_unusable_runs_are_reported(project: Path) -> None:
    drive(project, "run", "suite.json", "--sequential", "--fail-under", "90")
    write(project, down_py="from evalharness import TargetUnavailable\ndef f(q):\n    raise TargetUnavailable('no')\n")
    drive(project, "run", "suite.json", "--target", "down.py:f")
    told = line_of(drive(project, "plan", "suite.json"), "based on")
    assert "has not been run" not in told
    assert "none of its last 2 runs shows" in told
    assert "1 INVALID, 1 may have stopped early" in told


def test_one_suite_is_planned_at_a_time(project: Path) -> None:
    write(project, other_json=json.dumps({"name": "other", "test_cases": [{"id": "a", "input": "1", "expected": "1"}]}))
    done = drive(project, "plan", ".")
    assert done.code == 2
    assert "contains 2 suites, but only one can be used at a time" in done.err


def test_a_plan_never_advises_what_can_never_show_a_loss(project: Path) -> None:
    drive(project, "run", "suite.json")
    done = drive(project, "plan", "suite.json", "--cases", "4", "--effect", "60")
    assert line_of(done, "1  ").split()[1] == "none"
    chosen = line_of(drive(project, "plan", "suite.json", "--cases", "4", "--effect", "60", "--trials", "1"), "do this")
    assert (
        "with 1 trial of each, on these cases no drop can be detected with this power, not even if every trial failed"
        in chosen
    )


def test_runs_that_say_nothing_about_an_agent_are_passed_over(project: Path) -> None:
    write(project, breaks_py=AGENT.replace("def answer", "def works") + BREAKS)
    wanted = drive_run(project, "--repeat", "4", suite="suite.json").run_name
    drive_run(project, "--target", "oracle", suite="suite.json")
    drive_run(project, "--target", "breaks.py:answer", "--repeat", "2", suite="suite.json")
    part = drive_run(project, "--only", "case-2", "--repeat", "4", suite="suite.json").run_name
    assert f"run {wanted} on agent.py:answer, 20 cases × 4 trials" in line_of(
        drive(project, "plan", "mixed"), "based on"
    )
    asked = drive(project, "plan", "mixed", "--run", part)
    assert f"run {part} on agent.py:answer" in line_of(asked, "based on")
    assert "judged only 1 of the 20 cases" in asked.out


def test_a_newer_run_without_repeats_does_not_hide_what_an_older_one_measured(project: Path) -> None:
    wanted = drive_run(project, "--repeat", "4", suite="suite.json").run_name
    newer = drive_run(project, suite="suite.json").run_name
    assert f"run {wanted} on agent.py:answer, 20 cases × 4 trials" in line_of(
        drive(project, "plan", "mixed"), "based on"
    )
    assert f"run {newer} " in line_of(drive(project, "plan", "mixed", "--run", newer), "based on")

    write(project, other_py=AGENT)
    other = drive_run(project, "--target", "other.py:answer", suite="suite.json").run_name
    told = line_of(drive(project, "plan", "mixed"), "based on")
    assert f"run {other} on other.py:answer, 20 cases × 1 trial" in told, "another agent varies differently"


def test_a_run_that_is_asked_for_is_taken_with_what_speaks_against_it(project: Path) -> None:
    oracle = drive_run(project, "--target", "oracle", suite="suite.json").run_name
    done = drive(project, "plan", "mixed", "--run", oracle, "--json")
    assert done.json["plan"]["run_name"] == oracle
    assert "is not well suited: on a built-in target" in done.json["plan"]["notes"][0]["text"]
    assert "does not show how results vary (on a built-in target)" in line_of(
        drive(project, "plan", "mixed"), "based on"
    )
    write(project, other_json=json.dumps({"name": "other", "test_cases": [{"id": "a", "input": "1", "expected": "1"}]}))
    wrong = drive(project, "plan", "other.json", "--run", oracle)
    assert (wrong.code, "is a run of mixed, not of other" in wrong.err) == (2, True)


def test_the_plan_counts_clusters_where_cases_have_them(project: Path) -> None:
    suite = json.loads((project / "suite.json").read_text())
    for number, case in enumerate(suite["test_cases"]):
        case["cluster"] = f"group {number % 10}"
    write(project, suite_json=json.dumps(suite))
    drive(project, "run", "suite.json", "--repeat", "4")
    done = drive(project, "plan", "suite.json")
    assert "20 cases in 10 clusters" in done.out
    assert "clusters needed to detect 5 points" in done.out
    assert "clusters × 4 trials of each of their cases" in line_of(done, "more cases")
    told = line_of(done, "more trials")
    assert "clusters differ" in told and "add clusters instead" in told
    assert drive(project, "plan", "suite.json", "--cases", "200", "--json").json["plan"]["clusters"] == 100


def test_a_run_of_cases_that_all_pass_is_not_taken_for_all_cases(project: Path) -> None:
    suite = json.loads((project / "suite.json").read_text())
    suite["test_cases"] = [case for case in suite["test_cases"] if int(case["input"]) % 5 == 1]
    write(project, suite_json=json.dumps(suite))
    drive(project, "run", "suite.json", "--repeat", "3")
    done = drive(project, "plan", "suite.json")
    assert "its cases hardly differ, but there are too few to be sure" in done.out
    assert "other cases like these: 416 cases × 3 trials" in line_of(done, "more cases")


def test_noise_between_runs_is_named_once_five_runs_show_it(project: Path) -> None:
    """The answers of whole runs get better or worse with a file that is not part of the target."""
    agent = (
        "import pathlib\n\ndef answer(text, context):\n"
        "    luck = int(pathlib.Path(__file__).with_name('luck').read_text())\n"
        "    return 'yes' if (int(text) + context.index * 7) % 20 < luck else 'no'\n"
    )
    write(project, agent_py=agent)
    named = "runs of this target differ by"
    for number, luck in enumerate((16, 6, 14, 8, 12), start=1):
        (project / "luck").write_text(str(luck))
        drive(project, "run", "suite.json", "--repeat", "4")
        said = drive(project, "plan", "suite.json").out
        assert (named in said) == (number >= 5), said
    assert "the last 5 runs of this target differ by" in said
    assert "of 100 comparisons although nothing changed" in said
    [note] = [n for n in drive(project, "plan", "suite.json", "--json").json["plan"]["notes"]
              if n["code"] == "plan.noise_between_runs"]  # fmt: skip
    assert note["params"]["low"] < note["params"]["sd"] < note["params"]["high"]
    write(project, agent_py=agent + "# changed\n")
    drive(project, "run", "suite.json", "--repeat", "4")
    assert named not in drive(project, "plan", "suite.json").out, "runs of another target say nothing about this one"


def test_points_may_be_written_with_a_percent_sign(project: Path) -> None:
    assert drive(project, "plan", "suite.json", "--effect", "5%", "--json").json["plan"]["effect"] == 0.05
    assert drive(project, "plan", "suite.json", "--effect", "nan%").code == 2


def test_a_cluster_of_one_case_is_a_case(project: Path) -> None:
    suite = json.loads((project / "suite.json").read_text())
    suite["test_cases"][0]["cluster"] = "alone"
    write(project, suite_json=json.dumps(suite))
    done = drive(project, "plan", "suite.json")
    assert "20 cases\n" in done.out
    assert "cluster" not in done.out
