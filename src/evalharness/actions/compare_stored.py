"""Compare two runs or baselines of the store for those who look at it from elsewhere: their words never name a file."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.comparison import Comparison
from evalharness.domain.reported_run import ReportedComparison
from evalharness.errors import UnknownName
from evalharness.steps.compare_reports import compare_reports, with_gates
from evalharness.steps.find_reports import found_runs
from evalharness.steps.find_runs import counted_back, named_baseline
from evalharness.steps.report_runs import compared_case, compared_reports


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison: a run, or the runs of a baseline, which then is its `source`."""

    run_ids: tuple[str, ...]
    suite_name: str
    source: str = ""


async def find_sides(context: Context, old: str, new: str) -> tuple[ComparedSide, ComparedSide]:
    """Raises UnknownName for what is neither a run nor a baseline.

    The name of a baseline that several suites use means that of the other side's suite.
    """
    store = context.store
    found = [_run(reference, store) for reference in (old, new)]
    suites = {side.suite_name for side in found if side}
    meant = suites.pop() if len(suites) == 1 else None
    before, now = (
        side or _baseline(reference, store, meant) for side, reference in zip(found, (old, new), strict=True)
    )
    return before, now


def _run(reference: str, store: Store) -> ComparedSide | None:
    try:
        line = store.overview(reference).line
    except UnknownName:
        run_id = counted_back(reference, store)
        if run_id is None:
            return None
        line = store.overview(run_id).line
    return ComparedSide((line.id,), line.suite_name)


def _baseline(name: str, store: Store, suite_name: str | None) -> ComparedSide:
    is_known = suite_name is not None and store.baseline(suite_name, name) is not None
    found = named_baseline(name, store, suite_name if is_known else None)
    if found is None:
        raise UnknownName("run or baseline", name, [each.name for each in store.baselines()])
    return ComparedSide(found.run_ids, found.suite_name, f"baseline {found.name}")


async def compare_sides(context: Context, old: ComparedSide, new: ComparedSide) -> ReportedComparison:
    """What was asked is left out, since the runs may be large."""
    store = context.store
    before, now = (found_runs(side.run_ids, store, side.source) for side in (old, new))
    [comparison] = compare_reports(before, with_gates([now.alone], store), {}, store, context.today)
    return compared_reports(comparison, before.report, now.report, store)


async def open_compared_case(context: Context, comparison: Comparison, case_id: str) -> ReportedComparison:
    """Of one case what was asked and answered; of the reports, their beginning."""
    return compared_case(comparison, context.store, case_id)
