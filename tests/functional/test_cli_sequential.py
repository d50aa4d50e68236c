"""`run --sequential`: it stops when decided, uses an order drawn from a stored seed, and can be resumed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, line_of, start, wait_until, write

CASES = 40
# Executions write a line to `log`; failing answers take longer than passing ones.
AGENT = """
import asyncio, os
from evalharness import TargetUnavailable
from evalharness.errors import TrialSkipped

def note(context):
    with open("log", "a") as log:
        log.write(f"{context.case.id} {context.index}\\n")

async def good(text, context):
    note(context)
    return "yes"

async def bad(text, context):
    note(context)
    if int(text) % 2:
        return "yes"
    await asyncio.sleep(0.2)
    return "no"

async def paced(text, context):
    note(context)
    await asyncio.sleep(0.05)
    return "yes"

async def slow_at_first(text, context):
    is_first = not os.path.exists("log")
    note(context)
    await asyncio.sleep(2 if is_first else 0)
    return "yes"

async def unreachable(text, context):
    note(context)
    if int(text) % 2:
        raise TargetUnavailable("the line is down")
    return "yes"

async def on_holiday(text, context):
    note(context)
    if text == "0":
        raise TrialSkipped("not needed: given up under way, holiday")
    if text == "1" and not os.path.exists("up"):
        raise TargetUnavailable("the line is down")
    return "yes"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def make_project(folder: Path, **more: Any) -> Path:
    cases = [{"id": f"case-{n:02}", "input": str(n), "expected": "yes"} for n in range(CASES)]
    suite = {"name": "forty", "target": "agent.py:good", "test_cases": cases, "config": {"retries": 0}, **more}
    return write(folder, agent_py=AGENT, suite_json=json.dumps(suite))


def run(folder: Path, *words: str, target: str = "good", as_json: bool = True) -> Outcome:
    command = ["run", "suite.json", "--target", f"agent.py:{target}", "--sequential", *words, "--store", "store.db"]
    return drive(folder, *command, *(["--json"] if as_json else []))


def executed(folder: Path) -> list[str]:
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []


def rows(folder: Path) -> dict[tuple[str, int], str]:
    connection = sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro", uri=True, timeout=10)
    try:
        found = connection.execute("SELECT case_id, idx, state FROM trials").fetchall()
    finally:
        connection.close()
    return {(case_id, index): state for case_id, index, state in found}


