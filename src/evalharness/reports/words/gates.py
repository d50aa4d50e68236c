"""What a gate checked, in words. A finding that another one quotes arrives here as its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evalharness.domain.gate import written_metric
from evalharness.domain.plain_numbers import beside_limit, count, digits, interval, percent
from evalharness.reports.wording import Words, listed, money
from evalharness.stats.thresholds import reaches

MOST_DECIMALS = 6
_LIMITS = {
    "max_cost_usd": "cost",
    "max_cost_usd_per_trial": "most expensive trial",
    "max_latency_s": "slowest trial",
    "max_median_latency_s": "median latency",
}


def metric_label(name: str) -> str:
    if name == "case_pass_rate":
        return "share of cases passed"
    return written_metric(name).replace("_plugin", " (plug-in)").replace("_", " ")


def label_of(metric: str, kind: str, group: str) -> str:
    of = {"category": f" of category {group}", "criticality": f" of {group} cases"}.get(kind, "")
    return f"{metric_label(metric)}{of}"


def threshold(metric: str, kind: str, group: str, figure: Mapping[str, Any], wanted: float, awaiting: int) -> str:
    reached = f"{_extra_digits(figure, wanted)}, {_exact(wanted)} % needed{_by_chance(figure, wanted)}"
    pending = f"; {count(awaiting, 'case')} not graded yet" if awaiting else ""
    return f"{label_of(metric, kind, group)} {reached}{pending}"


def _by_chance(figure: Mapping[str, Any], wanted: float) -> str:
    """What a reader must know who would take a narrow result for a certain one."""
    low, high = figure["low"], figure["high"]
    if low is None or high is None or not low < wanted <= high:
        return ""
    includes = "reaches below that" if reaches(figure["value"], wanted) else "includes that"
    text = f"{_exact(figure['level'])} % interval {_interval_around(low, high, wanted)}"
    return f"; the {text} {includes}, so this may be chance"


def _extra_digits(figure: Mapping[str, Any], wanted: float) -> str:
    """With as many decimals as it takes to see on which side of what is needed the value lies."""
    value, low, high = figure["value"], figure["low"], figure["high"]
    decimals = digits(None if low is None or high is None else (high - low) / 2)
    is_met = reaches(value, wanted)
    while decimals < MOST_DECIMALS and (round(100 * value, decimals) >= 100 * wanted) != is_met:
        decimals += 1
    return percent(value, decimals)


def _interval_around(low: float, high: float, wanted: float) -> str:
    """The same for an interval that includes what is needed."""
    decimals = digits((high - low) / 2)
    while decimals < MOST_DECIMALS and not round(100 * low, decimals) < 100 * wanted <= round(100 * high, decimals):
        decimals += 1
    return interval(low, high, decimals)


def _exact(share: float) -> str:
    return f"{100 * share:.10g}"


def basis(low: float | None, high: float | None, level: float, method: str, cases: int, trials: int) -> str:
    parts = [count(cases, "case"), count(trials, "trial")]
    if low is not None and high is not None:
        parts.insert(0, f"{_exact(level)} % interval {interval(low, high)}, {method}")
    return ", ".join(parts)


def score_uncertain(
    metric: str, kind: str, group: str, figure: Mapping[str, Any], lacking: int, judged: int, wanted: float
) -> str:
    of_all = f"{lacking:,} of {count(judged, 'judged trial')}"
    lack = "has no complete score" if lacking == 1 else "have no complete score"
    unsure = f"{_extra_digits(figure, wanted)} so far, but {of_all} {lack}"
    return f"{label_of(metric, kind, group)} cannot be judged: {unsure}"


def not_graded_yet(metric: str, kind: str, group: str, awaiting: int) -> str:
    return f"{label_of(metric, kind, group)} is not known yet: {count(awaiting, 'case')} not graded yet"


def each_case(passed: int, of: int, missed: Mapping[str, Any], undecided: Mapping[str, Any], skipped: int) -> str:
    more = [f"{skipped:,} skipped"] if skipped else []
    return _by_cases(f"{passed} of {of} trials of each case must pass", missed, undecided, more)


def each_case_trials(passed: int, of: int, trials: int, needed: int) -> str:
    label = f"{passed} of {of} trials of each case must pass"
    return f"{label}, but there are {trials}; run with --repeat {needed}"


def required_cases(missed: Mapping[str, Any], undecided: Mapping[str, Any]) -> str:
    return _by_cases("required cases must pass", missed, undecided)


def every_case(missed: Mapping[str, Any], undecided: Mapping[str, Any]) -> str:
    return _by_cases("every case must pass", missed, undecided)


def _by_cases(label: str, missed: Mapping[str, Any], undecided: Mapping[str, Any], more: Sequence[str] = ()) -> str:
    parts = [f"missed by {_named(missed)}"] if missed["number"] else []
    parts += [f"undecided for {_named(undecided)}"] if undecided["number"] else []
    parts += more
    return f"{label}: {'; '.join(parts)}" if parts else label


def _named(found: Mapping[str, Any]) -> str:
    """Cases with the states they have; of one that is not there, that it is not."""
    names = found["cases"]
    if found["states"]:
        states = (state or "not in this run" for state in found["states"])
        names = [f"{name} ({state})" for name, state in zip(names, states, strict=True)]
    return listed(names, found["number"])


def limit(limit: str, case: str, given_up: int, value: float, most: float, lacking: int) -> str:
    is_money = limit.startswith("max_cost")
    shown, wanted = beside_limit(value, most, 4 if is_money else 3)
    unstated = f" ({count(lacking, 'judged trial')} reported none)" if lacking else ""
    found, needed = (f"${shown}{unstated}", f"${wanted}") if is_money else (f"{shown} s", f"{wanted} s")
    return f"{_limit_label(limit, case, given_up)} {found}, must be below {needed}"


def limit_unknown(limit: str, case: str, given_up: int, why: str) -> str:
    return f"{_limit_label(limit, case, given_up)} cannot be judged: {why}"


def _limit_label(limit: str, case: str, given_up: int) -> str:
    without = f" (without {count(given_up, 'abandoned trial')})" if given_up else ""
    return f"{_LIMITS[limit]}{f' ({case})' if case else ''}{without}"


def costs_missing(trials: int) -> str:
    return f"{count(trials, 'judged trial')} did not report {'its' if trials == 1 else 'their'} cost"


def not_estimable(short: int, cases: int, k: int) -> str:
    of_all = f"{short:,} of {count(cases, 'case')}"
    why = f"not estimable: {of_all} {'has' if short == 1 else 'have'} fewer than {k} judged trials"
    return f"{why}; resume the run to retry trials that ended in error"


def regression(verdict: str, why: str, settle: str | None, left_out: str | None) -> str:
    return f"{verdict}: {why}{f'; to settle it: {settle}' if settle else ''}{_aside(left_out)}"


def against_baseline(verdict: str, settle: str) -> str:
    """The same where the figures and the verdict are beside it."""
    known = {
        "REGRESSION": "worse than the baseline",
        "NO REGRESSION": "not worse than the baseline",
        "IMPROVEMENT": "better than the baseline",
    }
    return known.get(verdict) or f"undecided{f': {settle}' if settle else ''}"


def session_regression(
    baseline: str, tolerance: float, figures: Sequence[Mapping[str, Any]], lost: Mapping[str, Any]
) -> str:
    """For a regression, only what caused it. The tolerance is for figures; a lost eval always counts."""
    worse = [figure for figure in figures if figure["regressed"]]
    is_worse = bool(worse or lost["number"])
    compared = ", ".join(
        f"{figure['name']} {_figure(figure, 'before')} → {_figure(figure, 'now')}"
        for figure in (worse if is_worse else figures)
    )
    allowed = f" by more than {_points(tolerance)}" if tolerance and (worse or not is_worse) else ""
    passed_before = f"{_named(lost)} passed before" if lost["number"] else ""
    reasons = "; ".join(filter(None, (compared, passed_before)))
    return f"{'' if is_worse else 'not '}worse than {baseline}{allowed}, as docker-agent compares: {reasons}"


def _points(share: float) -> str:
    points = _exact(share)
    return f"{points} point{'' if points == '1' else 's'}"


def _figure(figure: Mapping[str, Any], side: str) -> str:
    return money(figure[side]) if figure["name"] == "cost" else f"{100 * figure[side]:.1f} %"


def strict_flips(flipped: Mapping[str, Any], alarm: Any, left_out: str | None) -> str:
    did = f": {_named(flipped)} did" if flipped["number"] else ""
    return f"no case that always passed may fail now ({_false_alarms(alarm)}){did}{_aside(left_out)}"


def _false_alarms(alarm: Any) -> str:
    """Of an unchanged agent. Checks of an earlier version have one figure; from never to always says nothing."""
    low, high = (f"{100 * end:.0f}" for end in alarm) if isinstance(alarm, list | tuple) else ("0", "100")
    if (low, high) == ("0", "100"):
        return "the false-alarm rate is not known"
    often = f"{low} to {high}" if low != high else high
    return f"false alarm in {often} of 100 runs"


def flips(
    lost: Mapping[str, Any],
    excused: Mapping[str, Any],
    single: bool,
    left_out: str | None,
    too_few: Mapping[str, Any] | None = None,
) -> str:
    """`single`: one trial decided it, which an unchanged agent may fail by chance."""
    parts = []
    if lost["number"]:
        retry = "; one trial can fail by chance, so run 5 per case in both runs (--trials 5)" if single else ""
        parts.append(
            f"always passed before and always {'fails' if lost['number'] == 1 else 'fail'} now: {_named(lost)}{retry}"
        )
    if excused["number"]:
        parts.append(f"{_named(excused)} passed and failed in earlier runs too, so the regression check alone decides")
    if too_few and too_few["number"]:
        trials = "always passed before and never now, with too few trials for this check"
        parts.append(f"{_named(too_few)} {trials}: the regression check alone decides")
    return f"{'; '.join(parts) or 'no case that always passed before fails every trial now'}{_aside(left_out)}"


def _aside(left_out: str | None) -> str:
    return f" ({left_out})" if left_out else ""


def not_compared(awaits: bool, why: str | None) -> str:
    return f"not compared with a baseline{' yet' if awaits else ''}: {why or 'there is none'}"


def sequential(check: str, decided: bool, at_the_cap: bool, why: str | None) -> str:
    how = "judged at the cap" if at_the_cap else "decided" if decided else "not decided"
    return f"{check.replace('_', ' ')} {how}: {why or ''}"


def quarantined(case: str, reason: str, owner: str, expires: str, days_left: int | None) -> str:
    soon = "" if days_left is None else f" (in {count(days_left, 'day')})" if days_left else " (today)"
    return f"quarantined until {expires}{soon}, so not counted: {case} ({reason}; {owner})"


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "gate.threshold": threshold,
        "gate.basis": basis,
        "gate.score_uncertain": score_uncertain,
        "gate.not_graded_yet": not_graded_yet,
        "gate.not_computable": lambda metric, kind, group, why: (
            f"{label_of(metric, kind, group)} cannot be computed: {why}"
        ),
        "gate.no_case_of_group": "no counted case has {kind} {group}, so its thresholds were not checked",
        "gate.each_case": each_case,
        "gate.each_case_trials": each_case_trials,
        "gate.required_cases": required_cases,
        "gate.every_case": every_case,
        "gate.no_case_judged": "every case must pass, but none was judged",
        "gate.limit": limit,
        "gate.limit_unknown": limit_unknown,
        "gate.limit_open": lambda found, awaiting: f"{found}; {count(awaiting, 'trial')} not graded yet",
        "gate.regression": regression,
        "gate.session_regression": session_regression,
        "gate.strict_flips": strict_flips,
        "gate.flips": flips,
        "gate.not_compared": not_compared,
        "gate.sequential": sequential,
        "gate.quarantined": quarantined,
        "gate.quarantine_expired": ("quarantine expired on {expires}, so it counts again: {case} ({reason}; {owner})"),
        "gate.quarantine_unknown": "quarantine names {case}, which is not a case of this run",
        "limit.no_cost_reported": "no trial reported its cost",
        "limit.costs_missing": costs_missing,
        "measure.weightless": "every case has weight 0",
        "measure.not_estimable": not_estimable,
        "measure.too_few_trials": (
            "it needs {needed} trials per case, but there are {trials}; run with --repeat {needed}"
        ),
        "measure.nothing_judged": "no trial was judged",
        "measure.nothing_retrieved": "no case with a retrieval grader was judged",
        "measure.nothing_scored": "nothing was scored",
    }
)
