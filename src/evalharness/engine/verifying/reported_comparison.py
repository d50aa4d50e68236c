"""Reported comparison: the figures of a report's comparison with its baseline, computed again. Pure.

With the baseline at hand the whole comparison is made again. Without it, a report still tells its own cases and, of the
baseline's, those that changed; all others passed as often as now. So rates, differences and intervals follow, and the
verdict from these and the told p-values. How many trials the baseline had is not reported, so p-values do not follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import CaseChange, Comparison, Difference, Flips
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import GATED, case_changes
from evalharness.engine.comparing.comparison_verdict import (
    deciding_differences,
    interval_of_these,
    joint_verdict,
    shares_error_rate,
    verdict_of,
)
from evalharness.engine.comparing.flips import judge_flips
from evalharness.engine.comparing.metric_difference import metric_differs
from evalharness.engine.comparing.pairs import Pair, weighing
from evalharness.engine.verifying.reported_verdict import Judged
from evalharness.errors import UsageError
from evalharness.stats.between_runs import FEWEST_RUNS
from evalharness.stats.p_values import holm

_NOT_FOLLOWED = ("why", "settle", "notes", "source", "divergence", "flip_alarm")
"""Words, and what rests on runs that may be gone."""
_OWN = ("new", "n_cases", "n_trials_new")
_INTERVAL = ("low", "high", "lower_bound", "interval_method", "interval_formula", "limited_by")
_BOTH = (*_OWN, "old", "value", "level", *_INTERVAL)
_ABOUT_RUN = ("run_id", "run_name", "suite_name", "variant", "timestamp")
_LISTS = ("changed", "added", "removed", "unjudged")
_CHANGED = ("new_passed", "new_trials", "new_score", "delta", "p", "critical", "flipped")


def recompare(report: Report, recomputed: Comparison | None) -> Iterator[Judged]:
    """`recomputed` is the same comparison made once more, where the baseline is at hand."""
    reported = report.comparison
    if reported is None:
        return
    if recomputed is not None:
        old, new = dict(_figures(reported.storable)), dict(_figures(recomputed.storable))
        yield from ((name, old.get(name), new.get(name)) for name in dict.fromkeys((*old, *new)))
        return
    try:
        of_cases = _of_cases(report, reported) if report.cases else ()  # an older store does not keep them
        every = (*_of_run(report, reported), *_of_itself(reported), *of_cases)
        found = {judged[0]: judged for judged in every}  # each is reported once
        yield from found.values()
    except UsageError as error:  # no such counts, scores or levels can be
        yield "comparison", reported.verdict, finding("verify.impossible_because", "error", why=error.message)


def flips_again(comparison: Comparison, reported: Flips) -> Comparison:
    """What earlier runs answered is believed: some of them may have been removed since."""
    return comparison.model_copy(update={"flips": judge_flips(comparison, reported.past)})


def believed_of_comparison(reported: Comparison) -> Iterator[Finding]:
    """What does not follow without the baseline."""
    yield finding("believed.baseline_run")
    yield finding("believed.baseline_trials")
    if _has_spread(reported):
        yield finding("believed.baseline_runs")
    if not reported.tells_all:
        yield finding("believed.baseline_cases")
        yield finding("believed.flips")


def _figures(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    document = comparison.model_dump()
    cases = document.pop("cases")
    yield from _flat("comparison", document)
    for case in cases:  # whose ids may be any word
        yield from _flat(f"comparison.cases.{case['case_id']}", case)


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield place, value
        return
    for key, inner in value.items():
        if key not in _NOT_FOLLOWED:
            yield from _flat(f"{place}.{key}", inner)


def _of_run(report: Report, reported: Comparison) -> Iterator[Judged]:
    """The new side is the report's own run."""
    for name in _ABOUT_RUN:
        yield f"comparison.new.{name}", getattr(reported.new, name), getattr(report.metadata, name)
    yield "comparison.new.source", reported.new.source, ""


