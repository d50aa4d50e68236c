"""Recommendations: what to do next, and which cases are flaky, derived from what was measured. Each names its cases.

Which runs are comparable enough to be counted together is decided in `steps/make_report.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import TypeAlias

from evalharness.domain.case_result import CaseResult
from evalharness.domain.finding import finding
from evalharness.domain.gate import Gate
from evalharness.domain.report import FLAKY_FROM, FlakyCase, Recommendation, Report
from evalharness.domain.trial import TIME_LIMIT
from evalharness.engine.measuring.trial_counts import CaseTally, Measured
from evalharness.stats.flip_rate import flip_rate

BUDGETS = frozenset(("latency", "cost", "tokens", "max_rounds", "max_length"))
URGENCY = ("errors", "limit", "alike", "never", "flaky", "quarantine", "")
ALIKE = 2
NAMED = 5
LONGEST_REASON = 100
_PARTICULARS = re.compile(r"('[^']*'|\"[^\"]*\")|\b0x[0-9a-fA-F]+\b|\d+(?:\.\d+)?")
"""Numbers of lines, seconds, addresses; a quoted text is what somebody asked for or answered, and says something."""

Tallied = ItemsView[str, CaseTally]


def recommend(measured: Measured) -> tuple[Recommendation, ...]:
    """The most urgent first: errors, limits, failures that look alike, what never passes, what passes sometimes.

    A run that may have been decided already is perhaps not continued.
    """
    tallied = measured.tallies.items()
    errors = _errors(tallied)
    return (*errors, *_budgets(tallied), *_alike(tallied), *_never(_failing(tallied)), *_flaky(tallied))


def recall_passes(advice: Iterable[Recommendation], earlier: Iterable[Judged]) -> Iterator[Recommendation]:
    """The same advice, knowing comparable runs before: what passed there is nothing that the target cannot do."""
    passed = {case_id for judged in earlier for case_id, (_, passes) in judged.items() if passes}
    for found in advice:
        if found.kind == "never":
            yield from _never([case_id for case_id in found.cases if case_id not in passed])
            yield from _no_more([case_id for case_id in found.cases if case_id in passed])
        else:
            yield found


def in_order(advice: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Kind by kind, the most urgent first; within a kind as it came."""
    return tuple(sorted(advice, key=lambda found: URGENCY.index(found.kind)))


def _errors(tallied: Tallied) -> Iterator[Recommendation]:
    erred = [(case_id, tally, tally.reasons["error"].reason) for case_id, tally in tallied if tally.error]
    for reason, members in _by_kind([(case_id, reason) for case_id, _, reason in erred]):
        named = set(members)
        trials = sum(tally.error for case_id, tally, _ in erred if case_id in named)
        yield Recommendation(
            kind="errors",
            finding=finding("advice.errors", "error", trials=trials, reason=reason),
            cases=tuple(members),
        )


def _budgets(tallied: Tallied) -> Iterator[Recommendation]:
    over: dict[str, list[str]] = {}
    for case_id, tally in tallied:
        for kind in sorted(tally.failed_kinds & BUDGETS):
            over.setdefault(kind, []).append(case_id)
        if tally.timed_out:
            over.setdefault("time", []).append(case_id)
    for limit, cases in over.items():
        yield Recommendation(
            kind="limit",
            finding=finding("advice.over_limit", "warning", number=len(cases), limit=limit),
            cases=tuple(cases),
        )


def _alike(tallied: Tallied) -> Iterator[Recommendation]:
    """Failures that share a reason likely share a cause; that of going over a limit is reported already."""
    failed = [(case_id, tally.reasons["failed"].reason) for case_id, tally in tallied if tally.failed]
    for reason, members in _by_kind([(case_id, reason) for case_id, reason in failed if reason]):
        if len(members) >= ALIKE and not reason.startswith((TIME_LIMIT, *(f"{kind}: " for kind in BUDGETS))):
            yield Recommendation(
                kind="alike",
                finding=finding("advice.alike", "warning", number=len(members), reason=reason),
                cases=tuple(members),
            )


def _failing(tallied: Tallied) -> list[str]:
    """One trial could be chance; several in a row that all fail are not."""
    return [
        case_id for case_id, tally in tallied if tally.first_graded > 1 and not (tally.first_passed or tally.passed)
    ]


def _never(never: Sequence[str]) -> Iterator[Recommendation]:
    if never:
        yield Recommendation(
            kind="never", finding=finding("advice.never_passes", "warning", number=len(never)), cases=tuple(never)
        )


