"""Recommendations: derived from what was measured, each naming its cases; none where there is nothing to do."""

from __future__ import annotations

from typing import Any

import pytest
from reported import A, E, F, P, S, counted, row

from evalharness.domain.case import Case
from evalharness.domain.flaky_case import FlakyCase
from evalharness.domain.gate import Gate
from evalharness.domain.report import Recommendation
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.recommending import recommend, recommend_quarantine
from evalharness.engine.tallying import count_trials


def advised(*outcomes: Outcome, trials: int = 1) -> list[tuple[str, tuple[str, ...]]]:
    ids = dict.fromkeys(outcome.case_id for outcome in outcomes)
    suite = Suite(name="s", cases=tuple(Case(id=id_, input="?") for id_ in ids))
    return [(found.text, found.cases) for found in recommend(suite, count_trials(suite, trials, outcomes))]


@pytest.mark.parametrize("states", [{"a": [P, P], "b": [P, P]}, {"a": [S], "b": [A]}, {"a": [P, S]}], ids=str)
def test_nothing_is_said_where_nothing_is_wrong(states: Any) -> None:
    assert recommend(*counted(states)) == ()


def test_errors_of_one_kind_are_mended_together() -> None:
    [first, second] = advised(
        row("a", 0, E, reason="connection to 10.0.0.1 refused"),
        row("b", 0, E, reason="connection to 10.0.0.2 refused"),
        row("c", 0, E, reason="no such file"),
    )
    assert first == (
        "Mend what stopped 2 trials from being judged, then resume the run: connection to 10.0.0.1 refused",
        ("a", "b"),
    )
    assert second == ("Mend what stopped 1 trial from being judged, then resume the run: no such file", ("c",))


@pytest.mark.parametrize(
    ("kind", "limit"), [("latency", "latency limit"), ("cost", "cost limit"), ("max_rounds", "max rounds limit")]
)
def test_what_goes_over_a_limit_is_named(kind: str, limit: str) -> None:
    [(text, cases)] = advised(row("a", 0, F, kind=kind, reason="too much"), row("b", 0, P))
    assert text == f"1 case goes over the {limit}: make the target leaner, or raise the limit"
    assert cases == ("a",)


def test_time_limits_count_whatever_the_grader() -> None:
    texts = advised(*(row(id_, 0, F, reason="time limit of 5 s") for id_ in "ab"), row("c", 0, P))
    assert texts[0] == ("2 cases go over the time limit: make the target leaner, or raise the limit", ("a", "b"))


def test_failures_that_look_alike_are_told_as_one() -> None:
    found = advised(
        row("a", 0, F, reason="ValueError: no digit at line 12"),
        row("b", 0, F, reason="ValueError: no digit at line 7"),
        row("c", 0, F, reason="exact: expected '5', got '6'"),
        row("d", 0, F, reason="exact: expected '7', got '1'"),
    )
    assert found == [
        ("2 cases fail alike, so one cause may explain them all: ValueError: no digit at line 12", ("a", "b"))
    ]


def test_a_case_that_never_passes_is_told_from_one_that_sometimes_does() -> None:
    never, sometimes = advised(
        *(row("never", index, F, reason=f"wrong {'x' * index}") for index in range(3)),
        *(row("often", index, state, reason="") for index, state in enumerate((P, P, F))),
        trials=3,
    )
    assert never[0].startswith("1 case fails in every trial: look at it before any flaky one")
    assert never[1] == ("never",)
    assert sometimes[0].startswith("1 case passes only sometimes (2 of 3 trials of often passed)")
    assert sometimes[1] == ("often",)


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
    )

    def test_is_suggested_for_flaky_cases_that_a_gate_counts(self) -> None:
        held = {"case": "b", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}
        gate = Gate.model_validate({"quarantine": [held]})
        [found] = recommend_quarantine(self.FLAKY, gate)
        assert isinstance(found, Recommendation)
        assert found.cases == ("a",)
        assert found.text.startswith("1 flaky case makes the gate a matter of chance")

    def test_is_not_suggested_without_a_gate_or_flaky_cases(self) -> None:
        assert list(recommend_quarantine(self.FLAKY, None)) == []
        assert list(recommend_quarantine((), Gate())) == []


def test_a_limit_that_is_not_required_is_no_reason_to_act() -> None:
    over = row("a", 0, P)._replace(
        grades='[{"state": "fail", "kind": "latency", "required": false}, {"state": "pass", "kind": "exact"}]'
    )
    assert advised(over) == []
