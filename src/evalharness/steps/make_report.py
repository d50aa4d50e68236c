"""Make a report: everything a reader gets about a run, recomputed from its trial rows every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from itertools import islice
from typing import Any, Literal

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory, written_history
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import GateCheck
from evalharness.domain.report import REPORT_FORMAT, CaseItem, ItemAnalysis, Report, RunMetadata, TapedRun
from evalharness.domain.run import Run
from evalharness.domain.selftest import mark_of
from evalharness.domain.specification import BUILT_IN
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED
from evalharness.engine.gating.run_verdict import may_be_gated, run_verdict
from evalharness.engine.gating.threshold_checks import Counted, limit_checks
from evalharness.engine.measuring.measurements import measure, unmeasurable
from evalharness.engine.measuring.recommendations import (
    flaky_cases,
    in_order,
    recall_passes,
    recommend,
    recommend_limits,
    recommend_quarantine,
)
from evalharness.engine.measuring.summary import (
    case_results,
    error_bounds,
    failures,
    slowest_trials,
    summarise,
    unjudged,
)
from evalharness.engine.measuring.trial_counts import Measured, count_trials
from evalharness.engine.planning.planned_cases import lacks_grader
from evalharness.stats.items import FEWEST_TARGETS, Item, item_analysis
from evalharness.steps.apply_gate import apply_gate, decided
from evalharness.steps.count_reviews import run_reviews
from evalharness.steps.find_comparable_runs import comparable_runs

SHOWN_CASES = 5


def finish_run(
    context: Context, run: Run, *, stopped: str, took_s: float, before_s: float = 0.0, notes: tuple[Finding, ...] = ()
) -> Run:
    """A run that has come to an end, or was stopped: its report is kept, and its cases' histories go on.

    Not those of a regrade or of stored artifacts: its cases were not tried again. What several targets say about the
    cases is added by the caller, since runs that were started together are finished one after the other.
    `before_s` is how long it had run already when it was taken up again.
    """
    store, day = context.store, context.today
    measured = measured_trials(store, run)
    if measured.asks_people:
        from evalharness.steps.ask_people import apply_reviews, mark_applied, queue_reviews  # slow to load, seldom used

        notes = (*notes, *queue_reviews(context, run))
        mark_applied(store, apply_reviews(store, run.id))
        measured = measured_trials(store, run)
    report = make_report(run, measured, stopped=stopped, elapsed_s=before_s + took_s, notes=notes)
    report = report.model_copy(update={"reviews": run_reviews(store, run)})
    report = apply_gate(run, _as_stopped(run, report, store), measured, store, day)
    judged = _judged(run, measured)
    finished_at = store.finish(run.id, _storable(report), stopped=stopped, elapsed_s=took_s, judged=judged)
    shown = _with_past(store, run, report, measured, stopped, day)
    return run.model_copy(update={"finished_at": finished_at, "report": shown})


def with_report(context: Context, run: Run) -> Run:
    """A stored run as it stands now; nothing is written."""
    store, day = context.store, context.today
    stopped, elapsed_s = store.progress(run.id)
    notes = run.report.notes if run.report else ()
    measured = measured_trials(store, run)
    report = make_report(run, measured, stopped=stopped, elapsed_s=elapsed_s, notes=notes)
    report = report.model_copy(update={"reviews": run_reviews(store, run)})
    report = _as_judged(run, _as_stopped(run, report, store), measured, store, day)
    return with_items(store, run.model_copy(update={"report": _with_past(store, run, report, measured, stopped, day)}))


def _as_stopped(run: Run, report: Report, store: Store) -> Report:
    if run.options.sequential is None:
        return report
    from evalharness.steps.choose_stopping import apply_stopping  # here: few runs may stop early

    return apply_stopping(run, report, store)


def _as_judged(run: Run, report: Report, measured: Measured, store: Store, day: date) -> Report:
    """With the comparison and by the gate's verdict of the day the run came to its end."""
    kept = run.report
    if kept is not None and kept.gate is None and run.suite.gate is None:
        return report.model_copy(update=_compared(kept))
    if kept is not None and kept.gate is not None and may_be_gated(report.verdict, report.summary):
        return decided(report.model_copy(update=_compared(kept)), kept.gate)
    return apply_gate(run, report, measured, store, day) if run.suite.gate else report


