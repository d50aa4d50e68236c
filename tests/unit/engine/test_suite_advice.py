"""What fits a suite: cases grouped by finding, the metric by the goal, the preset by what the suite guards."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.domain.advice import Advice, Goal
from evalharness.domain.suite import Suite
from evalharness.engine.verifying.suite_advice import advise
from evalharness.reports.words.say import say

CRITICAL = {"id": "a", "input": "?", "expected": "x", "criticality": "critical"}


def advised(goal: Goal | None = None, **about: Any) -> Advice:
    written = {"name": "s", "cases": [{"id": "a", "input": "?", "expected": "Paris"}], **about}
    return advise(Suite.model_validate(written), goal)


def codes(advice: Advice, about: str) -> list[str]:
    return [choice.finding.code for choice in advice.of(about)]


def test_cases_with_the_same_finding_are_one_choice_the_likeliest_mistakes_first() -> None:
    cases = [{"id": f"n{n}", "input": "?", "expected": {"contains": n}} for n in range(1000)]
    cases += [{"id": "d", "input": "?", "expected": "0.5"}, {"id": "x", "input": "?", "expected": "Paris"}]
    advice = advised(cases=cases)
    assert [(choice.finding.code, len(choice.cases)) for choice in advice.of("grader")] == [
        ("choice.contains_number", 1000),
        ("choice.exact_decimal", 1),
    ]
    assert (advice.cases, advice.fitting) == (1002, 1)


@pytest.mark.parametrize(
    ("about", "goal", "metric"),
    [
        ({}, None, "pass_at_1"),
        ({"config": {"retry_failed": True, "retry_count": 4}}, "retries", "pass_at_5"),
        ({"gate": {"thresholds": {"pass@5": 0.9}, "k": 5}}, "retries", "pass_at_5"),
        ({"gate": {"thresholds": {"pass^3": 0.9}}}, "reliable", "pass_hat_3"),
        ({"gate": "production"}, "reliable", "pass_hat_3"),
        ({"gate": {"thresholds": {"pass_rate": 0.9}}}, None, "pass_at_1"),
        ({"eval_type": "regression"}, "reliable", "pass_hat_3"),
        ({"eval_type": "regression", "config": {"retry_failed": True, "retry_count": 2}}, "retries", "pass_at_3"),
        ({"cases": [CRITICAL]}, "reliable", "pass_hat_3"),
        ({"cases": [CRITICAL, {"id": "b", "input": "?"}]}, None, "pass_at_1"),
    ],
)
def test_the_suite_says_what_its_goal_is(about: dict[str, Any], goal: str | None, metric: str) -> None:
    advice = advised(**about)
    assert (advice.goal, advice.metric) == (goal, metric)


def test_a_goal_that_is_given_wins_and_a_gate_that_asks_otherwise_is_pointed_out() -> None:
    advice = advised("retries", trials=3, gate={"thresholds": {"pass^3": 0.9}})
    assert (advice.goal, advice.metric) == ("retries", "pass_at_3")
    assert codes(advice, "metric") == ["choice.metric", "choice.other_metric"]
    assert say(advice.of("metric")[1].finding).startswith("the gate asks for pass^3")
    assert codes(advised("reliable", trials=3, gate="production"), "metric") == ["choice.metric"]


def test_too_few_trials_for_the_metric_are_pointed_out() -> None:
    assert codes(advised("reliable", trials=2), "metric") == ["choice.metric", "choice.more_trials"]
    assert codes(advised("reliable", trials=3), "metric") == ["choice.metric"]


@pytest.mark.parametrize(
    ("goal", "about", "preset"),
    [
        (None, {}, "development"),
        ("retries", {}, "staging"),
        ("reliable", {}, "production"),
        (None, {"eval_type": "regression"}, "production"),
        ("retries", {"cases": [CRITICAL]}, "critical"),
    ],
)
def test_the_preset_follows_from_what_the_suite_guards(goal: Goal | None, about: dict[str, Any], preset: str) -> None:
    advice = advised(goal, **about)
    assert advice.preset == preset
    assert codes(advice, "gate") == ["choice.preset", "choice.no_gate"]


def test_a_gate_that_asks_for_less_is_pointed_out_and_one_that_asks_for_more_is_not() -> None:
    assert codes(advised("reliable", gate="staging"), "gate") == ["choice.preset", "choice.preset_lower"]
    assert codes(advised("reliable", gate="critical"), "gate") == ["choice.preset"]


def test_a_few_critical_cases_are_asked_more_than_the_others() -> None:
    cases = [CRITICAL, {"id": "b", "input": "?", "expected": "x"}]
    advice = advised("retries", cases=cases)
    assert advice.preset == "staging"
    assert codes(advice, "gate") == ["choice.preset", "choice.critical_cases", "choice.no_gate"]
    assert say(advice.of("gate")[1].finding) == (
        "1 of 2 cases is critical: ask more of them, "
        "with `thresholds: {criticality: {critical: {pass^k: 0.9}}}` in the gate"
    )
    asked = {"preset": "staging", "thresholds": {"criticality": {"critical": {"pass^k": 0.9}}}}
    for gate in (asked, "critical"):
        assert codes(advised("retries", cases=cases, gate=gate), "gate") == ["choice.preset"]