def _no_more(cases: Sequence[str]) -> Iterator[Recommendation]:
    if cases:
        yield Recommendation(
            kind="flaky", finding=finding("advice.passed_before", "warning", number=len(cases)), cases=tuple(cases)
        )


def _flaky(tallied: Tallied) -> Iterator[Recommendation]:
    rates = ((flip_rate(tally.first_graded, tally.first_passed), case_id, tally) for case_id, tally in tallied)
    flaky = sorted((-rate, case_id, tally) for rate, case_id, tally in rates if rate)
    if flaky:
        _, worst, tally = flaky[0]
        seen = {"case": worst, "passed": tally.first_passed, "trials": tally.first_graded}
        yield Recommendation(
            kind="flaky",
            finding=finding("advice.flaky", "warning", number=len(flaky), **seen),
            cases=tuple(case_id for _, case_id, _ in flaky),
        )


def recommend_limits(
    overrun: Mapping[str, float], tallies: Mapping[str, CaseTally], held: Collection[str] = ()
) -> Iterator[Recommendation]:
    """For each limit that was overrun, by what stopped the run or by its key: the cases that are dear or slow.

    `held` ones are dear and slow only where the whole run is counted.
    """
    for name, limit in overrun.items():
        if name not in _OVERRUN:
            continue
        whole, figure = _OVERRUN[name]
        counting = [(figure(tally), case_id) for case_id, tally in tallies.items() if whole or case_id not in held]
        of = sorted(counting, key=lambda each: (-each[0], each[1]))
        over = [(value, case_id) for value, case_id in of if value and (whole or value >= limit)]
        if over:
            most, worst = over[0]
            is_even = whole and len(over) > 1 and math.isclose(over[0][0], over[-1][0])
            what = finding("advice.leaner_case", "warning", limit=name, case=worst, value=most, most=limit)
            if is_even:
                what = finding("advice.fewer_trials", "warning", limit=name, number=len(over))
            yield Recommendation(
                kind="limit",
                finding=what,
                cases=tuple(case_id for _, case_id in over[: NAMED if whole and not is_even else None]),
            )


_OVERRUN: dict[str, tuple[bool, Callable[[CaseTally], float]]] = {
    "spend cap": (True, lambda tally: tally.spent_usd),
    "time limit": (True, lambda tally: tally.duration_sum_s),
    "max_cost_usd": (True, lambda tally: tally.spent_usd),
    "max_cost_usd_per_trial": (False, lambda tally: tally.dearest_usd),
    "max_latency_s": (False, lambda tally: tally.longest_s),
    "max_median_latency_s": (False, lambda tally: tally.duration_sum_s / max(1, tally.graded)),
}
"""By what stopped the run, or by its key in a gate: whether it is a limit of the whole run, and what a case adds."""


def recommend_quarantine(flaky: Sequence[FlakyCase], gate: Gate | None, today: date) -> Iterator[Recommendation]:
    """Where a gate counts flaky cases, chance decides it. A quarantine that has expired holds nothing any more."""
    held = gate.quarantined_on(today) if gate else frozenset()
    counts = gate is not None and gate.counts_passes
    loose = [case.case_id for case in flaky if case.counts_as_flaky and case.case_id not in held] if counts else []
    if loose:
        yield Recommendation(
            kind="quarantine", finding=finding("advice.quarantine", "warning", number=len(loose)), cases=tuple(loose)
        )


def _by_kind(reasons: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Cases whose reasons differ in nothing but numbers, under the first such reason."""
    kinds: dict[str, tuple[str, list[str]]] = {}
    for case_id, reason in reasons:
        text = " ".join(reason.split())
        kind = _PARTICULARS.sub(lambda found: found[1] or "…", text)
        kinds.setdefault(kind, (_cut(text), []))[1].append(case_id)
    return sorted(kinds.values(), key=lambda kind: -len(kind[1]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


Judged: TypeAlias = Mapping[str, tuple[int, int]]
"""Of one run, by case: how many first answers were judged, and how many of them passed."""


def flaky_cases(report: Report, earlier: Sequence[Judged] = ()) -> list[FlakyCase]:
    """The most flaky first, down to those that seldom flip, without those that never do; `earlier` has newest first.

    Only judged trials count, and a case needs two of them: one cannot disagree with itself.
    """
    found = (
        _flaky_case(case, [judged[case.case_id] for judged in earlier if case.case_id in judged])
        for case in report.cases
    )
    return sorted((case for case in found if case), key=lambda case: (-case.flip_rate, case.case_id))


def _flaky_case(case: CaseResult, before: list[tuple[int, int]]) -> FlakyCase | None:
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