def _of_cases(report: Report, reported: Comparison) -> Iterator[Judged]:
    """What follows from the report's own cases, and from those that it lists as changed."""
    rule, changes = reported_rule(reported), {change.case_id: change for change in reported.cases}
    ids = {case.case_id for case in report.cases}
    for name, listed in _listed(reported):
        is_gone = name == "comparison.removed"
        yield name, listed, tuple(case_id for case_id in listed if (case_id in ids) != is_gone)
    held = report.gate.quarantined if report.gate else ()
    left_out = {*reported.added, *reported.changed, *reported.unjudged, *held}
    reported_pairs = (
        _pair(case, changes) for case in _scored_as_reported(report.cases, reported) if case.case_id not in left_out
    )
    pairs = [pair for pair in reported_pairs if pair.old.trials > 0 and pair.new.trials > 0]
    if not weighing(pairs):
        yield "comparison.n_cases", reported.n_cases, 0
        return
    critical = [pair for pair in weighing(pairs) if pair.critical]
    yield "comparison.n_cases", reported.n_cases, len(pairs)
    yield "comparison.critical", reported.critical is not None, bool(critical)
    found = {change.case_id: change for change in case_changes(pairs, reported.alpha)}
    for change in reported.cases:
        yield from _fields(f"comparison.cases.{change.case_id}", _CHANGED, change, found.get(change.case_id))
        is_sure = change.q is not None and change.q <= reported.alpha
        yield f"comparison.cases.{change.case_id}.flagged", change.flagged, is_sure
    both = tuple(name for name in _BOTH if name not in _INTERVAL) if _has_spread(reported) else _BOTH
    names = both if reported.tells_all else _OWN
    for metric, difference in reported.differences.items():
        yield from _of_pairs(metric, difference, pairs, rule, names)
    if reported.critical is not None and critical:
        yield from _of_pairs("critical", reported.critical, critical, rule, names)


def _has_spread(reported: Comparison) -> bool:
    """Whether the variance between the baseline's runs, which is not reported, is part of its intervals."""
    return len(reported.before) >= FEWEST_RUNS