def _compared(kept: Report) -> dict[str, Any]:
    return {
        "comparison": kept.comparison,
        "not_compared": kept.not_compared,
        "session_comparison": kept.session_comparison,
    }


def _storable(report: Report) -> Report:
    """Reports of very many cases keep those of their comparison that changed."""
    if report.comparison is None:
        return report
    return report.model_copy(update={"comparison": report.comparison.storable})


def case_histories(store: Store, run: Run) -> dict[str, CaseHistory]:
    """Of every case of a run, as things stand now; where the store knows nothing, what the file said."""
    written = {case.id: written_history(case) for case in run.suite.cases}
    return written | store.case_histories(run.suite.name, run.variant)


def _overrun(run: Run, report: Report, measured: Measured, stopped: str) -> dict[str, float]:
    """Limits that were gone over: what stopped the run, and those of its gate, whether that was judged or not."""
    trials, gate = report.summary.trials, run.suite.gate
    checks: Iterable[GateCheck] = report.gate.checks if report.gate else ()
    if gate is not None and report.gate is None:
        checks = limit_checks(gate, Counted(run.suite, run.lock.trials, measured))
    over = {check.name: check.wanted for check in checks if check.passed is False and check.wanted is not None}
    return ({stopped: 0.0} if trials.pending or trials.awaiting else {}) | over


def _with_past(store: Store, run: Run, report: Report, measured: Measured, stopped: str, day: date) -> Report:
    """With what runs before this one add. Nothing of it is stored with the report: those runs may be removed."""
    earlier = comparable_runs(store, run)
    flaky = tuple(flaky_cases(report, earlier))
    overrun = _overrun(run, report, measured, stopped)
    limits = recommend_limits(overrun, measured.tallies, report.gate.quarantined if report.gate else ())
    advice = (
        *recall_passes(report.recommendations, earlier),
        *limits,
        *recommend_quarantine(flaky, run.suite.gate, day),
    )
    selftest = mark_of(run.lock.keys, store.case_marks(run.suite.name))
    found = report.model_copy(update={"flaky": flaky, "recommendations": in_order(advice), "selftest": selftest})
    return _with_histories(store, run, found)


def _with_histories(store: Store, run: Run, report: Report) -> Report:
    if not report.failures:
        return report
    known = case_histories(store, run)
    failures = tuple(
        failure.model_copy(update={"details": {**failure.details, **known[failure.eval_id].known}})
        for failure in report.failures
    )
    return report.model_copy(update={"failures": failures})


def _judged(run: Run, measured: Measured) -> Iterator[tuple[Case, bool]]:
    """Errors, skipped and awaiting cases say nothing about a case, and neither do built-in targets."""
    for case in run.suite.cases if run.has_fresh_trials else ():
        state = measured.tallies[case.id].state(run.suite.case_threshold)
        if state in GRADED and not run.target_of(case).is_built_in:
            yield case, state == "passed"


def measured_trials(store: Store, run: Run) -> Measured:
    return count_trials(run.suite, run.lock.trials, store.outcomes(run.id))


def make_report(
    run: Run, measured: Measured, *, stopped: str, elapsed_s: float, notes: tuple[Finding, ...] = ()
) -> Report:
    summary = summarise(run.suite, measured)
    verdict, exit_code, why = run_verdict(summary, run.suite.max_error_rate, stopped, measured.missed)
    measurements = measure(run.suite, run.lock.trials, measured)
    missing = unmeasurable(run.suite, run.lock.trials, measured)
    return Report(
        metadata=RunMetadata(
            suite_name=run.suite.name,
            run_id=run.id,
            run_name=run.name,
            variant=run.variant,
            regrade_of=run.regrade_of,
            timestamp=run.created_at,
            duration_seconds=round(elapsed_s, 3),
            environment=run.environment(),
            format=REPORT_FORMAT,
            trials_per_case=run.lock.trials,
            case_threshold=run.suite.case_threshold,
            max_error_rate=run.suite.max_error_rate,
            retry_failed=run.suite.config.retry_failed,
            taped=_taped(run, measured),
        ),
        verdict=verdict,
        exit_code=exit_code,
        why=why,
        notes=tuple(dict.fromkeys((*notes, *_without_score(measured), *_capped(run, measured)))),
        summary=summary,
        metrics=dict.fromkeys(missing) | {name: found.value for name, found in measurements.items()},
        measurements=measurements,
        error_bounds=error_bounds(run.suite, measured),
        failures=tuple(failures(run.suite, measured)),
        unjudged=tuple(unjudged(run.suite, measured)),
        not_graded=_not_graded(run, measured),
        cases=tuple(case_results(run.suite, run.lock.keys, measured)),
        recommendations=recommend(measured),
        slowest=slowest_trials(measured),
        awaited=tuple(sorted(measured.awaited)),
        cost_usd=measured.cost_usd,
        input_tokens=measured.input_tokens,
        output_tokens=measured.output_tokens,
        judging=tuple(measured.judgings.values()),
    )


