"""Counting a report's cases again: the same figures, or a statement of what the report lacks."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from reported import older, reported

from evalharness.domain.case import Case
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report, RunMetadata
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.gating.gate_checks import judge_gate
from evalharness.engine.measuring.measurements import measure
from evalharness.engine.measuring.summary import case_results, summarise
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.engine.verifying.reported_counts import recount
from evalharness.errors import UsageError

P: Any
P, F, E, S, A = "passed", "failed", "error", "skipped", "awaiting"


def report(states: dict[str, list[tuple[Any, Any]]]) -> Report:
    """Trials given by their last and their first state."""
    suite = Suite(name="s", cases=tuple(Case(id=id_, input="?", cluster="c" * (id_ == "a")) for id_ in states))
    rows = [
        Outcome(id_, index, last, first, {P: 1.0, F: 0.25}.get(last), "", 0.5 + index, 0.1, None, None, "[]")
        for id_, listed in states.items()
        for index, (last, first) in enumerate(listed)
    ]
    measured = count_trials(suite, 3, rows)
    return Report(
        metadata=RunMetadata(suite_name="s", run_id="r", run_name="r", timestamp="", trials_per_case=3),
        verdict="PASSED",
        exit_code=0,
        summary=summarise(suite, measured),
        measurements=measure(suite, 3, measured),
        cases=tuple(case_results(suite, {}, measured)),
        cost_usd=measured.cost_usd,
    )


def test_every_figure_comes_out_again() -> None:
    told = report({"a": [(P, P)] * 3, "b": [(P, P), (F, F), (E, E)], "s": [(S, S)] * 3, "w": [(P, P), (A, A), (A, A)]})
    suite, measured = recount(told)
    states = {case.id: measured.tallies[case.id].state(1.0) for case in suite.cases}
    assert states == {"a": "passed", "b": "failed", "s": "skipped", "w": "awaiting"}
    found = measure(suite, 3, measured)
    assert found.keys() == told.measurements.keys()
    for name, measurement in told.measurements.items():
        assert found[name].value == pytest.approx(measurement.value), name
        assert (found[name].low, found[name].high) == pytest.approx((measurement.low, measurement.high)), name
    assert measured.cost_usd == told.cost_usd
    assert {id_: tally.dearest_usd for id_, tally in measured.tallies.items()} == {"a": 0.1, "b": 0.1, "s": 0, "w": 0.1}


def test_trials_without_a_score_are_allowed_for() -> None:
    """It passed, but the scoring grader had no verdict."""
    suite = Suite(name="s", cases=tuple(Case(id=id_, input="?") for id_ in "abc"))
    scores = {"a": [0.5, None, None], "b": [0.2, 0.8, None], "c": [None, None, None]}
    rows = [
        Outcome(id_, index, P, P, score, "", 0.5, None, None, None, "[]")
        for id_, listed in scores.items()
        for index, score in enumerate(listed)
    ]
    measured = count_trials(suite, 3, rows)
    cases = tuple(case_results(suite, {}, measured))
    told = report({id_: [(P, P)] * 3 for id_ in scores})
    told = told.model_copy(update={"measurements": measure(suite, 3, measured), "cases": cases})
    assert (told.measurements["score"].value, told.measurements["score"].n_trials) == (0.5, 3)
    assert [case.score for case in cases] == [0.5, 0.5, None]
    found = measure(*recount(told)[:1], 3, recount(told)[1])["score"]
    assert found.model_dump() == pytest.approx(told.measurements["score"].model_dump())


@pytest.mark.parametrize(("weight", "verdict"), [(0.1, "PASSED"), (1.0, "INVALID")])
def test_a_missing_grade_takes_no_more_than_its_weight_from_a_score(weight: float, verdict: str) -> None:
    """At worst the score is 0.95 of 1.1, or of 2: the first still reaches 0.8, by the trials and by the report."""
    suite = Suite(name="s", cases=(Case(id="a", input="?"),))
    judge = {"state": "unscored", "required": False, "grader": "judge", "weight": weight}
    grades = json.dumps([{"state": "pass", "score": 0.95}, judge])
    measured = count_trials(suite, 1, [Outcome("a", 0, P, P, 0.95, "", 0.5, None, None, None, grades)])
    cases = tuple(case_results(suite, {}, measured))
    assert [(case.score, case.unscored) for case in cases] == [(0.95, 1)]
    told = report({"a": [(P, P)] * 3}).model_copy(update={"measurements": measure(suite, 1, measured), "cases": cases})
    gate = Gate.model_validate({"thresholds": {"score": 0.8}})
    for counted in ((suite, 1, measured), (recount(told)[0], 1, recount(told)[1])):
        assert judge_gate(gate, *counted, comparison=None, today=date(2026, 11, 16)).verdict == verdict


@pytest.mark.parametrize("lacks", ["a", "b"])
def test_trials_without_a_cost_are_those_of_their_case(lacks: str) -> None:
    told, rows = reported({"a": [P, P], "b": [P, P]}, unpriced={(lacks, 1)})
    suite, measured = recount(told)
    tallies = measured.tallies
    assert {id_: tally.graded - tally.priced for id_, tally in tallies.items()} == {"a": 0, "b": 0} | {lacks: 1}
    spent = {id_: sum(row.cost_usd or 0.0 for row in rows if row.case_id == id_) for id_ in tallies}
    assert {id_: tally.cost_sum_usd for id_, tally in tallies.items()} == pytest.approx(spent)
    held = {"case": lacks, "reason": "?", "owner": "?", "expires": date(2026, 12, 31)}
    gate = Gate.model_validate({"max_cost_usd_per_trial": 5.0, "quarantine": [held]})
    for counted in ((suite, 2, count_trials(suite, 2, rows)), (suite, 2, measured)):
        found = judge_gate(gate, *counted, comparison=None, today=date(2026, 11, 16))
        assert found.verdict == "PASSED", "the other case lists all its costs"


def test_where_cases_do_not_say_which_trials_lack_a_cost_their_number_is_kept() -> None:
    told, _ = reported({"a": [P, P], "b": [P, P]}, unpriced={("a", 1)})
    _, measured = recount(older(told))
    assert sum(tally.graded - tally.priced for tally in measured.tallies.values()) == 1


def test_answers_after_a_failed_first_one_are_not_in_the_cases() -> None:
    told = report({"a": [(P, F), (P, P), (P, P)]})
    retried = told.model_copy(update={"metadata": told.metadata.model_copy(update={"retry_failed": True})})
    with pytest.raises(UsageError, match="only first answers") as raised:
        recount(retried)
    assert "name the run itself" in raised.value.hint


def test_a_pass_rate_that_its_cases_do_not_have_was_changed_by_hand() -> None:
    told = report({"a": [(P, P)] * 3, "b": [(P, P), (P, P), (F, F)]})
    rate = told.measurements["pass_rate"].model_copy(update={"value": 0.1})
    with pytest.raises(UsageError, match=r"pass_rate is 0\.1, but its cases give 0\.833333333"):
        recount(told.model_copy(update={"measurements": told.measurements | {"pass_rate": rate}}))


def test_a_report_without_cases_cannot_be_judged() -> None:
    with pytest.raises(UsageError, match="contains no cases"):
        recount(report({"a": [(P, P)] * 3}).model_copy(update={"cases": ()}))


def test_a_report_whose_rate_is_the_plain_mean_was_written_by_an_earlier_version() -> None:
    cases = (Case(id="a", input="?", weight=3.0), Case(id="b", input="?"))
    found, _ = reported({"a": [P], "b": [F]}, cases)
    plain = found.measurements["pass_rate"].model_copy(update={"value": 0.5})
    before = found.model_copy(update={"measurements": {**found.measurements, "pass_rate": plain}})
    suite, measured = recount(before)
    assert measure(suite, 1, measured)["pass_rate"].value == 0.75