def _listed(reported: Comparison) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every list of cases, by its name."""
    yield from ((f"comparison.{name}", getattr(reported, name)) for name in _LISTS)
    for difference in reported.differences.values():
        place = _place(difference.metric)
        yield from ((f"{place}.{name}", getattr(difference, name)) for name in ("incomparable", "to_nothing"))


def _of_pairs(
    metric: str, reported: Difference, pairs: Sequence[Pair], rule: RegressionRule, of_points: Sequence[str]
) -> Iterator[Judged]:
    """Which cases lack a score, time or cost in the baseline is not reported, only how many have it in both."""
    evidence = metric_differs(metric, pairs, rule)
    found = evidence.difference if evidence else None
    if reported.incomparable or reported.to_nothing:  # which costs were 0 in the baseline is not reported
        return
    is_rate = metric in ("pass_rate", "critical")
    if is_rate or found is None or reported.n_cases >= found.n_cases:
        names = of_points if reported.unit == "points" else _OWN
        yield from _fields(_place(metric), names, reported, found)


def _of_itself(reported: Comparison) -> Iterator[Judged]:
    """What each figure says about the others, down to the verdict."""
    rule = reported_rule(reported)
    critical = reported.critical
    gated = {metric: d.p for metric, d in reported.differences.items() if d.gated and d.p is not None}
    if critical is not None and critical.p is not None and shares_error_rate(critical, rule.alpha):
        gated["critical"] = critical.p
    adjusted = dict(zip(gated, holm(list(gated.values())), strict=True))
    for metric, difference in reported.differences.items():
        yield f"{_place(metric)}.metric", difference.metric, metric
        yield from _consistent(_place(metric), difference, adjusted.get(metric), rule)
    if critical is not None:
        yield "comparison.critical.metric", critical.metric, "critical"
        yield "comparison.critical.gated", critical.gated, True
        yield from _consistent("comparison.critical", critical, adjusted.get("critical", critical.p), rule)
    can_decide = deciding_differences(reported.differences, reported.critical)
    verdict, deciding = joint_verdict(reported.differences, reported.critical, rule.alpha) if can_decide else (None, [])
    yield "comparison.decisive", reported.decisive, tuple(difference.metric for difference in deciding)
    if reported.flips is not None and reported.tells_all:
        yield "comparison.flips", reported.flips, judge_flips(reported, reported.flips.past)
    yield "comparison.verdict", reported.verdict, verdict


def _consistent(place: str, reported: Difference, p_adjusted: float | None, rule: RegressionRule) -> Iterator[Judged]:
    old, new = reported.ends
    if reported.unit == "points":
        yield f"{place}.value", reported.value, new - old if reported.n_cases else 0.0
    elif old > 0:
        yield f"{place}.value", reported.value, new / old - 1
    if reported.low is not None:
        yield f"{place}.low", reported.low, min(reported.low, reported.value)
    if reported.high is not None:
        yield f"{place}.high", reported.high, max(reported.high, reported.value)
    yield f"{place}.these_cases", reported.these_cases, interval_of_these(reported, rule.alpha)
    if reported.metric not in ("score", "cost"):
        yield f"{place}.lacking", reported.lacking, 0
    if reported.n_cases:  # else nothing was tested
        yield f"{place}.level", reported.level, 1 - rule.alpha
    other = "upper_bound" if reported.unit == "points" else "lower_bound"
    yield f"{place}.{other}", getattr(reported, other), None
    if reported.limited_by == "trials":  # that test is exact, and draws nothing
        yield f"{place}.seed", reported.seed, None
    yield f"{place}.from_nothing", reported.from_nothing, reported.risen > len(reported.to_nothing)
    yield f"{place}.risen", reported.risen, min(reported.risen, len(reported.incomparable))
    yield f"{place}.p_adjusted", reported.p_adjusted, p_adjusted
    yield f"{place}.verdict", reported.verdict, verdict_of(reported, rule)


def _scored_as_reported(cases: Sequence[CaseResult], reported: Comparison) -> Sequence[CaseResult]:
    """A comparison leaves all scores out where one of the runs tried failed answers again."""
    if "score" in reported.differences or any(change.new_score is not None for change in reported.cases):
        return cases
    return [replace(case, score=None) for case in cases]


def _pair(case: CaseResult, changes: Mapping[str, CaseChange]) -> Pair:
    change = changes.get(case.case_id)
    if change is None:
        return Pair(case, case)
    # No score is told of either run where one of them lacks a part of it: if not the new one, it was the old one.
    unscored = case.unscored or int(change.new_score is None)
    then = replace(case, trials=change.old_trials, passed=change.old_passed, score=change.old_score, unscored=unscored)
    return Pair(then, case)


def reported_rule(reported: Comparison) -> RegressionRule:
    """The rule by which was compared; of metrics and margin, only what is not usual without being asked for.

    Unchecked: what no rule allows is one more thing that does not fit.
    """
    names = ("alpha", "power", "tolerance")
    rule = RegressionRule().model_copy(update={name: getattr(reported, name) for name in names})
    gated = tuple(metric for metric, difference in reported.differences.items() if difference.gated)
    metrics = () if set(gated) == {metric for metric in reported.differences if metric in GATED} else gated
    margin = None if reported.margin == rule.least_loss else reported.margin
    return rule.model_copy(update={"metrics": metrics, "margin": margin})


def _fields(place: str, names: Sequence[str], reported: object, found: object) -> Iterator[Judged]:
    yield from ((f"{place}.{name}", getattr(reported, name), getattr(found, name, None)) for name in names)


def _place(metric: str) -> str:
    return "comparison.critical" if metric == "critical" else f"comparison.differences.{metric}"
