"""Verified report: every figure of a report computed again from its trials, or from its cases. Pure.

What cannot follow from what the report holds is believed, and reported as such. Where reports and rows come from is
decided in `actions/verify_report.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, finding
from evalharness.domain.finding_codes import Code
from evalharness.domain.measurement import EARLIER_METHOD, Measurement
from evalharness.domain.record import Record
from evalharness.domain.report import Failure, Mismatch, Report, Verified
from evalharness.domain.sequential import SequentialPlan
from evalharness.domain.suite import Suite
from evalharness.domain.trial import TRIAL_STATES, Outcome
from evalharness.engine.gating.threshold_checks import Counted
from evalharness.engine.measuring.measurements import measure
from evalharness.engine.measuring.summary import case_results, error_bounds, failures, summarise, unjudged
from evalharness.engine.measuring.trial_counts import Measured, count_trials
from evalharness.engine.running.sequential_decision import error_bounds_of, follow, measured_sequentially
from evalharness.engine.verifying.reported_comparison import believed_of_comparison, recompare
from evalharness.engine.verifying.reported_counts import reported_suite, reported_trials
from evalharness.engine.verifying.reported_verdict import COSTS, Judged, rejudge, reported_gate, unread_checks
from evalharness.stats.flip_rate import flip_rate

CLOSE_S = 1e-6
"""Durations of trials are reported with six decimals; every other figure must agree to the last bit or so."""
CLOSE = 1e-12
NOT_IN_CASES = (
    "summary.by_grader.",
    "measurements.score.n_trials",
    "measurements.cost_usd.n_trials",
    "cost_usd",
    "input_tokens",
    "output_tokens",
    "sequential.",
    "session_comparison.",
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
    "believed.histories",
)
_TRIALS: tuple[Code, ...] = (
    "believed.answers",
    "believed.grades",
    "believed.seeds",
    "believed.unjudged_durations",
)
"""Of the trials in a file; those of a store are checked against their attempts."""
_NOT_IN_CASES: tuple[Code, ...] = (
    "believed.cases",
    "believed.grades_and_tokens",
    "believed.trials_of_failures",
)
FIGURES_SINCE = {1: re.compile(r"summary\.by_difficulty\..*|cases\..*\.difficulty", re.DOTALL)}
"""Figures that reports have only since this `REPORT_FORMAT`: that an earlier one lacks them is no difference."""
METHODS_SINCE = {2: re.compile(r"comparison\.(critical|differences\.\w+)\.detectable(_from|_unknown)?")}
"""Figures that are computed differently since this `REPORT_FORMAT`: in earlier reports they are not checked."""
OUTLINE = ("weight", "cluster", "category", "criticality", "topic", "difficulty")
MIXED = ("skipped", "awaiting", "pending")


def verify_report(
    report: Report, outcomes: Iterable[Outcome], suite: Suite | None = None, comparison: Comparison | None = None
) -> Verified:
    """`suite` is that of the run, if it is at hand: else as much of it is believed as the report tells.

    Of its gate's quarantine, it holds what counted when that judged. `comparison` is that with its baseline, made
    again.
    """
    known = reported_suite(report) if suite is None else suite
    rows, odd = _sound_rows(known, report.metadata.trials_per_case, outcomes)
    reported = {case.case_id: case.figures or () for case in report.cases}
    figures_of = None if suite else lambda case: reported[case.id]
    measured = count_trials(known, report.metadata.trials_per_case, rows, figures_of)
    ids = [case.id for case in known.cases]
    plan = report.sequential.plan if report.sequential else None
    decided = follow(plan, ids, report.metadata.trials_per_case, rows) if plan else None
    found = _recomputed(report.model_copy(update={"sequential": decided}), known, measured)
    counted = Counted(known, report.metadata.trials_per_case, measured)
    gate = suite.gate if suite else reported_gate(report, counted)
    unread = () if suite else _of_checks(unread_checks(report))
    of_file = () if suite else (*_of_file(report), *map(finding, _TRIALS))
    compared = [*_compared(report, found), *recompare(report, comparison), *rejudge(report, counted, gate, comparison)]
    compared += [*_consistent(report), *(_as_in_suite(report, found) if suite else ())]
    checked = [each for each in compared if not _is_later(report, each)]
    later = [finding("believed.later_figures")] if len(checked) < len(compared) else []
    return Verified(
        figures=len(checked),
        rows=len(rows),
        mismatches=(*odd, *_mismatches(checked)),
        believed=(*of_file, *unread, *later, *_believed(report, comparison)),
    )


def _is_later(report: Report, judged: Judged) -> bool:
    """Whether a figure cannot agree because the report was written before reports had it, or had it in this way."""
    figure, reported, found = judged
    is_lacking = reported in (None, "") and found not in (None, "")
    unknown = [*METHODS_SINCE.items(), *(FIGURES_SINCE.items() if is_lacking else ())]
    return any(since > report.metadata.format and pattern.fullmatch(figure) for since, pattern in unknown)


def verify_cases(report: Report) -> Verified:
    """Of a report without its trials: what follows from its cases."""
    later = [finding("believed.later_answers")] if report.metadata.retry_failed else []
    older = tuple(_missing_in_older(report))
    later += [finding("believed.lacking")] if older else []
    decided = [finding("believed.sequential_decision")] if report.sequential else []
    unstated = list(dict.fromkeys((*_unreported_checks(report), *unread_checks(report))))
    cases = map(finding, _NOT_IN_CASES)
    believed = (*cases, *decided, *later, *_of_checks(unstated), *_of_file(report), *_believed(report))
    rows = len(report.cases)
    if odd := list(_odd_cases(report)):
        return Verified(figures=len(odd), rows=rows, basis="cases", mismatches=tuple(odd), believed=believed)
    suite, measured = reported_suite(report), reported_trials(report)
    counted = Counted(suite, report.metadata.trials_per_case, measured)
    found = [*_compared(report, _recomputed(report, suite, measured)), *recompare(report, None)]
    found += [*rejudge(report, counted, reported_gate(report, counted), None, unstated), *_consistent(report)]
    follows = _follows_from_first_answers if report.metadata.retry_failed else _follows_from_cases
    compared = [each for each in found if follows(each[0]) and each[0] not in older]
    trials = report.summary.trials
    reported = sum(number for state, number in trials if state != "planned")
    compared.append(("summary.trials, added up", reported, trials.planned))
    wrong = tuple(_mismatches(compared))
    return Verified(figures=len(compared), rows=rows, basis="cases", mismatches=wrong, believed=believed)


def _unreported_checks(report: Report) -> Iterator[str]:
    """What a gate checked that cases do not tell: which of their trials were skipped.

    Nor which had no score or no cost, in a report that was written before they told it.
    """
    priced = report.measurements.get("cost_usd")
    reported = sum(case.trials - case.unpriced for case in report.cases if case.cost_usd is not None)
    lacks_costs = priced is not None and priced.n_trials < reported
    scored = report.measurements.get("score")
    unscored = sum(case.unscored for case in report.cases if case.weight > 0)
    lacks_scores = scored is not None and scored.lacking > unscored
    waiting = [case for case in report.cases if case.state == "awaiting"]
    unjudged = sum(report.metadata.trials_per_case - case.trials - case.errors for case in waiting)
    is_mixed = report.summary.trials.awaiting < unjudged
    unstated = {
        *(COSTS if lacks_costs else ()),
        *(("score",) if lacks_scores else ()),
        *(("each_case",) if is_mixed else ()),
    }
    for check in report.gate.checks if report.gate else ():
        if check.name.partition(" ")[0] in unstated:
            yield check.name


def _missing_in_older(report: Report) -> Iterator[str]:
    """Figures that follow from cases only where these say which of their trials lack something."""
    if not any(case.unscored for case in report.cases):
        yield "measurements.score.lacking"
    if not any(case.unpriced for case in report.cases):
        yield "measurements.cost_usd.lacking"


def _odd_cases(report: Report) -> Iterator[Mismatch]:
    for case in report.cases:
        lacking = max(case.unscored, case.unpriced)
        if not 0 <= case.passed <= case.trials or case.errors < 0 or lacking > case.trials:
            counts = {"passed": case.passed, "trials": case.trials, "errors": case.errors}
            impossible = finding("verify.impossible", "error")
            yield Mismatch(
                figure=f"cases.{case.case_id}", reported=finding("verify.counts", **counts), found=impossible
            )


def _follows_from_cases(figure: str) -> bool:
    """Which of the unjudged trials were skipped is not reported by their case."""
    if figure.startswith(("cases.", "failures.", "unjudged.")):
        return figure.endswith(".state")
    if figure.endswith(".basis"):  # how many trials have a score
        return False
    return not figure.startswith((*NOT_IN_CASES, *(f"summary.trials.{state}" for state in MIXED)))


def _follows_from_first_answers(figure: str) -> bool:
    kinds = ("metrics.pass_at", "metrics.pass_hat", "measurements.pass_at", "measurements.pass_hat")
    return figure.startswith((*kinds, "flaky.", "comparison."))


def verify_records(reported: Record, found: Record, names: Iterable[str], prefix: str) -> Verified:
    """Figures that are kept in two places; an older report may not have them all."""
    known = [name for name in names if getattr(reported, name) is not None]
    compared = [(f"{prefix}.{name}", getattr(reported, name), getattr(found, name)) for name in known]
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
            odd.append(Mismatch(figure=f"trials.{row.case_id}#{row.trial_index + 1}", reported=row.state, found=what))
        else:
            sound.append(row)
    return sound, odd


def _recomputed(report: Report, suite: Suite, measured: Measured) -> Report:
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


def _compared(reported: Report, found: Report) -> Iterator[Judged]:
    old, new = dict(reported_figures(reported)), dict(reported_figures(found))
    earlier = {f"{place}.{name}" for place in _earlier_intervals(reported) for name in _INTERVAL}
    for kind, cases in (("failures", reported.failures), ("unjudged", reported.unjudged)):
        earlier |= {f"{kind}.{case.eval_id}.trials" for case in cases if not case.trials}  # not reported at that time
    yield from ((name, old.get(name), new.get(name)) for name in dict.fromkeys((*old, *new)) if name not in earlier)


def _earlier_intervals(report: Report) -> Iterator[str]:
    """Where the report has an interval that is no longer made that way, so it cannot be made again."""
    for place, measurement in _measurements(report):
        if measurement.is_of_earlier_version:
            yield place


def _as_in_suite(reported: Report, found: Report) -> Iterator[Judged]:
    """What the suite says of each case."""
    known = {case.case_id: case for case in found.cases}
    for case in reported.cases:
        if case.case_id in known:
            for name in OUTLINE:
                yield f"cases.{case.case_id}.{name}", getattr(case, name), getattr(known[case.case_id], name)
    for kind, told, made in (
        ("failures", reported.failures, found.failures),
        ("unjudged", reported.unjudged, found.unjudged),
    ):
        names = {case.eval_id: case.name for case in made}
        yield from ((f"{kind}.{case.eval_id}.name", case.name, names.get(case.eval_id)) for case in told)


def _consistent(report: Report) -> Iterator[Judged]:
    """Of what rests on other runs too, that it does not contradict itself."""
    yield "metadata.sequential", report.metadata.sequential, report.sequential is not None
    for flaky in report.flaky:
        fits = 0 <= flaky.passed <= flaky.trials
        rate = flip_rate(flaky.trials, flaky.passed) if fits else None
        yield f"flaky.{flaky.case_id}.flip_rate", flaky.flip_rate, rate


def _mismatches(compared: Iterable[Judged]) -> Iterator[Mismatch]:
    for figure, reported, found in compared:
        if not _same(figure, reported, found):
            yield Mismatch(figure=figure, reported=reported, found=found)


def _same(figure: str, reported: Any, found: Any) -> bool:
    """A sentence that an older version wrote is believed: it is not known what it was made of."""
    if isinstance(reported, Finding):
        if reported.code == "text" or not isinstance(found, Finding):
            return reported.code == "text"
        return reported.code == found.code and _same(figure, reported.params, found.params)
    if isinstance(reported, list) and isinstance(found, list):
        return len(reported) == len(found) and all(_same(figure, *each) for each in zip(reported, found, strict=True))
    if isinstance(reported, Mapping) and isinstance(found, Mapping):
        return reported.keys() == found.keys() and all(_same(figure, reported[key], found[key]) for key in reported)
    if isinstance(reported, float | int) and isinstance(found, float | int):
        is_time = figure.endswith("_s") or "latency_s." in figure
        return math.isclose(reported, found, rel_tol=1e-9, abs_tol=CLOSE_S if is_time else CLOSE)
    return bool(reported == found)


def _of_checks(checks: Sequence[str]) -> tuple[Finding, ...]:
    return (finding("believed.checks", checks=list(checks)),) if checks else ()


def _of_file(report: Report) -> Iterator[Finding]:
    yield from map(finding, _FILE)
    if report.reviews is not None:
        yield finding("believed.reviews")
    if report.gate:
        yield finding("believed.gate")


def _believed(report: Report, comparison: Comparison | None = None) -> Iterator[Finding]:
    yield from map(finding, _ALWAYS)
    if any(_earlier_intervals(report)):
        yield finding("believed.earlier_intervals", method=EARLIER_METHOD)
    if not report.cases:
        yield finding("believed.lost_cases")
    if report.comparison is not None:
        yield finding("believed.comparison_rule")
        if report.comparison.flips is not None and report.comparison.flips.past:
            yield finding("believed.past_answers")
    if report.comparison is not None and comparison is None:
        yield from believed_of_comparison(report.comparison)
    if report.sequential is not None:
        yield finding("believed.sequential_plan")
    if report.judging:
        yield finding("believed.judging")
    if report.flaky or report.items is not None or (report.comparison and report.comparison.flip_alarm):
        yield finding("believed.other_runs")
    if report.selftest is not None:
        yield finding("believed.selftest")


# Reported figures: every number that a report shows, by name, as far as it follows from the trials.

Figure: TypeAlias = tuple[str, Any]
_INTERVAL = ("low", "high", "method", "n_eff")
_MEASURED = ("value", "low", "high", "level", "method", "n_cases", "n_trials", "n_eff", "lacking")
_GROUPS = ("by_category", "by_topic", "by_difficulty", "by_grader")
_COUNTED = (
    *("trials", "passed", "errors", "state", "score", "duration_s", "longest_s", "cost_usd", "dearest_usd"),
    *("unscored", "least_score", "unpriced"),
)


def reported_figures(report: Report) -> Iterator[Figure]:
    yield from _summary(report)
    yield from ((f"metrics.{name}", value) for name, value in report.metrics.items() if value is not None)
    for place, measurement in _measurements(report):
        yield from ((f"{place}.{key}", getattr(measurement, key)) for key in _MEASURED)
    for name, value in report.error_bounds or ():
        yield f"error_bounds.{name}", value
    for case in report.cases:
        yield from ((f"cases.{case.case_id}.{name}", getattr(case, name)) for name in _COUNTED)
        yield from ((f"cases.{case.case_id}.figures.{name}", value) for name, value in (case.figures or {}).items())
    for name, value in report.sequential or ():
        if name not in SequentialPlan.model_fields:
            yield f"sequential.{name}", value
    yield from _listed("failures", report.failures)
    yield from _listed("unjudged", report.unjudged)
    yield from ((name, getattr(report, name)) for name in ("cost_usd", "input_tokens", "output_tokens"))


def _measurements(report: Report) -> Iterator[tuple[str, Measurement]]:
    yield from ((f"measurements.{name}", measurement) for name, measurement in report.measurements.items())
    for kind in _GROUPS:
        for name, group in getattr(report.summary, kind).items():
            if group.measurement is not None:
                yield f"summary.{kind}.{name}.measurement", group.measurement


def _summary(report: Report) -> Iterator[Figure]:
    named = ((name, value) for name, value in report.summary if name not in (*_GROUPS, "trials"))
    yield from ((f"summary.{name}", value) for name, value in named)
    yield from ((f"summary.trials.{name}", value) for name, value in report.summary.trials)
    for kind in _GROUPS:
        for name, group in getattr(report.summary, kind).items():
            yield from ((f"summary.{kind}.{name}.{key}", value) for key, value in group if key != "measurement")


def _listed(name: str, cases: tuple[Failure, ...]) -> Iterator[Figure]:
    """A case's history is no part of its run."""
    for case in cases:
        yield f"{name}.{case.eval_id}.state", case.state
        yield f"{name}.{case.eval_id}.trials", list(case.trials)
        yield from ((f"{name}.{case.eval_id}.{key}", case.details[key]) for key in TRIAL_STATES if key in case.details)
