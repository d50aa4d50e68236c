"""The quick way to count a run's cases gives the figures of the whole report, whatever became of the trials."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseOutlines
from evalharness.domain.suite import Suite
from evalharness.domain.trial import TRIAL_STATES, Outcome, TrialFigures, TrialState
from evalharness.engine.counting import count_cases
from evalharness.engine.summarising import case_results
from evalharness.engine.tallying import count_trials

MOST = 3
IDS = ("a", "b")
STATES = st.sampled_from(TRIAL_STATES)
MAYBE = st.none() | st.floats(0, 1)
TRIAL = st.tuples(STATES, STATES, MAYBE, st.floats(0, 100), MAYBE)


@given(st.tuples(*(st.lists(TRIAL, max_size=MOST) for _ in IDS)), st.sampled_from([1, MOST]), st.sampled_from([0.5, 1]))
def test_both_ways_of_counting_agree(
    tried: tuple[list[tuple[TrialState, TrialState, float | None, float, float | None]], ...],
    planned: int,
    threshold: float,
) -> None:
    cases = tuple(Case(id=id_, input="?", weight=2.0, cluster="c", category="maths") for id_ in IDS)
    suite = Suite(name="s", cases=cases, case_threshold=threshold)
    rows = [
        TrialFigures(id_, n, *trial)
        for id_, trials in zip(IDS, tried, strict=True)
        for n, trial in enumerate(trials[:planned])
    ]
    outcomes = [
        Outcome(*row[:5], reason="", duration_s=row.duration_s, cost_usd=row.cost_usd, input_tokens=None,
                output_tokens=None, grades="[]")
        for row in rows
    ]  # fmt: skip
    keys = dict.fromkeys(IDS, "key")
    whole = tuple(
        replace(case, unscored=0, least_score=None, unpriced=0)  # what trials lack, only their grades tell
        for case in case_results(suite, keys, count_trials(suite, planned, outcomes))
    )
    columns = (["key"] * 2, [2.0] * 2, ["c"] * 2, ["maths"] * 2, [""] * 2, ["maths"] * 2)
    outlines = CaseOutlines(IDS, *columns)
    assert count_cases(outlines, planned, threshold, rows) == whole
