"""Flaky cases: cases that neither always pass nor always fail, from repeated trials. Pure: counts in, rates out.

Which runs are comparable enough to be counted together is decided in `steps/make_report.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import FLAKY_FROM, FlakyCase, Report
from evalharness.stats.flips import flip_rate

Judged: TypeAlias = Mapping[str, tuple[int, int]]
"""Of one run, by case: how many first answers were judged, and how many of them passed."""


def flaky_cases(report: Report, earlier: Sequence[Judged] = ()) -> list[FlakyCase]:
    """The most flaky first, down to those that seldom flip, without those that never do; `earlier` has newest first.

    Only judged trials count, and a case needs two of them: one cannot disagree with itself.
    """
    found = (
        _flaky(case, [judged[case.case_id] for judged in earlier if case.case_id in judged]) for case in report.cases
    )
    return sorted((case for case in found if case), key=lambda case: (-case.flip_rate, case.case_id))


def _flaky(case: CaseResult, before: list[tuple[int, int]]) -> FlakyCase | None:
    results = [counts for counts in (*reversed(before), (case.trials, case.passed)) if counts[0]]
    trials, passed = sum(n for n, _ in results), sum(c for _, c in results)
    rate = flip_rate(trials, passed)
    if not case.trials or not rate or not _goes_back_and_forth(results):
        return None
    was = flip_rate(trials - case.trials, passed - case.passed)
    was_flaky = was is None or (was >= FLAKY_FROM and _goes_back_and_forth(results[:-1]))
    is_new = rate >= FLAKY_FROM and not was_flaky
    return FlakyCase(case_id=case.case_id, flip_rate=rate, passed=passed, trials=trials, runs=len(results), new=is_new)


def _goes_back_and_forth(results: Sequence[tuple[int, int]]) -> bool:
    """A case that passed up to some run and fails ever since got worse; a flaky one comes back."""
    if any(0 < passed < trials for trials, passed in results):
        return True
    return sum(bool(was[1]) != bool(now[1]) for was, now in pairwise(results)) > 1