class TestFloor:
    def test_others_do_not_run_far_ahead_of_a_slow_trial(self, project: Path) -> None:
        found = run(project, "--fail-under", "90", "-j", "4", target="slow_at_first").report["sequential"]
        begun = len(executed(project))
        assert found["trials_used"] == 14
        assert 14 <= found["trials_run"] + found["given_up"] == begun <= 1 + 2 * 4 + 14
        assert found["saved"] == pytest.approx(1 - begun / found["fixed_n"])

    @pytest.mark.parametrize("other", [("--fail-under", "99"), ("--gate", "production"), ("--strict-flips",)])
    def test_a_stopped_run_is_not_judged_by_other_limits(self, project: Path, other: tuple[str, ...]) -> None:
        name = run(project, "--fail-under", "90").run_name
        assert drive(project, "gate", name, "--store", "store.db").code == 0
        refused = drive(project, "gate", name, *other, "--store", "store.db")
        assert refused.code == 2
        assert "stopped as soon as its own question was decided" in refused.err

    def test_a_grade_that_is_outstanding_leaves_it_open(self, tmp_path: Path) -> None:
        project = make_project(tmp_path, graders=[{"type": "human"}])
        done = run(project, "--fail-under", "90", "--repeat", "1")
        assert done.code == 4
        assert done.report["sequential"]["decision"] == "UNDECIDED"
        assert len(executed(project)) == CASES

    def test_it_stops_when_the_floor_is_reached(self, project: Path) -> None:
        done = run(project, "--fail-under", "90")
        report = done.report
        told, trials = report["sequential"], report["summary"]["trials"]

        assert (done.code, report["verdict"], told["decision"]) == (0, "PASSED", "PASSED")
        assert (told["trials_used"], told["cap"], told["fixed_n"]) == (14, 160, 78)
        assert trials["planned"] == 160 == trials["passed"] + trials["skipped"]
        assert trials["pending"] == 0
        assert len(executed(project)) < 40
        assert report["metadata"]["sequential"] is True
        assert told["saved"] == pytest.approx(1 - trials["passed"] / 78), (
            "trials that were running when it was decided count"
        )
        assert trials["skipped"] == told["not_needed"]
        reasons = {trial["reason"] for trial in report["trials"] if trial["state"] == "skipped"}
        assert reasons == {"not needed: decided after 14 trials"}
        assert {trial["cause"] for trial in report["trials"] if trial["state"] == "skipped"} == {"not_needed"}

    def test_words_of_a_target_do_not_make_a_run_decided(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", "--repeat", "1", "--limit", "4", target="on_holiday")
        told = done.report["sequential"]
        assert (told["not_needed"], told["given_up"]) == (0, 0)
        assert {trial["cause"] for trial in done.report["trials"]} == {""}
        (project / "up").touch()
        resumed = drive(project, "resume", "--store", "store.db", "--json")
        assert resumed.report["summary"]["trials"]["error"] == 0
        assert executed(project).count("case-01 0") == 2, "what ended in error was tried again"

    def test_it_fails_when_too_few_pass_though_failures_are_slow(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", target="bad")
        told = done.report["sequential"]
        assert (done.code, told["decision"], told["floor_met"]) == (1, "FAILED", False)
        assert told["trials_used"] < 40

    def test_the_verdict_is_said_in_plain_words(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", "-v", as_json=False)
        line = line_of(done, "sequential")
        assert "decided after 14 of 160 trials: more than 80 % pass" in line
        assert "SPRT, α 0.05, β 0.2" in line
        assert "a fixed plan would need 78" in done.out
        assert "valid at any time" in done.out
        assert "in 3 tries" not in done.out

    def test_a_cap_that_is_too_low_is_reported_and_ends_inconclusive(self, project: Path) -> None:
        words = ("--fail-under", "90", "--sequential-effect", "1", "--repeat", "1")
        done = run(project, *words, as_json=False)
        assert done.code == 0
        assert "may well end undecided" in done.out
        assert "INCONCLUSIVE" in done.out
        assert run(project, *words, "--inconclusive", "fail").code == 4

    def test_a_cap_reached_below_the_floor_fails(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", "--repeat", "1", "--limit", "2", target="bad", as_json=False)
        assert done.code == 1
        assert "1 of 2 passed (50 %), less than the 90 % required" in line_of(done, "sequential")

    def test_trials_in_error_decide_nothing_and_make_it_invalid(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", target="unreachable")
        assert (done.code, done.report["verdict"]) == (3, "INVALID")
        assert done.report["sequential"]["trials_used"] == 14
        advice = done.report["recommendations"]
        assert advice, "none mentions a resume, which cannot help"
        assert not any("resume" in text for text in advice)
        tried = executed(project)
        (project / "agent.py").write_text(f"{AGENT}\n# edited\n")
        again = drive(project, "resume", "--store", "store.db", "--json")
        assert (again.code, again.report["sequential"]) == (3, done.report["sequential"])
        assert executed(project) == tried, "trials that were not needed are not run again"


class TestBaseline:
    @pytest.fixture
    def baseline(self, project: Path) -> Path:
        base = drive(project, "run", "suite.json", "--repeat", "3", "--store", "store.db", "--json").report
        drive(project, "baseline", base["metadata"]["run_id"], "--store", "store.db")
        return project

    def test_it_stops_when_it_is_worse(self, baseline: Path) -> None:
        done = run(baseline, "--baseline", "default", target="bad")
        told = done.report["sequential"]
        assert (done.code, told["decision"], told["is_worse"]) == (1, "FAILED", True)
        assert (told["worse"], told["better"]) == (7, 0)
        assert told["cap"] == 120
        assert [check["name"] for check in done.report["gate"]["checks"] if check["passed"] is False] == ["regression"]

    def test_no_loss_is_inconclusive(self, baseline: Path) -> None:
        done = run(baseline, "--baseline", "default")
        told = done.report["sequential"]
        assert (done.code, told["decision"], done.report["gate"]["verdict"]) == (0, "UNDECIDED", "INCONCLUSIVE")

    def test_floor_and_baseline_side_by_side(self, baseline: Path) -> None:
        done = run(baseline, "--baseline", "default", "--fail-under", "90", target="bad")
        assert done.report["sequential"]["rule"] == "SPRT and e-process of pairs"
        assert done.code == 1

    def test_a_baseline_that_moves_later_changes_nothing(self, baseline: Path) -> None:
        before = run(baseline, "--baseline", "default", target="bad").report
        drive(baseline, "baseline", before["metadata"]["run_id"], "--store", "store.db")
        shown = drive(baseline, "show", before["metadata"]["run_id"], "--store", "store.db", "--json").report
        assert shown["sequential"] == before["sequential"]
        assert shown["gate"] == before["gate"]

    def test_it_is_judged_by_its_own_baseline_and_tolerance_alone(self, baseline: Path) -> None:
        name = run(baseline, "--baseline", "default", target="bad").run_name
        other = drive(baseline, "run", "suite.json", "--repeat", "3", "--store", "store.db", "--json").report
        drive(baseline, "baseline", other["metadata"]["run_id"], "--name", "other", "--store", "store.db")
        assert drive(baseline, "gate", name, "--baseline", "default", "--store", "store.db").code == 1
        for asked in (("--baseline", "other"), ("--regression-tolerance", "90")):
            refused = drive(baseline, "gate", name, *asked, "--store", "store.db")
            assert (refused.code, "cannot be judged by other limits" in refused.err) == (2, True), asked
        drive(baseline, "baseline", name, "--name", "default", "--store", "store.db")
        moved = drive(baseline, "gate", name, "--baseline", "default", "--store", "store.db")
        assert (moved.code, "cannot be judged by other limits" in moved.err) == (2, True)

    def test_a_file_with_its_own_baseline_is_that_baseline(self, baseline: Path) -> None:
        name = run(baseline, "--baseline", "default", target="bad").run_name
        store = ("--store", "store.db")
        own = drive(baseline, "baseline", "list", *store, "--json").json["baselines"][0]["run_id"]
        drive(baseline, "baseline", own, "-o", "base.json", *store)
        assert drive(baseline, "gate", name, "--baseline", "base.json", *store).code == 1
        document = json.loads((baseline / "base.json").read_text())
        document["eval_report"]["cases"][0]["passed"] -= 1
        (baseline / "other.json").write_text(json.dumps(document))
        refused = drive(baseline, "gate", name, "--baseline", "other.json", *store)
        assert (refused.code, "cannot be judged by other limits" in refused.err) == (2, True)

    def test_an_accepted_loss_is_refused_before_anything_runs(self, baseline: Path) -> None:
        """A tolerated loss cannot be tested after every trial, but any loss can."""
        before = executed(baseline)
        refused = run(baseline, "--baseline", "default", "--regression-tolerance", "0.1")
        assert refused.code == 2
        assert "cannot allow for an accepted loss (a tolerance of 0.1)" in refused.json["error"]["message"]
        assert "--regression-tolerance 0" in refused.json["error"]["hint"]
        make_project(baseline, gate={"regression": {"tolerance": 0.02}})
        assert run(baseline).code == 2
        assert run(baseline, "--fail-under", "90").code == 2
        assert executed(baseline) == before
        assert run(baseline, "--regression-tolerance", "0", target="bad").code == 1
        assert run(baseline, "--baseline", "none", "--fail-under", "90").code == 0

    def test_too_few_pairs_are_refused_before_anything_runs(self, baseline: Path) -> None:
        done = run(baseline, "--baseline", "default", "--limit", "2")
        assert done.code == 2
        assert "6 pairs" in done.json["error"]["message"]


class TestWhatCannotBe:
    def test_something_must_be_decided(self, project: Path) -> None:
        done = run(project)
        assert done.code == 2
        assert "--fail-under" in done.json["error"]["hint"]
        assert "--baseline" in done.json["error"]["hint"]

    @pytest.mark.parametrize(
        "words",
        [
            ("--fail-under", "100"),
            ("--fail-under", "5"),
            ("--fail-under", "90", "--gate", "production"),
            ("--fail-under", "90", "--sequential-effect", "0"),
            ("--fail-under", "90", "--sequential-effect", "nan"),
            ("--fail-under", "90", "--k", "3"),
        ],
    )
    def test_gates_that_need_every_case_or_no_chance_are_refused(self, project: Path, words: tuple[str, ...]) -> None:
        assert run(project, *words).code == 2
        assert executed(project) == []

    def test_cases_that_share_a_cluster_are_refused(self, tmp_path: Path) -> None:
        cases = [{"id": f"c{n}", "input": str(n), "expected": "yes", "cluster": f"k{n % 2}"} for n in range(20)]
        project = make_project(tmp_path, test_cases=cases, gate={"thresholds": {"default": {"pass_rate": 0.9}}})
        refused = run(project)
        assert refused.code == 2
        assert "'k0' has 10" in refused.json["error"]["message"]
        assert executed(project) == []
        assert run(project, "--limit", "2").code == 0  # one case of each cluster

    def test_flips_matter_only_where_something_is_compared(self, tmp_path: Path) -> None:
        strict = make_project(tmp_path, gate={"regression": True, "strict_flips": True})
        done = run(strict, "--fail-under", "90", "--baseline", "none")
        assert (done.code, done.report["sequential"]["decision"]) == (0, "PASSED")

    def test_an_effect_without_sequential_is_refused(self, project: Path) -> None:
        done = drive(project, "run", "suite.json", "--sequential-effect", "5")
        assert done.code == 2
        assert "needs --sequential" in done.err

    def test_rates_too_close_are_reported_as_they_were_written(self, project: Path) -> None:
        done = run(project, "--fail-under", "90", "--sequential-effect", "0.001%", as_json=False)
        assert done.code == 2
        assert "0.9 and 0.89999 are too close" in done.err


class TestOrder:
    def test_a_seed_in_the_suite_makes_the_order_the_same_every_time(self, tmp_path: Path) -> None:
        tried = []
        for name in ("one", "two"):
            folder = make_project(tmp_path / name, config={"retries": 0, "seed": 5})
            report = run(folder, "--fail-under", "90", "-j", "1").report
            assert report["sequential"]["seed"] == 5
            tried.append(executed(folder))
        assert tried[0] == tried[1]
        assert tried[0] != sorted(tried[0])

    def test_cases_that_were_not_needed_are_not_failures(self, project: Path) -> None:
        run(project, "--fail-under", "90", target="bad")
        again = drive(project, "run", "suite.json", "--failed", "--store", "store.db", "--json").report
        assert 0 < again["summary"]["total_evals"] < 20


def test_a_killed_run_is_continued_in_the_same_order_to_the_same_verdict(tmp_path: Path) -> None:
    config = {"retries": 0, "seed": 5}
    whole = run(make_project(tmp_path / "whole", config=config), "--fail-under", "90", "-j", "1", target="paced").report
    folder = make_project(tmp_path / "killed", config=config)
    words = ("run", "suite.json", "--target", "agent.py:paced", "--sequential", "--fail-under", "90")
    with start(folder, *words, "-j", "1", "--store", "store.db") as process:
        wait_until(lambda: len(executed(folder)) >= 3 and len(rows(folder)) >= 2)
        process.kill()
    kept = rows(folder)
    assert 0 < len(kept) < 14

    done = drive(folder, "resume", "-j", "1", "--store", "store.db", "--json")
    report = done.report
    assert done.code == 0
    assert report["sequential"] == whole["sequential"]
    assert report["verdict"] == whole["verdict"]
    assert report["summary"]["trials"]["pending"] == 0
    assert list(dict.fromkeys(executed(folder))) == executed(tmp_path / "whole")
    assert rows(folder).items() >= kept.items()

    tried = len(executed(folder))
    again = drive(folder, "resume", "--store", "store.db", "--json")
    assert again.report["sequential"] == report["sequential"]
    assert len(executed(folder)) == tried


def test_a_run_killed_between_its_decision_and_its_end_is_only_finished(project: Path) -> None:
    report = run(project, "--fail-under", "90", "-j", "1").report
    before = executed(project)
    connection = sqlite3.connect(project / "store.db")
    with connection:
        connection.execute("DELETE FROM trials WHERE state = 'skipped' AND idx > 0")
        connection.execute("UPDATE runs SET finished_at = NULL, report = NULL")
    connection.close()
    done = drive(project, "resume", "--store", "store.db", "--json")
    assert executed(project) == before
    assert done.report["sequential"] == report["sequential"]
    assert done.report["summary"]["trials"] == report["summary"]["trials"]


def test_a_regrade_follows_the_same_rule_on_the_new_grades(project: Path) -> None:
    report = run(project, "--fail-under", "90").report
    regraded = drive(project, "regrade", report["metadata"]["run_id"], "--store", "store.db", "--json")
    assert regraded.report["sequential"] == report["sequential"]


def test_comparing_says_that_it_was_allowed_to_stop_early(project: Path) -> None:
    fixed = drive(project, "run", "suite.json", "--store", "store.db", "--json").report["metadata"]["run_id"]
    early = run(project, "--fail-under", "90").report["metadata"]["run_id"]
    assert "stop early" in drive(project, "compare", fixed, early, "--store", "store.db").both


def test_a_variable_that_changes_nothing_is_reported(project: Path) -> None:
    words = ("run", "suite.json", "--dry-run", "--fail-under", "90")
    early = drive(project, *words, "--sequential", env={"EVALHARNESS_K": "1,3"})
    assert (
        early.code,
        "note: EVALHARNESS_K has no effect here: --k cannot be used with --sequential" in early.err,
    ) == (0, True)
    fixed = drive(project, *words, env={"EVALHARNESS_SEQUENTIAL_EFFECT": "5"})
    assert fixed.code == 0
    assert "note: EVALHARNESS_SEQUENTIAL_EFFECT has no effect here" in fixed.err
    both = drive(project, *words, "--sequential", env={"EVALHARNESS_SEQUENTIAL_EFFECT": "5"})
    assert (both.code, both.err) == (0, "")


def test_a_dry_run_says_how_many_trials_at_most(project: Path) -> None:
    done = run(project, "--fail-under", "90", "--dry-run", as_json=False)
    assert "after at most 160 trials" in done.out
    assert executed(project) == []


def test_every_figure_of_a_sequential_report_follows_from_its_trials(project: Path) -> None:
    report = run(project, "--fail-under", "90", target="bad").report
    done = drive(project, "verify", report["metadata"]["run_id"], "--store", "store.db")
    assert done.code == 0, done.both
