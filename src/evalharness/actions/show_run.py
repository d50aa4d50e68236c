"""Show what is stored: a run as it is now, or some of its cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.report import REPORT_FORMAT, CaseState
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec
from evalharness.domain.trial import Trial
from evalharness.engine.measuring.trial_counts import CaseTally
from evalharness.engine.planning.planned_cases import asked_case
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_outline, find_run
from evalharness.steps.make_report import case_histories, measured_trials, with_report


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case with its variables filled in, its state, its graders and finished trials, and its earlier runs."""

    case: Case
    state: CaseState
    graders: tuple[GraderSpec, ...]
    trials: tuple[Trial, ...]
    history: CaseHistory


async def show_run(context: Context, reference: str) -> Run:
    """A run by id or name, with its report recomputed from its trials."""
    return with_report(context, find_run(reference, context.store))


async def show_kept(context: Context, words: Sequence[str]) -> ReportedRun | None:
    """A run with the report that it was left with, and without its cases: of any size, it is read at once.

    It has no history and no advice. None where it cannot be shown so: trials were written since, people or judges have
    to grade some, a selftest has marked the suite, or words name cases.
    """
    store = context.store
    try:
        found = find_outline(words[0] if words else "latest", store) if len(words) < 2 else None
    except UnknownName:
        return None
    report = found.report if found else None
    if found is None or report is None or not report.cases or report.metadata.format != REPORT_FORMAT:
        return None
    if report.awaited or report.reviews or store.case_marks(found.suite_name):
        return None
    return ReportedRun(report, store.part_of(found.id))


async def find_shown(context: Context, words: Sequence[str]) -> tuple[Run, tuple[str, ...]]:
    """The run and the cases that words name: a run, then cases; else cases of the newest run, which no word names."""
    store = context.store
    if not words:
        return with_report(context, find_run("latest", store)), ()
    try:
        return with_report(context, find_run(words[0], store)), tuple(words[1:])
    except UnknownName as error:
        if store.nth_newest(1, None) is None:
            raise
        newest = find_run("latest", store)
        if _case_named(newest, words[0]) is None:
            names = [*error.choices, *(case.id for case in newest.suite.cases)]
            raise UnknownName("run or case", words[0], names) from None
    return with_report(context, newest), tuple(words)


async def show_cases(context: Context, run: Run, names: Sequence[str]) -> list[ShownCase]:
    """Each name is an id, else a name."""
    chosen: dict[str, Case] = {}
    for name in names:
        case = _case_named(run, name)
        if case is None:
            raise UnknownName(f"case in run {run.name}", name, [case.id for case in run.suite.cases])
        chosen[case.id] = case
    return _shown(context, run, chosen.values(), measured_trials(context.store, run).tallies)


async def show_failed_cases(context: Context, run: Run) -> list[ShownCase]:
    """Those with a failed trial, even if others are pending, or with an error and not passed."""
    tallies = measured_trials(context.store, run).tallies
    return _shown(context, run, [case for case in run.suite.cases if _is_failed(run, tallies[case.id])], tallies)


def _is_failed(run: Run, tally: CaseTally) -> bool:
    is_passed = tally.state(run.suite.case_threshold) == "passed"
    return tally.failed > 0 or (tally.error > 0 and not is_passed)


def _shown(context: Context, run: Run, cases: Iterable[Case], tallies: Mapping[str, CaseTally]) -> list[ShownCase]:
    histories = case_histories(context.store, run)
    return [
        ShownCase(
            case=(asked := asked_case(run, case)),
            state=tallies[case.id].state(run.suite.case_threshold),
            graders=run.suite.graders_for(asked),
            trials=tuple(context.store.trials(run.id, case.id)),
            history=histories[case.id],
        )
        for case in cases
    ]


def _case_named(run: Run, name: str) -> Case | None:
    cases = run.suite.cases
    by_id = next((case for case in cases if case.id == name), None)
    return by_id or next((case for case in cases if case.name == name), None)
