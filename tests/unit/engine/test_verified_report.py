"""Verifying: a report that follows from its trials agrees, and every changed number is found."""

from __future__ import annotations

from typing import Any

import pytest
from reported import A, E, F, P, S, changed, numbers, older, reported, told_numbers

from evalharness.domain.case import Case
from evalharness.domain.report import Verified
from evalharness.engine.verifying.verified_report import verify_cases, verify_report
from evalharness.reports.words.say import say

STATES = {"a": [P, P, F, P], "b": [P, P, P, P], "c": [F, F, E, F], "d": [S, S, S, S], "e": [P, F, P, F]}
CASES = (
    Case(id="a", input="?", category="search", eval_type="capability", criticality="critical", weight=2.0),
    Case(id="b", input="?", category="search"),
    Case(id="c", input="?", category="billing", cluster="one"),
    Case(id="d", input="?"),
    Case(id="e", input="?", cluster="one"),
)
GATE = {
    "thresholds": {
        "default": {"pass_rate": 0.5, "pass@1": 0.9, "score": 0.2},
        "categories": {"search": {"pass_rate": 0.7}},
        "criticality": {"critical": {"pass_hat_2": 0.4}},
    },
    "max_cost_usd": 5,
    "max_latency_s": 0.5,
    "required_cases": ["b"],
    "quarantine": [{"case": "e", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}],
}


def disputed(verified: Verified) -> list[str]:
    return [mismatch.figure for mismatch in verified.mismatches]


@pytest.mark.parametrize("gate", [None, GATE], ids=["without a gate", "with a gate"])
def test_a_report_agrees_with_the_trials_it_was_made_from(gate: Any) -> None:
    report, outcomes = reported(STATES, CASES, gate)
    found = verify_report(report, outcomes)
    assert found.mismatches == ()
    assert (found.basis, found.rows) == ("trials", 20)
    assert found.figures > 100
    assert verify_cases(report).mismatches == ()


@pytest.mark.parametrize("by", [1, 0.013, -0.2], ids=str)
def test_every_number_that_is_changed_is_found(by: float) -> None:
    report, outcomes = reported(STATES, CASES, GATE)
    told = told_numbers(report)
    others = {place: value + (by if isinstance(value, float) else 1) for place, value in told.items()}
    unnoticed = [p for p, value in others.items() if not verify_report(changed(report, p, value), outcomes).mismatches]
    assert len(told) > 150
    assert unnoticed == []


def test_whether_it_was_sequential_is_checked_and_words_are_reported_as_believed() -> None:
    report, outcomes = reported(STATES, CASES)
    metadata = report.metadata.model_copy(update={"sequential": True})
    assert disputed(verify_report(report.model_copy(update={"metadata": metadata}), outcomes)) == [
        "metadata.sequential"
    ]
    for found in (verify_report(report, outcomes), verify_cases(report)):
        assert "what is said in words (why, notes, reasons, recommendations)" in tuple(map(say, found.believed))


def test_a_change_is_reported_with_its_figure() -> None:
    report, outcomes = reported(STATES, CASES)
    [wrong] = verify_report(changed(report, "summary/pass_rate", 0.99), outcomes).mismatches
    assert (wrong.figure, wrong.reported) == ("summary.pass_rate", 0.99)
    assert wrong.found == pytest.approx((2 * 0.75 + 1 + 0 + 0.5) / 5)


@pytest.mark.parametrize(
    ("states", "true", "forged"),
    [
        ({"a": [P, P, P], "b": [P]}, "INTERRUPTED", ("PASSED", 0)),
        ({"a": [P, P, P], "b": [P]}, "INTERRUPTED", ("FAILED", 1)),
        ({"a": [P, P, P], "b": [E, P, P]}, "INVALID", ("PASSED", 0)),
        ({"a": [P] * 20, "b": [*[P] * 18, F, E]}, "FAILED", ("INVALID", 3)),
    ],
    ids=str,
)
def test_a_verdict_that_no_run_comes_to_is_found(states: Any, true: str, forged: tuple[Any, int]) -> None:
    report, outcomes = reported(states)
    assert report.verdict == true
    forgery = report.model_copy(update={"verdict": forged[0], "exit_code": forged[1], "why": ""})
    assert "verdict" in disputed(verify_report(forgery, outcomes))
    assert "verdict" in disputed(verify_cases(forgery))


