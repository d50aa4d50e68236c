"""Verifying: every figure of a report computed anew from its trials, or from its cases. Pure: differences come out.

What cannot follow from what the report holds is believed, and told as such. Where reports and rows come from is
decided in `actions/verify_report.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, finding
from evalharness.domain.finding_codes import Code
from evalharness.domain.record import Record
from evalharness.domain.report import Report
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.domain.verified import Mismatch, Verified
from evalharness.engine.measuring import measure
from evalharness.engine.recomparing import believed_of_comparison, recompare
from evalharness.engine.recounting import suite_told, trials_told
from evalharness.engine.rejudging import COSTS, Judged, gate_told, rejudge, unread_checks
from evalharness.engine.reported_figures import reported_figures
from evalharness.engine.stopping import error_bounds_of, follow, measured_sequentially
from evalharness.engine.summarising import case_results, error_bounds, failures, summarise, unjudged
from evalharness.engine.tallying import Measured, count_trials
from evalharness.engine.thresholding import Counted
from evalharness.stats.flips import flip_rate

CLOSE_S = 1e-6
"""Durations of trials are told with six decimals; every other figure must agree to the last bit or so."""
CLOSE = 1e-12
NOT_IN_CASES = (
    "summary.by_grader.",
    "measurements.score.n_trials",
    "measurements.cost_usd.n_trials",
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "sequential.",
)
_ALWAYS: tuple[Code, ...] = (
    "believed.words",
    "believed.slowest_trials",
    "believed.attempts",
    "believed.environment",
)
_FILE: tuple[Code, ...] = (
    "believed.suite",
    "believed.run",
    "believed.duration",
)
_UNTOLD_BY_CASES: tuple[Code, ...] = (
    "believed.cases",
    "believed.grades_and_tokens",
    "believed.trials_of_failures",
)
OUTLINE = ("weight", "cluster", "category", "criticality", "topic")
MIXED = ("skipped", "awaiting", "pending")


def verify_report(
    report: Report, outcomes: Iterable[Outcome], suite: Suite | None = None, comparison: Comparison | None = None
) -> Verified:
    """`suite` is that of the run, if it is at hand: else as much of it is believed as the report tells.

    Of its gate's quarantine, it holds what counted when that judged. `comparison` is that with its baseline, made anew.
    """
    known = suite_told(report) if suite is None else suite
    rows, odd = _sound_rows(known, report.metadata.trials_per_case, outcomes)
    measured = count_trials(known, report.metadata.trials_per_case, rows)
    ids = [case.id for case in known.cases]
    plan = report.sequential.plan if report.sequential else None
    decided = follow(plan, ids, report.metadata.trials_per_case, rows) if plan else None
    found = _anew(report.model_copy(update={"sequential": decided}), known, measured)
    counted = Counted(known, report.metadata.trials_per_case, measured)
    gate = suite.gate if suite else gate_told(report, counted)
    unread = () if suite else _of_checks(unread_checks(report))
    compared = [*_compared(report, found), *recompare(report, comparison), *rejudge(report, counted, gate, comparison)]
    compared += [*_consistent(report), *(_as_in_suite(report, found) if suite else ())]
    return Verified(
        figures=len(compared),
        rows=len(rows),
        mismatches=(*odd, *_mismatches(compared)),
        believed=(*(() if suite else _of_file(report)), *unread, *_believed(report, comparison)),
    )


def verify_cases(report: Report) -> Verified:
    """Of a report without its trials: what follows from its cases."""
    later = [finding("believed.later_answers")] if report.metadata.retry_failed else []
    decided = [finding("believed.sequential_decision")] if report.sequential else []
    untold = list(dict.fromkeys((*_checks_untold(report), *unread_checks(report))))
    cases = map(finding, _UNTOLD_BY_CASES)
    believed = (*cases, *decided, *later, *_of_checks(untold), *_of_file(report), *_believed(report))
    rows = len(report.cases)
    if odd := list(_odd_cases(report)):
        return Verified(figures=len(odd), rows=rows, basis="cases", mismatches=tuple(odd), believed=believed)
    suite, measured = suite_told(report), trials_told(report)
    counted = Counted(suite, report.metadata.trials_per_case, measured)
    found = [*_compared(report, _anew(report, suite, measured)), *recompare(report, None)]
    found += [*rejudge(report, counted, gate_told(report, counted), None, untold), *_consistent(report)]
    follows = _follows_from_first_answers if report.metadata.retry_failed else _follows_from_cases
    older = tuple(_untold_by_older(report))
    compared = [each for each in found if follows(each[0]) and each[0] not in older]
    trials = report.summary.trials
    told = sum(number for state, number in trials if state != "planned")
    compared.append(("summary.trials, added up", told, trials.planned))
    wrong = tuple(_mismatches(compared))
    return Verified(figures=len(compared), rows=rows, basis="cases", mismatches=wrong, believed=believed)


def _checks_untold(report: Report) -> Iterator[str]:
    """What a gate checked that cases do not tell: which of their trials were skipped.

    Nor which had no score or no cost, in a report that was written before they told it.
    """
    priced = report.measurements.get("cost_usd")
    told = sum(case.trials - case.unpriced for case in report.cases if case.cost_usd is not None)
    lacks_costs = priced is not None and priced.n_trials < told
    scored = report.measurements.get("score")
    unscored = sum(case.unscored for case in report.cases if case.weight > 0)
    lacks_scores = scored is not None and scored.lacking > unscored
    waiting = [case for case in report.cases if case.state == "awaiting"]
    unjudged = sum(report.metadata.trials_per_case - case.trials - case.errors for case in waiting)
    is_mixed = report.summary.trials.awaiting < unjudged
    untold = {
        *(COSTS if lacks_costs else ()),
        *(("score",) if lacks_scores else ()),
        *(("each_case",) if is_mixed else ()),
    }
    for check in report.gate.checks if report.gate else ():
        if check.name.partition(" ")[0] in untold:
            yield check.name


def _untold_by_older(report: Report) -> Iterator[str]:
    """Figures that follow from cases only where these say which of their trials lack something."""
    if not any(case.unscored for case in report.cases):
        yield "measurements.score.lacking"
    if not any(case.unpriced for case in report.cases):
        yield "measurements.cost_usd.lacking"


def _odd_cases(report: Report) -> Iterator[Mismatch]:
    for case in report.cases:
        if not 0 <= case.passed <= case.trials or case.errors < 0:
            counts = {"passed": case.passed, "trials": case.trials, "errors": case.errors}
            impossible = finding("verify.impossible", "error")
            yield Mismatch(figure=f"cases.{case.case_id}", told=finding("verify.counts", **counts), found=impossible)


def _follows_from_cases(figure: str) -> bool:
    """Which of the unjudged trials were skipped is not told by their case."""
    if figure.startswith(("cases.", "failures.", "unjudged.")):
        return figure.endswith(".state")
    if figure.endswith(".basis"):  # how many trials have a score
        return False
    return not figure.startswith((*NOT_IN_CASES, *(f"summary.trials.{state}" for state in MIXED)))


def _follows_from_first_answers(figure: str) -> bool:
    kinds = ("metrics.pass_at", "metrics.pass_hat", "measurements.pass_at", "measurements.pass_hat")
    return figure.startswith((*kinds, "flaky.", "comparison."))


def verify_records(told: Record, found: Record, names: Iterable[str], prefix: str) -> Verified:
    """Figures that are kept in two places; an older report may not have them all."""
    known = [name for name in names if getattr(told, name) is not None]
    compared = [(f"{prefix}.{name}", getattr(told, name), getattr(found, name)) for name in known]
    return Verified(figures=len(compared), rows=0, mismatches=tuple(_mismatches(compared)))


def _sound_rows(suite: Suite, trials: int, outcomes: Iterable[Outcome]) -> tuple[list[Outcome], list[Mismatch]]:
    """Trials that were planned, each once; and what is wrong with the others."""
    known = {case.id for case in suite.cases}
    seen: set[tuple[str, int]] = set()
    sound, odd = [], []
    for row in outcomes:
        place = (row.case_id, row.trial_index)
        what = (
            finding("verify.unknown_case", "error")
            if row.case_id not in known
            else finding("verify.duplicate_trial", "error")
            if place in seen
            else finding("verify.unplanned_trial", "error", planned=trials)
            if not 0 <= row.trial_index < trials
            else None
        )
        seen.add(place)
        if what is not None:
            odd.append(Mismatch(figure=f"trials.{row.case_id}#{row.trial_index + 1}", told=row.state, found=what))
        else:
            sound.append(row)
    return sound, odd


def _anew(report: Report, suite: Suite, measured: Measured) -> Report:
    measurements = measure(suite, report.metadata.trials_per_case, measured)
    bounds = error_bounds(suite, measured)
    if report.sequential is not None:
        measurements = measured_sequentially(measurements, report.sequential)
        bounds = error_bounds_of(report.sequential)
    keys: Mapping[str, str] = {}
    return report.model_copy(
        update={
            "summary": summarise(suite, measured),
            "metrics": {name: found.value for name, found in measurements.items()},
            "measurements": measurements,
            "error_bounds": bounds,
            "failures": tuple(failures(suite, measured)),
            "unjudged": tuple(unjudged(suite, measured)),
            "cases": tuple(case_results(suite, keys, measured)) if report.cases else (),
            "cost_usd": measured.cost_usd,
            "input_tokens": measured.input_tokens,
            "output_tokens": measured.output_tokens,
        }
    )


def _compared(told: Report, found: Report) -> Iterator[Judged]:
    old, new = dict(reported_figures(told)), dict(reported_figures(found))
    yield from ((name, old.get(name), new.get(name)) for name in dict.fromkeys((*old, *new)))


def _as_in_suite(told: Report, found: Report) -> Iterator[Judged]:
    """What the suite says of each case."""
    known = {case.case_id: case for case in found.cases}
    for case in told.cases:
        if case.case_id in known:
            for name in OUTLINE:
                yield f"cases.{case.case_id}.{name}", getattr(case, name), getattr(known[case.case_id], name)


def _consistent(report: Report) -> Iterator[Judged]:
    """Of what rests on other runs too, that it does not contradict itself."""
    yield "metadata.sequential", report.metadata.sequential, report.sequential is not None
    for flaky in report.flaky:
        fits = 0 <= flaky.passed <= flaky.trials
        rate = flip_rate(flaky.trials, flaky.passed) if fits else None
        yield f"flaky.{flaky.case_id}.flip_rate", flaky.flip_rate, rate


def _mismatches(compared: Iterable[Judged]) -> Iterator[Mismatch]:
    for figure, told, found in compared:
        if not _same(figure, told, found):
            yield Mismatch(figure=figure, told=told, found=found)


def _same(figure: str, told: Any, found: Any) -> bool:
    """A sentence that an older version wrote is believed: it is not known what it was made of."""
    if isinstance(told, Finding):
        if told.code == "text" or not isinstance(found, Finding):
            return told.code == "text"
        return told.code == found.code and _same(figure, told.params, found.params)
    if isinstance(told, list) and isinstance(found, list):
        return len(told) == len(found) and all(_same(figure, *each) for each in zip(told, found, strict=True))
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return told.keys() == found.keys() and all(_same(figure, told[key], found[key]) for key in told)
    if isinstance(told, float | int) and isinstance(found, float | int):
        is_time = figure.endswith("_s") or "latency_s." in figure
        return math.isclose(told, found, rel_tol=1e-9, abs_tol=CLOSE_S if is_time else CLOSE)
    return bool(told == found)


def _of_checks(checks: Sequence[str]) -> tuple[Finding, ...]:
    return (finding("believed.checks", checks=list(checks)),) if checks else ()


def _of_file(report: Report) -> Iterator[Finding]:
    yield from map(finding, _FILE)
    if report.gate:
        yield finding("believed.gate")


def _believed(report: Report, comparison: Comparison | None = None) -> Iterator[Finding]:
    yield from map(finding, _ALWAYS)
    if not report.cases:
        yield finding("believed.lost_cases")
    if report.comparison is not None:
        yield finding("believed.comparison_rule")
    if report.comparison is not None and comparison is None:
        yield from believed_of_comparison(report.comparison)
    if report.sequential is not None:
        yield finding("believed.sequential_plan")
    if report.judging:
        yield finding("believed.judging")
    if report.flaky or report.items is not None:
        yield finding("believed.other_runs")