def _taped(run: Run, measured: Measured) -> TapedRun | None:
    if run.options.mode == "live":
        return None
    found = measured.replayed
    return TapedRun(
        mode=run.options.mode,
        recording=run.options.recordings,
        recording_name=run.options.recording_name,
        exchanges=found.exchanges,
        answers=found.answers,
        differing=found.differing,
        unasked=found.unasked,
        missed=len(measured.missed),
    )


def _not_graded(run: Run, measured: Measured) -> Finding | None:
    """A run that was to be graded by one type of grader alone says what that left out."""
    grader_type = run.options.grader_type
    if grader_type is None:
        return None
    reason = lacks_grader(grader_type)
    cases = [case.eval_id for case in unjudged(run.suite, measured) if case.reason == reason]
    shown = {"cases": cases[:SHOWN_CASES], "number": len(cases)}
    return finding("run.no_such_grader", "warning", grader_type=grader_type, **shown) if cases else None


def _without_score(measured: Measured) -> Iterator[Finding]:
    lacking = sum(tally.graded - tally.scored for tally in measured.tallies.values())  # others only lack a grade
    if lacking:
        judged = sum(tally.graded for tally in measured.tallies.values())
        yield finding("score.left_out", "warning", lacking=lacking, judged=judged)
    for (grader, instead), (trials, reason) in measured.without_score.items():
        cases = {"cases": list(trials)[:SHOWN_CASES], "number": len(trials)}
        code: Literal["score.missing", "score.zero"] = "score.missing" if instead is None else "score.zero"
        yield finding(code, "warning", grader=grader, trials=trials.total(), **cases, reason=reason)


def _capped(run: Run, measured: Measured) -> Iterator[Finding]:
    if measured.capped:
        yield finding("grades.capped", "warning", trials=measured.capped, run=run.name)


def cases_not_passed(store: Store, runs: Iterable[Run], suite: Suite) -> set[str]:
    """By each case's latest result: `runs` come newest first; runs of one command (a matrix) count together.

    A regrade counts only for cases that it graded as `suite` says: it may have been done with another file.
    """
    graders = {case.id: suite.graders_for(case) for case in suite.cases}
    passed: dict[str, tuple[str, bool]] = {}
    for run in runs:
        by_id = {case.id: case for case in run.suite.cases}
        for case_id, tally in measured_trials(store, run).tallies.items():
            if run.options.sequential and tally.is_skipped:  # it was decided without this case
                continue
            if run.regrade_of and run.suite.graders_for(by_id[case_id]) != graders.get(case_id):
                continue
            matrix_id, so_far = passed.get(case_id, (run.matrix_id, True))
            if matrix_id == run.matrix_id:
                has_passed = tally.state(run.suite.case_threshold) == "passed"
                passed[case_id] = (matrix_id, so_far and has_passed)
    return {case_id for case_id, (_, has_passed) in passed.items() if not has_passed}


# Analyse items: what the newest runs of several targets say about the cases of a run. Only counts are read.

MOST_RUNS = 100
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
    if len(store.variants(run.suite.name, MOST_RUNS)) < FEWEST_TARGETS:
        return None  # known without reading any of them whole
    runs: dict[str, str] = {}
    shares: dict[str, dict[str, float]] = {}
    trials = 0
    for past in islice(store.past_runs(run.suite.name), MOST_RUNS):
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