def test_how_many_errors_are_allowed_is_believed_or_not_known() -> None:
    report, outcomes = reported({"a": [P, P, P], "b": [E, P, P]})
    older = report.metadata.model_copy(update={"max_error_rate": None})
    forgery = report.model_copy(update={"verdict": "PASSED", "exit_code": 0, "metadata": older})
    found = verify_report(forgery, outcomes)
    assert found.mismatches == ()
    assert any("max_error_rate" in each for each in tuple(map(say, found.believed)))


def test_a_gate_judges_no_run_that_is_not_whole() -> None:
    whole, _ = reported({"a": [P, P, P], "b": [P, P, P]}, gate={"thresholds": {"pass_rate": 0.5}})
    report, outcomes = reported({"a": [P, P, P], "b": [P]})
    forgery = report.model_copy(update={"verdict": "PASSED", "exit_code": 0, "gate": whole.gate})
    assert "gate" in disputed(verify_report(forgery, outcomes))


@pytest.mark.parametrize("place", ["verdict", "gate.verdict", "gate.checks"])
def test_a_changed_verdict_is_found(place: str) -> None:
    report, outcomes = reported(STATES, CASES, GATE)
    assert report.gate is not None
    assert (report.verdict, report.gate.verdict) == ("FAILED", "FAILED")
    passed = tuple(check.model_copy(update={"passed": True}) for check in report.gate.checks)
    lies: dict[str, dict[str, Any]] = {
        "verdict": {"verdict": "PASSED"},
        "gate.verdict": {"gate": report.gate.model_copy(update={"verdict": "PASSED", "exit_code": 0})},
        "gate.checks": {"gate": report.gate.model_copy(update={"checks": passed})},
    }
    found = verify_report(report.model_copy(update=lies[place]), outcomes)
    assert any(figure.startswith(place) for figure in disputed(found))


def test_rows_that_cannot_be_are_reported() -> None:
    report, outcomes = reported({"a": [P, F]})
    stranger = outcomes[0]._replace(case_id="z")
    late = outcomes[0]._replace(trial_index=7)
    found = verify_report(report, [*outcomes, outcomes[0], stranger, late])
    assert [(each.figure, say(each.found)) for each in found.mismatches] == [
        ("trials.a#1", "listed before"),
        ("trials.z#1", "not a case of the report"),
        ("trials.a#8", "not one of the 2 planned"),
    ]


def test_a_trial_that_was_left_out_is_missed() -> None:
    report, outcomes = reported({"a": [P, F], "b": [P, P]})
    found = disputed(verify_report(report, outcomes[:-1]))
    assert {"summary.pending", "summary.trials.pending", "cases.b.trials"} <= set(found)


def test_another_answer_of_a_trial_changes_the_figures() -> None:
    report, outcomes = reported({"a": [P, F], "b": [P, P]})
    flattered = [each._replace(state=P, first_state=P, score=1.0) for each in outcomes]
    assert {"summary.pass_rate", "metrics.pass_at_1", "cases.a.score"} <= set(
        disputed(verify_report(report, flattered))
    )


