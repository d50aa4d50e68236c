"""How a gate is written: short forms, and what takes precedence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.domain.gate import Gate, RegressionRule, Thresholds


def asked_of_all(gate: Gate) -> dict[str, float]:
    return dict(next(gate.minima())[2])


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("staging", {"preset": "staging"}),
        ({"thresholds": {"pass@1": 0.5}}, {"thresholds": {"default": {"pass_at_1": 0.5}}}),
        ({"each_case": 2}, {"each_case": {"passed": 2}}),
        ({"each_case": "2 of 3"}, {"each_case": {"passed": 2, "of": 3}}),
        ({"regression": "main"}, {"regression": {"baseline": "main"}}),
        ({"regression": True}, {"regression": {}}),
    ],
)
def test_short_forms(short: Any, long: Any) -> None:
    assert Gate.model_validate(short) == Gate.model_validate(long)


@pytest.mark.parametrize(
    "written",
    [
        "prod",
        {"each_case": "two of three"},
        {"each_case": 0},
        {"each_case": True},
        {"each_case": "4 of 3"},
        {"thresholds": {"pass_rate": True}},
        {"thresholds": {"pass_rate": "0.5"}},
        {"thresholds": {"pass@3": 0.1, "pass_at_3": 0.2}},
        {"thresholds": {"pass_hat_1_plugin": 0.1}},
        {"max_cost_usd": 0},
        {"max_latency_s": float("inf")},
        {"regression": False},
        {"quarantine": [{"case": "a", "reason": "r", "owner": "o", "expires": 20261231}]},
        {"quarantine": [{"case": "a", "reason": "r", "owner": "o"}]},
    ],
)
def test_what_means_nothing_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        Gate.model_validate(written)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"each_case": True}, 'must be a number of trials, or a text such as "2 of 3"'),
        ({"each_case": 2.5}, 'must be a number of trials, or a text such as "2 of 3"'),
        ({"regression": False}, "must be true, a baseline's name or a mapping"),
        ({"regression": 3}, "must be true, a baseline's name or a mapping"),
    ],
)
def test_short_forms_say_what_they_may_be(written: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        Gate.model_validate(written)


def test_the_gates_k_is_meant_by_k() -> None:
    gate = Gate.model_validate({"k": 5, "thresholds": {"default": {"pass@k": 0.9}, "categories": {"c": {"pass^k": 1}}}})
    assert [minimum for _, _, minimum in gate.minima()] == [{"pass_at_5": 0.9}, {"pass_hat_5": 1.0}]


def test_a_preset_given_later_replaces_what_was_asked_in_its_metrics() -> None:
    gate = Gate.model_validate({"thresholds": {"pass@1": 0.1, "pass^3": 0.1, "score": 0.1}})
    assert asked_of_all(gate.with_preset("staging", {})) == {
        "pass_at_1": 0.8,
        "pass_at_3": 0.95,
        "pass_hat_3": 0.65,
        "score": 0.1,
    }
    own = {"staging": {"pass_at_k": 0.6}}
    assert asked_of_all(gate.with_preset("staging", own)) == {
        "pass_at_1": 0.8,
        "pass_at_3": 0.6,
        "pass_hat_3": 0.65,
        "score": 0.1,
    }
    once = Gate(k=1).with_preset("staging", own)
    assert asked_of_all(once) == {"pass_at_1": 0.8}, "with one try, pass@k is pass@1"


def test_thresholds_over_others_win_metric_by_metric() -> None:
    under = Thresholds.model_validate({"default": {"score": 1, "pass_rate": 1}, "categories": {"a": {"score": 1}}})
    over = Thresholds.model_validate(
        {"default": {"score": 0}, "categories": {"a": {"pass_rate": 0}, "b": {"score": 0}}}
    )
    assert over.over(under) == Thresholds.model_validate(
        {
            "default": {"score": 0, "pass_rate": 1},
            "categories": {"a": {"score": 1, "pass_rate": 0}, "b": {"score": 0}},
        }
    )


@pytest.mark.parametrize(
    ("rule", "loss"), [({}, 0.05), ({"tolerance": 0.1}, 0.1), ({"tolerance": 0.1, "margin": 0.02}, 0.02)]
)
def test_the_loss_that_must_be_ruled_out(rule: Any, loss: float) -> None:
    assert RegressionRule.model_validate(rule).least_loss == loss
