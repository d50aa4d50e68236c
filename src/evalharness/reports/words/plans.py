"""What was planned and decided about runs, in words: sequential runs, plans, baselines, checks for regressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.reports.wording import Words

_DOUBTS = {
    "regraded": "only regraded stored answers",
    "sequential": "may have stopped early",
    "unfinished": "did not finish",
    "invalid": "INVALID",
    "built-in target": "on a built-in target",
    "nothing judged": "judged no trial of these cases",
}
"""Why a run does not show how results vary."""


def _all_done(passed: int, judged: int) -> str:
    return f"all trials are done, {passed:,} of {judged:,} passed ({percent(passed / judged)})"


def _cap_below(passed: int, judged: int, floor: float, may_be_chance: bool) -> str:
    by_chance = "; with so few trials that may be chance" if may_be_chance else ""
    return f"{_all_done(passed, judged)}, less than the {percent(floor)} required{by_chance}"


def _pairs(is_worse: bool, pairs: int, worse: int, better: int) -> str:
    turned = f"{worse:,} got worse and {better:,} better"
    text = f"of {pairs:,} trials, each paired with one of the baseline, {turned}"
    return f"worse than the baseline: {text}" if is_worse else f"no loss against the baseline detected: {text}"


def _no_usable_run(runs: int, doubts: Sequence[tuple[str, int]]) -> str:
    if runs == 1:
        return f"its last run does not show how results vary ({_DOUBTS[doubts[0][0]]})"
    text = ", ".join(f"{number:,} {_DOUBTS[doubt]}" for doubt, number in doubts)
    return f"none of its last {runs:,} runs shows how results vary ({text})"


def _noise_between_runs(
    runs: int, sd: float, low: float, high: float, level: float, by_chance: float, alarms: float
) -> str:
    size = f"{points(sd)} (standard deviation; {100 * level:g} % interval {100 * low:.1f} to {100 * high:.1f})"
    return (
        f"the last {runs:,} runs of this target differ by {size} beyond what their trials explain "
        f"({points(by_chance)}): compared with a single run, it would be called worse in about "
        f"{round(100 * alarms)} of 100 comparisons although nothing changed, and more trials do not help; use 5 or "
        "more of its runs as the baseline (eval-harness baseline set RUN RUN …), and expect to detect only larger drops"
    )


def _weights(times: float = 1.0) -> str:
    more = f"; with weights as unequal as these, it takes {times:.1f} times as many" if times >= 1.05 else ""
    return (
        "cases have different weights, so the runs are compared case by case and more cases help more than more "
        f"trials; the number of other cases needed assumes equal weights{more}"
    )


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "sequential.floor_open": lambda floor, too_low: (
            f"the pass rate could be {percent(floor)} as well as {percent(too_low)}"
        ),
        "sequential.floor_met": lambda floor, too_low: (
            f"more than {percent(too_low)} pass, so it is not {points(floor - too_low)} short of the "
            f"{percent(floor)} required; a rate in between may also pass"
        ),
        "sequential.floor_missed": lambda floor: f"fewer than {percent(floor)} pass",
        "sequential.cap_above": lambda passed, judged, floor: (
            f"{_all_done(passed, judged)}, more than the {percent(floor)} required"
        ),
        "sequential.cap_below": _cap_below,
        "sequential.pairs": _pairs,
        "sequential.awaits_grade": "{case} comes next and is not graded yet",
        "plan.never_run": "the suite has not been run yet",
        "plan.no_usable_run": _no_usable_run,
        "plan.doubtful_run": lambda doubt: f"this run was chosen with --run, but is not well suited: {_DOUBTS[doubt]}",
        "plan.fewer_cases": lambda judged, cases: (
            f"this run judged only {judged:,} of the {count(cases, 'case')}: the others may vary more"
        ),
        "plan.cannot_drop": lambda pass_rate, effect: (
            f"the pass rate was {percent(pass_rate)}, so it cannot drop by {points(effect)}"
        ),
        "plan.clusters": (
            "cases of one cluster resemble each other, so plans for others like them count clusters, not cases"
        ),
        "plan.weights": _weights,
        "plan.hardly_differ": (
            "its {unit}s hardly differ, but there are too few to be sure: for others like them, the plan assumes one "
            "more that always passes and one more that never does"
        ),
        "plan.first_answers": "only first answers count here: one that was right only after a retry counts as failed",
        "plan.noise_between_runs": _noise_between_runs,
        "baseline.nothing_passed": (
            "no trial of this run passed, so no later run can have a lower pass rate or be called worse for it"
        ),
        "baseline.part_of_suite": lambda tried, of: (
            f"this run has only {tried:,} of the {of:,} cases of its suite: later runs are not compared on the others"
        ),
        "baseline.stopped_early": lambda trials, cap: (
            f"this run stopped early, after {trials:,} of {count(cap, 'trial')}: later runs are compared only on the "
            "cases it tried, and its results decided when it stopped; a run without --sequential is a better baseline"
        ),
        "baseline.ungraded": lambda trials: (
            f"grades are pending: {count(trials, 'trial')} of this run {'is' if trials == 1 else 'are'} not graded yet "
            "and will not be compared; set the baseline again when all are graded"
        ),
        "regressions.unfinished_run": "{run} was started together with these but is not finished, so it is left out",
    }
)