class TestWithoutTrials:
    def test_what_follows_from_cases_is_checked_and_the_rest_is_named(self) -> None:
        report, _ = reported(STATES, CASES)
        found = verify_cases(report)
        assert (found.basis, found.rows, found.mismatches) == ("cases", 5, ())
        assert "the cases themselves" in tuple(map(say, found.believed))

    @pytest.mark.parametrize(
        "place",
        [
            "summary/passed",
            "summary/pass_rate",
            "summary/trials/skipped",
            "summary/by_category/search/passed",
            "metrics/pass_hat_2",
            "measurements/pass_rate/low",
            "error_bounds/pass_rate_if_failed",
            "exit_code",
        ],
    )
    def test_a_change_is_found(self, place: str) -> None:
        report, _ = reported(STATES, CASES)
        value = dict(numbers(report.model_dump(mode="json")))[place]
        assert verify_cases(changed(report, place, value + 1)).mismatches

    def test_later_answers_are_not_compared_with_first_ones(self) -> None:
        report, _ = reported({"a": [P, P], "b": [P, P]}, first_state=F)
        retried = report.model_copy(update={"metadata": report.metadata.model_copy(update={"retry_failed": True})})
        found = verify_cases(retried)
        assert found.mismatches == ()
        assert "everything that depends on later answers (retry_failed)" in tuple(map(say, found.believed))
        assert verify_cases(changed(retried, "metrics/pass_at_1", 0.5)).mismatches

    def test_cases_that_cannot_be_are_reported(self) -> None:
        report, _ = reported({"a": [P, F], "b": [P, P]})
        [wrong] = verify_cases(changed(report, "cases/0/passed", 3)).mismatches
        assert (wrong.figure, say(wrong.reported)) == ("cases.a", "3 of 2 passed, 0 errors")

    @pytest.mark.parametrize("limit", [0.001, 5], ids=["too dear", "within the limit, or not"])
    @pytest.mark.parametrize("name", ["max_cost_usd", "max_cost_usd_per_trial"])
    def test_that_some_trials_reported_no_cost_is_believed_where_cases_do_not_say_so(
        self, name: str, limit: float
    ) -> None:
        report, _ = reported({"a": [P, P], "b": [P, P]}, gate={name: limit}, unpriced={("b", 1)})
        assert report.gate is not None
        assert report.gate.verdict == ("FAILED" if limit < 1 else "INVALID")
        passed = report.gate.model_copy(update={"verdict": "PASSED", "exit_code": 0})
        for told, is_believed in ((report, False), (older(report), True)):
            found = verify_cases(told)
            assert found.mismatches == ()
            assert (f"what the gate found for {name}" in tuple(map(say, found.believed))) == is_believed
            assert "gate.verdict" in disputed(verify_cases(told.model_copy(update={"gate": passed})))

    @pytest.mark.parametrize(("name", "lacks"), [("score", "unscored"), ("cost_usd", "unpriced")])
    def test_how_many_trials_lack_a_figure_follows_where_cases_say_so(self, name: str, lacks: str) -> None:
        report, _ = reported({"a": [P, P], "b": [P, P]}, **{lacks: {("b", 1)}})
        place = f"measurements/{name}/lacking"
        assert disputed(verify_cases(changed(report, place, 0))) == [f"measurements.{name}.lacking"]
        assert verify_cases(older(report)).mismatches == (), "an older report is not reported as wrong"

    def test_a_score_that_trials_without_one_could_turn_is_not_judged(self) -> None:
        states, gate = {"a": [P, P], "b": [P, P], "c": [P, F]}, {"thresholds": {"score": 0.8}}
        missing = {("a", 1), ("b", 0), ("b", 1)}
        report, rows = reported({**states, "c": [P, P]}, gate=gate, unscored=missing)
        assert report.gate is not None
        assert (report.gate.verdict, report.gate.checks[0].computable) == ("INVALID", False)
        assert say(report.gate.checks[0].text).endswith("but 3 of 6 judged trials have no complete score")
        assert "the score leaves out 3 of 6 judged trials, which have none" in map(say, report.notes)
        assert verify_cases(report).mismatches == () == verify_report(report, rows).mismatches
        for enough, verdict in ((0.5, "PASSED"), (0.9, "FAILED")):
            told, _ = reported(states, gate={"thresholds": {"score": enough}}, unscored={("a", 1)})
            assert told.gate is not None and told.gate.verdict == verdict, "whatever the others were"

    def test_a_single_trial_without_a_score_is_reported_in_the_singular(self) -> None:
        report, _ = reported({"a": [P, P]}, gate={"thresholds": {"score": 0.8}}, unscored={("a", 1)})
        assert report.gate is not None
        assert say(report.gate.checks[0].text).endswith("but 1 of 2 judged trials has no complete score")

    @pytest.mark.parametrize("gate", [{"max_latency_s": 5}, {"each_case": 2}], ids=str)
    def test_trials_to_be_graded_are_distinguished_from_skipped_ones(self, gate: Any) -> None:
        report, _ = reported({"a": [P, S, A], "b": [S, S, A], "c": [P, P, P]}, gate=gate)
        assert report.gate is not None
        assert verify_cases(report).mismatches == ()


def test_an_interval_that_an_earlier_version_made_is_not_called_wrong_but_not_checked() -> None:
    report, rows = reported({"a": [P, P], "b": [P, F], "c": [F, F]})
    rate = report.measurements["pass_rate"]
    earlier = rate.model_copy(update={"low": 0.036, "high": 0.964, "method": "clustered Wilson", "n_eff": 3.0})
    for value, wrong in ((rate.value, []), (rate.value + 0.1, ["measurements.pass_rate.value"])):
        told = earlier.model_copy(update={"value": value})
        old = report.model_copy(update={"measurements": report.measurements | {"pass_rate": told}})
        for found in (verify_report(old, rows), verify_cases(old)):
            assert [each.figure for each in found.mismatches] == wrong
            assert "intervals by clustered Wilson, a method of an earlier version" in map(say, found.believed)
    assert "believed.earlier_intervals" not in {each.code for each in verify_report(report, rows).believed}
