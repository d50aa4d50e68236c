"""Recommendations: derived from what was measured, each naming its cases; none if there is nothing to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from reported import TODAY, A, E, F, P, S, counted, row

from evalharness.domain.case import Case
from evalharness.domain.gate import Gate
from evalharness.domain.report import FlakyCase, Recommendation
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.measuring.recommendations import (
    in_order,
    recall_passes,
    recommend,
    recommend_limits,
    recommend_quarantine,
)
from evalharness.engine.measuring.trial_counts import CaseTally, count_trials
from evalharness.reports.words.say import say


def advised(*outcomes: Outcome, trials: int = 1) -> list[tuple[str, tuple[str, ...]]]:
    suite = suite_of(outcomes)
    return [(say(found.finding), found.cases) for found in recommend(count_trials(suite, trials, outcomes))]


def suite_of(outcomes: Sequence[Outcome]) -> Suite:
    ids = dict.fromkeys(outcome.case_id for outcome in outcomes)
    return Suite(name="s", cases=tuple(Case(id=id_, input="?") for id_ in ids))


def tallied(*outcomes: Outcome) -> dict[str, CaseTally]:
    return count_trials(suite_of(outcomes), 2, outcomes).tallies


@pytest.mark.parametrize("states", [{"a": [P, P], "b": [P, P]}, {"a": [S], "b": [A]}, {"a": [P, S]}], ids=str)
def test_nothing_is_said_where_nothing_is_wrong(states: Any) -> None:
    assert recommend(counted(states)[1]) == ()


def test_errors_of_one_kind_are_fixed_together() -> None:
    [first, second] = advised(
        row("a", 0, E, reason="connection to 10.0.0.1 refused"),
        row("b", 0, E, reason="connection to 10.0.0.2 refused"),
        row("c", 0, E, reason="no such file"),
    )
    assert first == (
        "fix what kept 2 of the trials from being judged: connection to 10.0.0.1 refused",
        ("a", "b"),
    )
    assert second == ("fix what kept 1 of the trials from being judged: no such file", ("c",))


@pytest.mark.parametrize(
    ("kind", "limit"), [("latency", "latency limit"), ("cost", "cost limit"), ("max_rounds", "max rounds limit")]
)
def test_what_goes_over_a_limit_is_named(kind: str, limit: str) -> None:
    [(text, cases)] = advised(row("a", 0, F, kind=kind, reason="too much"), row("b", 0, P))
    assert text == f"1 case goes over the {limit}: make the target leaner, or raise the limit"
    assert cases == ("a",)


def test_time_limits_count_whatever_the_grader() -> None:
    texts = advised(*(row(id_, 0, F, reason="time limit of 5 s") for id_ in "ab"), row("c", 0, P))
    assert texts == [("2 cases go over the time limit: make the target leaner, or raise the limit", ("a", "b"))]


def test_what_goes_over_a_limit_is_not_reported_again_as_failing_alike() -> None:
    reason = "latency: took 6 s, 5 s allowed"
    [(text, cases)] = advised(*(row(id_, 0, F, kind="latency", reason=reason) for id_ in "ab"))
    assert (text.startswith("2 cases go over the latency limit"), cases) == (True, ("a", "b"))


def test_advice_of_one_kind_is_grouped() -> None:
    given = [
        Recommendation(kind="never", text="never"),
        *(Recommendation(kind="errors", text=f"error {n}") for n in range(2)),
        Recommendation(kind="quarantine", text="hold"),
        Recommendation(kind="limit", text="dear"),
    ]
    assert [say(found.finding) for found in in_order(given)] == ["error 0", "error 1", "dear", "never", "hold"]


class TestLimits:
    CASES = tallied(
        row("a", 0, P, cost_usd=0.05, duration_s=0.5),
        row("a", 1, P, cost_usd=0.15, duration_s=1.5),
        row("b", 0, P, cost_usd=0.3, duration_s=1.0),
        row("b", 1, F, cost_usd=0.5, duration_s=7.0),
        row("c", 0, P, cost_usd=0.3, duration_s=4.0),
        row("c", 1, P, cost_usd=0.3, duration_s=6.0),
        row("unknown", 0, S, cost_usd=None),
    )

    @pytest.mark.parametrize(
        ("name", "wanted", "told", "cases"),
        [
            ("spend cap", 0.0, "b cost the most, $0.8000: ", ("b", "c", "a")),
            ("time limit", 0.0, "c took the longest, 10.000 s in all: ", ("c", "b", "a")),
            ("max_cost_usd", 1.0, "b cost the most, $0.8000: ", ("b", "c", "a")),
            ("max_cost_usd_per_trial", 0.3, "b has the most expensive trial, $0.5000: ", ("b", "c")),
            ("max_latency_s", 6.5, "b has the slowest trial, 7.000 s: ", ("b",)),
            ("max_median_latency_s", 3.0, "c is the slowest, 5.000 s a trial: ", ("c", "b")),
        ],
    )
    def test_that_were_overrun_name_what_is_dear_or_slow(
        self, name: str, wanted: float, told: str, cases: tuple[str, ...]
    ) -> None:
        [found] = recommend_limits({name: wanted}, self.CASES)
        assert say(found.finding) == f"{told}make it leaner, or raise {name if '_' in name else f'the {name}'}"
        assert found.cases == cases

    def test_small_sums_are_not_rounded_away(self) -> None:
        [found] = recommend_limits({"spend cap": 0.0}, tallied(row("a", 0, P, cost_usd=0.00003)))
        assert say(found.finding).startswith("a cost the most, $0.00003: ")

    def test_that_nothing_is_known_of_need_no_advice(self) -> None:
        assert not list(recommend_limits({"max_latency_s": 9.0, "pass_rate": 0.9, "interrupted": 0.0}, self.CASES))
        assert not list(recommend_limits({"spend cap": 0.0}, {"unknown": self.CASES["unknown"]}))

    def test_that_all_share_alike_name_them_all_whatever_they_are_called(self) -> None:
        cases = [row(str(number), 0, P, cost_usd=0.5) for number in range(1, 13)]
        [found] = recommend_limits({"spend cap": 0.0}, tallied(*cases))
        assert say(found.finding).startswith("12 cases use about the same")
        assert len(found.cases) == 12

    def test_of_the_whole_run_add_up_what_trials_reported_and_nothing_else(self) -> None:
        silent = tallied(row("a", 0, P, cost_usd=5.0), row("a", 1, P, cost_usd=None), row("b", 0, P, cost_usd=1.0))
        [found] = recommend_limits({"max_cost_usd": 1.0}, silent)
        assert say(found.finding).startswith("a cost the most, $5.0000: ")
        unjudged = tallied(row("a", 0, P, cost_usd=1.0), row("b", 0, E, cost_usd=2.0), row("b", 1, A, cost_usd=1.5))
        [found] = recommend_limits({"spend cap": 0.0}, unjudged)
        assert say(found.finding).startswith("b cost the most, $3.5000: ")

    def test_of_single_trials_leave_out_what_the_gate_does_not_count(self) -> None:
        overrun = {"max_latency_s": 5.0, "max_cost_usd": 1.0}
        latency, cost = recommend_limits(overrun, self.CASES, held=("b",))
        assert (latency.cases, cost.cases) == (("c",), ("b", "c", "a"))


def test_failures_that_look_alike_are_reported_as_one() -> None:
    found = advised(
        row("a", 0, F, reason="ValueError: no digit at line 12"),
        row("b", 0, F, reason="ValueError: no digit at line 7"),
        row("c", 0, F, reason="exact: expected '5', got '6'"),
        row("d", 0, F, reason="exact: expected '7', got '1'"),
    )
    assert found == [
        ("2 cases fail in the same way, so they may have one cause: ValueError: no digit at line 12", ("a", "b"))
    ]


def test_a_case_that_never_passes_is_distinguished_from_one_that_sometimes_does() -> None:
    never, sometimes = advised(
        *(row("never", index, F, reason=f"wrong {'x' * index}") for index in range(3)),
        *(row("often", index, state, reason="") for index, state in enumerate((P, P, F))),
        trials=3,
    )
    assert never[0].startswith("1 case fails in every trial: look at it before the flaky ones")
    assert never[1] == ("never",)
    assert sometimes[0].startswith("1 case passes only sometimes (2 of 3 trials of often passed)")
    assert sometimes[1] == ("often",)


def test_what_passed_in_an_earlier_run_is_nothing_that_the_target_cannot_do() -> None:
    advice = recommend(counted({"was fine": [F, F], "never": [F, F]})[1])
    earlier = [{"never": (2, 0)}, {"was fine": (2, 1), "never": (2, 0)}]
    never, no_more = recall_passes([found for found in advice if found.kind == "never"], earlier)
    assert (say(never.finding).startswith("1 case fails in every trial: look at it"), never.cases) == (True, ("never",))
    assert say(no_more.finding).startswith("1 case fails in every trial of this run but passed in earlier runs")
    assert (no_more.kind, no_more.cases) == ("flaky", ("was fine",))
    assert list(recall_passes(advice, [])) == list(advice)


def test_one_failed_trial_proves_nothing() -> None:
    assert advised(row("a", 0, F, reason="wrong")) == []


def test_long_reasons_are_cut_and_many_errors_are_counted_quickly() -> None:
    [(text, cases)] = advised(*(row(f"c{number}", 0, E, reason="x" * 500) for number in range(20_000)))
    assert len(cases) == 20_000
    assert len(text) < 200


class TestQuarantine:
    FLAKY = (
        FlakyCase(case_id="a", flip_rate=0.5, passed=2, trials=4),
        FlakyCase(case_id="b", flip_rate=0.4, passed=1, trials=4),
        FlakyCase(case_id="seldom", flip_rate=0.1, passed=19, trials=20),
    )

    def test_is_suggested_for_flaky_cases_that_a_gate_counts(self) -> None:
        held = {"case": "b", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}
        gate = Gate.model_validate({"quarantine": [held]})
        [found] = recommend_quarantine(self.FLAKY, gate, date(2027, 1, 1))
        assert isinstance(found, Recommendation)
        assert found.cases == ("a",)
        assert say(found.finding).startswith("1 flaky case counts in the gate, so chance may decide it")

    def test_is_not_suggested_without_a_gate_or_flaky_cases(self) -> None:
        assert list(recommend_quarantine(self.FLAKY, None, TODAY)) == []
        assert list(recommend_quarantine((), Gate(), TODAY)) == []

    def test_is_suggested_again_once_it_has_expired(self) -> None:
        held = {"case": "b", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}
        gate = Gate.model_validate({"quarantine": [held]})
        [found] = recommend_quarantine(self.FLAKY, gate, date(2027, 1, 2))
        assert found.cases == ("a", "b")


def test_a_limit_that_is_not_required_is_no_reason_to_act() -> None:
    over = row("a", 0, P)._replace(
        grades='[{"state": "fail", "kind": "latency", "required": false}, {"state": "pass", "kind": "exact"}]'
    )
    assert advised(over) == []
