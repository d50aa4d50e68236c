"""Show the trend of a suite: its past runs side by side, target by target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.report import FlakyCase
from evalharness.domain.stored import RunOutline
from evalharness.domain.trend import Trend
from evalharness.engine.comparing.suite_trend import is_gap, target_trend
from evalharness.engine.measuring.recommendations import flaky_cases
from evalharness.errors import UnknownName
from evalharness.steps.find_comparable_runs import comparable_to_stored
from evalharness.steps.find_suites import suite_name_of
from evalharness.steps.parse_age import moment_since

ALL_TARGETS = 1_000_000
"""More runs than a store has."""
READ_BEFORE = 10
"""So many runs before those of a trend are read, too: what they asked tells a new case from one that was left out."""


@dataclass(frozen=True, slots=True)
class TrendRequest:
    """`since` is a day or an age; empty: from the first run on. `targets` are variants; empty: all."""

    suite: str
    since: str = ""
    targets: tuple[str, ...] = ()
    limit: int = 30
    """Runs of each target; of the others, those of the same time."""
    most_cases: int | None = None
    """How many cases of all runs together are read, the newest runs first; of older ones it shows figures alone."""


async def show_trend(context: Context, request: TrendRequest) -> Trend:
    """Raises UnknownName for a suite without a run and without a file, and for a target that it was never run on."""
    store = context.store
    suite_name = suite_name_of(request.suite, store)
    since = moment_since(request.since, context.clock()) if request.since else ""
    by_target, before, has_earlier = _newest(store, suite_name, since, request)
    baselines: dict[str, tuple[str, ...]] = {}
    for baseline in store.baselines(suite_name):
        for run_id in baseline.run_ids:
            baselines[run_id] = (*baselines.get(run_id, ()), baseline.name)
    present = _present_cases(store, suite_name, [run for runs in by_target.values() for run in runs])
    targets = tuple(
        target_trend(
            target, runs[::-1], baselines, present, _flaky(store, suite_name, runs), before.get(target, [])[::-1]
        )
        for target, runs in by_target.items()
    )
    return Trend(suite_name=suite_name, source=request.suite, targets=targets, has_earlier=has_earlier)


ByTarget: TypeAlias = dict[str, list[RunOutline]]


def _newest(store: Store, suite_name: str, since: str, request: TrendRequest) -> tuple[ByTarget, ByTarget, bool]:
    """By target, newest first: runs until one target has as many as are asked for, some before them; whether there are
    more.
    """
    wanted = _known_targets(store, suite_name, request.targets)
    found: ByTarget = {}
    before: ByTarget = {}
    number_before, has_earlier = 0, False
    for outline in store.outlines(suite_name, request.most_cases):
        if wanted and outline.variant not in wanted:
            continue
        is_full = len(found.get(outline.variant, ())) == request.limit
        if not (number_before or is_full or outline.created_at < since):
            found.setdefault(outline.variant, []).append(outline)
            continue
        has_earlier = has_earlier or outline.created_at >= since
        if number_before == READ_BEFORE:
            break
        before.setdefault(outline.variant, []).append(outline)
        number_before += 1
    return found, before, has_earlier


def _known_targets(store: Store, suite_name: str, targets: Collection[str]) -> frozenset[str]:
    if targets:
        known = store.variants(suite_name, ALL_TARGETS)
        for target in targets:
            if target not in known:
                raise UnknownName("target of finished runs", target, sorted(known))
    return frozenset(targets)


def _flaky(store: Store, suite_name: str, runs: Sequence[RunOutline]) -> list[FlakyCase]:
    """Of the newest run that counts, judging by comparable ones before it, too."""
    newest = next((run for run in runs if not is_gap(run.report)), None)
    if newest is None or newest.report is None:
        return []
    return flaky_cases(newest.report, comparable_to_stored(store, suite_name, newest.id))


def _present_cases(store: Store, suite_name: str, runs: list[RunOutline]) -> frozenset[str]:
    """The cases that the suite has now; read only where a newest run misses some, since a suite may be large."""
    asked = [{case.case_id for case in run.report.cases} for run in runs if run.report is not None]
    ever = frozenset().union(*asked)
    if all(len(ids) == len(ever) for ids in asked if ids):
        return ever
    registered = store.registered_suite(suite_name)
    return frozenset(case.id for case in registered.suite.cases) if registered else frozenset()
