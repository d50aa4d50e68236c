"""Analyse items: what the newest runs of several targets say about the cases of a run. Only counts are read."""

from __future__ import annotations

from itertools import islice

from evalharness.contracts.store import Store
from evalharness.domain.item_analysis import CaseItem, ItemAnalysis
from evalharness.domain.run import Run
from evalharness.domain.specification import BUILT_IN
from evalharness.stats.items import FEWEST_TARGETS, Item, item_analysis

LOOKED_BACK = 100
MOST_TRIALS = 200_000
"""Of all runs looked at, whether they count or not: what a run costs to read grows with it."""


def with_items(store: Store, run: Run) -> Run:
    """The run's report with its items; as it is where there are too few targets."""
    items = analyse_items(store, run) if run.report is not None else None
    if run.report is None or items is None:
        return run
    return run.model_copy(update={"report": run.report.model_copy(update={"items": items})})


def analyse_items(store: Store, run: Run) -> ItemAnalysis | None:
    """None with fewer than five targets that were asked the same; each counts by its newest run of most cases."""
    if len(store.variants(run.suite.name, LOOKED_BACK)) < FEWEST_TARGETS:
        return None  # known without reading any of them whole
    runs: dict[str, str] = {}
    shares: dict[str, dict[str, float]] = {}
    trials = 0
    for past in islice(store.past_runs(run.suite.name), LOOKED_BACK):
        trials += past.planned
        if trials > MOST_TRIALS:
            break
        same = {case_id for case_id, lock in run.lock.cases.items() if past.key(case_id) == lock.key}
        known = len(shares.get(past.variant, ()))
        if past.kind in BUILT_IN or past.is_sequential or len(same) <= known:
            continue
        judged = store.judged(past.id)
        found = {case_id: passed / count for case_id, (count, passed) in judged.items() if case_id in same}
        if len(found) > known:
            runs[past.variant], shares[past.variant] = past.name, found
    analysis = item_analysis(list(shares.values()))
    if analysis is None:
        return None
    items = {item.case: item for item in analysis.items}
    cases = tuple(_case_item(items[case_id]) for case_id in run.lock.cases if case_id in items)
    return ItemAnalysis(cases=cases, reliability=analysis.reliability, runs=runs)


def _case_item(item: Item) -> CaseItem:
    return CaseItem(
        case_id=item.case,
        difficulty=item.difficulty,
        discrimination=item.discrimination,
        targets=item.targets,
        flag=item.flag or "",
    )
