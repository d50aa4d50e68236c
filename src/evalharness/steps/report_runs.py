"""Hand stored runs, and comparisons of them, to reporters: what they need of the store is read while they write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.comparison import ComparedRun, Comparison
from evalharness.domain.finding import Finding
from evalharness.domain.report import Report
from evalharness.domain.reported_run import ReportedComparison, ReportedRun
from evalharness.domain.run import Run
from evalharness.engine.planning.planned_cases import asked_case
from evalharness.errors import UnknownName
from evalharness.steps.find_reports import report_of


def reported_run(run: Run, store: Store, report: Report | None = None) -> ReportedRun:
    """`report` is given where it is not the run's own: one that a gate judged."""
    shown = report or run.report or report_of(store.outline(run.id), store)
    compared = shown.comparison
    before = _stored(compared.old, store) if compared and compared.old.run_id != run.id else None
    return replace(_reported(run, shown, store), before=before, divergences=partial(_divergences, run, shown, store))


def reported_comparisons(comparisons: Iterable[Comparison], store: Store) -> list[ReportedComparison]:
    return [ReportedComparison(each, _stored(each.old, store), _stored(each.new, store)) for each in comparisons]


def stored_run(run_id: str, store: Store) -> ReportedRun:
    """With its report as it was kept, without what was asked: it may be large."""
    return _reported(store.part_of(run_id), report_of(store.outline(run_id), store), store)


def compared_reports(comparison: Comparison, old: Report, new: Report, store: Store) -> ReportedComparison:
    """Without what was asked: the runs may be large."""
    before, now = (_reported(store.part_of(each.metadata.run_id), each, store) for each in (old, new))
    return ReportedComparison(comparison, before, now)


def compared_case(comparison: Comparison, store: Store, case_id: str) -> ReportedComparison:
    """Of this case alone it can be read what was asked; the reports are brief."""
    old, new = (_part(each, store, case_id) for each in (comparison.old, comparison.new))
    return ReportedComparison(comparison, old, new)


def _part(compared: ComparedRun, store: Store, case_id: str) -> ReportedRun | None:
    try:
        run = store.part_of(compared.run_id, [case_id])
    except UnknownName:
        return None
    report = store.overview(run.id).report or report_of(store.outline(run.id), store)
    return _reported(run, report, store)


def _stored(compared: ComparedRun, store: Store) -> ReportedRun | None:
    """None where the run is known from a file alone, or was removed."""
    try:
        run = store.find_run(compared.run_id)
    except UnknownName:
        return None
    return _reported(run, report_of(store.outline(run.id), store), store)


def _reported(run: Run, report: Report, store: Store) -> ReportedRun:
    asked, trials_of = partial(_asked, run), partial(store.trials, run.id)
    if run.trials:
        return ReportedRun(report, run, partial(tuple, run.trials), asked, trials_of)
    return ReportedRun(report, run, trials_of, asked, trials_of, outcomes=partial(store.outcomes, run.id))


def _divergences(run: Run, report: Report, store: Store) -> dict[str, Finding]:
    """Only where all runs are stored here: a file holds no transcripts."""
    compared = report.comparison
    before = [_stored(each, store) for each in compared.before] if compared else []
    ids = [each.run.id for each in before if each and each.run and each.run.id != run.id]
    if compared is None or not ids:
        return {}
    from evalharness.steps.find_divergences import find_divergences  # slow to load: few runs are compared

    return find_divergences(ids, run.id, compared.cases, store)


def _asked(run: Run) -> Iterator[Case]:
    return (asked_case(run, case) for case in run.suite.cases)
