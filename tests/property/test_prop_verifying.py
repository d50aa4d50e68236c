"""Verifying: whatever happened in a run, its report agrees with its trials, and every changed number is found."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from reported import changed, reported, told_numbers

from evalharness.domain.case import Case
from evalharness.domain.trial import TRIAL_STATES
from evalharness.engine.verifying.verified_report import verify_cases, verify_report

trials = st.integers(1, 4)
runs = trials.flatmap(
    lambda number: st.dictionaries(
        st.text("abc", min_size=1, max_size=2),
        st.lists(st.sampled_from(TRIAL_STATES), min_size=number, max_size=number),
        min_size=1,
        max_size=5,
    )
)
gates = st.none() | st.fixed_dictionaries(
    {"thresholds": st.fixed_dictionaries({"pass_rate": st.floats(0, 1), "score": st.floats(0, 1)})}
)


@given(states=runs, gate=gates, data=st.data())
def test_a_report_agrees_with_its_trials_and_with_its_cases(
    states: dict[str, list[str]], gate: Any, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.sampled_from((0.0, 1.0, 2.5)), min_size=len(states), max_size=len(states)))
    cases = [Case(id=id_, input="?", weight=weight) for id_, weight in zip(states, weights, strict=True)]
    report, outcomes = reported(states, cases, gate=gate)
    assert verify_report(report, outcomes).mismatches == ()
    assert verify_cases(report).mismatches == ()


@given(states=runs, gate=gates, data=st.data())
def test_a_changed_number_is_found(states: dict[str, list[str]], gate: Any, data: st.DataObject) -> None:
    report, outcomes = reported(states, gate=gate)
    told = told_numbers(report)
    place = data.draw(st.sampled_from(sorted(told)))
    value = data.draw(st.integers(-5, 200) if isinstance(told[place], int) else st.floats(-2, 2))
    assume(abs(value - told[place]) > 1e-5)
    try:
        lie = changed(report, place, value)
    except ValidationError:  # impossible reports are refused when they are read
        return
    assert verify_report(lie, outcomes).mismatches
