"""Counting: a run's cases in figures, straight from its rows, for whoever needs nothing else. Pure.

The same figures as `summarising.case_results` gives, several times as fast: a run may have a hundred thousand cases,
and a comparison reads two runs. So nothing is built between the rows and the result; a property test holds both equal.
What trials lack is not counted: that takes their grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from evalharness.domain.case_result import CaseOutlines, CaseResult
from evalharness.domain.report import CaseState
from evalharness.domain.trial import TrialFigures
from evalharness.engine.tallying import case_state

_Counted: TypeAlias = tuple[
    int, int, int, CaseState, float | None, float | None, float | None, float | None, float | None
]
"""The fields of a CaseResult from `trials` to `dearest_usd`; those around them are columns of CaseOutlines."""


def count_cases(
    outlines: CaseOutlines, planned: int, threshold: float, figures: Iterable[TrialFigures]
) -> tuple[CaseResult, ...]:
    """`figures` come case by case; `planned` is the number of trials of each."""
    counted = dict(_single(figures, threshold) if planned == 1 else _several(figures, planned, threshold))
    untried = _counted((), planned, threshold)
    ids, keys, *traits = outlines
    columns = zip(*(counted.get(case_id, untried) for case_id in ids), strict=True)
    return tuple(map(CaseResult, ids, keys, *columns, *traits))


def _single(figures: Iterable[TrialFigures], threshold: float) -> Iterator[tuple[str, _Counted]]:
    """Of cases with one trial each, which are the most cases: as `_counted` says of such a trial, with its figures."""
    kinds: dict[tuple[str, str], _Counted] = {}
    for case_id, _, state, first_state, score, duration_s, cost_usd in figures:
        kind = kinds.get((state, first_state))
        if kind is None:
            bare = TrialFigures("", 0, state, first_state, None, 0.0, None)
            kind = kinds[state, first_state] = _counted([bare], 1, threshold)
        trials, passed, errors, became, worth, time_s, longest_s, mean_usd, dearest_usd = kind
        if time_s is not None:  # it was judged
            time_s = longest_s = duration_s
            if cost_usd is not None:
                mean_usd, dearest_usd = cost_usd, max(0.0, cost_usd)
        scored = worth if score is None else score
        yield case_id, (trials, passed, errors, became, scored, time_s, longest_s, mean_usd, dearest_usd)


def _several(figures: Iterable[TrialFigures], planned: int, threshold: float) -> Iterator[tuple[str, _Counted]]:
    for case_id, rows in groupby(figures, itemgetter(0)):
        yield case_id, _counted(rows, planned, threshold)


def _counted(rows: Iterable[TrialFigures], planned: int, threshold: float) -> _Counted:
    """One loop with local names: this is what the time goes into."""
    passed = failed = error = awaiting = skipped = first_passed = first_failed = scored = priced = 0
    score_sum = duration_sum = longest = cost_sum = dearest = 0.0
    for _, _, state, first_state, score, duration_s, cost_usd in rows:
        if first_state == "passed":
            first_passed += 1
        elif first_state == "failed":
            first_failed += 1
        if score is not None:
            score_sum += score
            scored += 1
        elif state == "failed":
            scored += 1  # no answer is worth nothing
        if state == "passed":
            passed += 1
        elif state == "failed":
            failed += 1
        else:
            error += state == "error"
            awaiting += state == "awaiting"
            skipped += state == "skipped"
            continue
        duration_sum += duration_s
        longest = duration_s if duration_s > longest else longest  # quicker than a call of max
        if cost_usd is not None:
            priced += 1
            cost_sum += cost_usd
            dearest = max(dearest, cost_usd)
    graded = passed + failed
    pending = planned - graded - error - awaiting - skipped
    return (
        first_passed + first_failed,
        first_passed,
        error,
        case_state(passed, graded, error, awaiting, pending, threshold),
        score_sum / scored if scored else None,
        duration_sum / graded if graded else None,
        longest if graded else None,
        cost_sum / priced if priced else None,
        dearest if priced else None,
    )
