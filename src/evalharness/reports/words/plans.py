"""What was planned and decided about runs, in words: sequential runs, plans, baselines, checks for regressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.reports.wording import Words

_DOUBTS = {
    "regraded": "only graded what was there",
    "sequential": "may have stopped early",
    "unfinished": "did not come to its end",
    "invalid": "INVALID",
    "built-in target": "on a built-in target",
    "nothing judged": "judged no trial of these cases",
}
"""Why a run does not show how results vary."""


def _all_done(passed: int, judged: int) -> str:
    return f"all trials are done, {passed:,} of {judged:,} passed ({percent(passed / judged)})"


def _cap_below(passed: int, judged: int, floor: float, may_be_chance: bool) -> str:
    by_chance = "; with so few trials that may be chance" if may_be_chance else ""
    return f"{_all_done(passed, judged)}, fewer than the {percent(floor)} asked for{by_chance}"


def _pairs(is_worse: bool, pairs: int, worse: int, better: int) -> str:
    turned = f"{worse:,} got worse and {better:,} better"
    text = f"of {pairs:,} trials, each paired with one of the baseline, {turned}"
    return f"worse than the baseline: {text}" if is_worse else f"no loss against the baseline is shown: {text}"


def _no_usable_run(runs: int, doubts: Sequence[tuple[str, int]]) -> str:
    if runs == 1:
        return f"its last run does not show how results vary ({_DOUBTS[doubts[0][0]]})"
    text = ", ".join(f"{number:,} {_DOUBTS[doubt]}" for doubt, number in doubts)
    return f"of its last {runs:,} runs none shows how results vary ({text})"


def _noise_between_runs(
    runs: int, sd: float, low: float, high: float, level: float, by_chance: float, alarms: float
) -> str:
    size = f"{points(sd)} (standard deviation; {100 * level:g} % interval {100 * low:.1f} to {100 * high:.1f})"
    return (
        f"the last {runs:,} runs of this target differ by {size} beyond what their trials explain "
        f"({points(by_chance)}): against one run it would be called worse in about {round(100 * alarms)} of 100 "
        "comparisons although nothing changed, and no number of trials helps; take 5 of its runs or more as the "
        "baseline (eval-harness baseline RUN RUN …), and expect to see larger drops only"
    )


def _weights(times: float = 1.0) -> str:
    more = f"; as unequal as these, it takes {times:.1f} times as many" if times >= 1.05 else ""
    return (
        "cases weigh differently, so the runs are compared in whole cases: trials help less than cases do; how many "
        f"others like them are needed is counted as if they were equal{more}"
    )


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "sequential.floor_open": lambda floor, too_low: (
            f"the pass rate may be {percent(floor)}, and may be {percent(too_low)}"
        ),
        "sequential.floor_met": lambda floor, too_low: (
            f"more than {percent(too_low)} pass, so it is not {points(floor - too_low)} short of the "
            f"{percent(floor)} asked for; a rate in between may pass, too"
        ),
        "sequential.floor_missed": lambda floor: f"fewer than {percent(floor)} pass",
        "sequential.cap_above": lambda passed, judged, floor: (
            f"{_all_done(passed, judged)}, more than the {percent(floor)} asked for"
        ),
        "sequential.cap_below": _cap_below,
        "sequential.pairs": _pairs,
        "sequential.awaits_grade": "{case} comes next and still awaits its grade",
        "plan.never_run": "the suite has not been run yet",
        "plan.no_usable_run": _no_usable_run,
        "plan.doubtful_run": lambda doubt: f"this run was asked for and would not be taken by itself: {_DOUBTS[doubt]}",
        "plan.fewer_cases": lambda judged, cases: (
            f"this run judged {judged:,} of the {count(cases, 'case')} only: the others may vary more"
        ),
        "plan.cannot_drop": lambda pass_rate, effect: (
            f"the pass rate was {percent(pass_rate)}, so it cannot drop by {points(effect)}"
        ),
        "plan.clusters": (
            "cases of one cluster resemble each other, so for others like them clusters are counted instead of cases"
        ),
        "plan.weights": _weights,
        "plan.hardly_differ": (
            "its {unit}s hardly differ, which so few do not prove: for others like them, it is planned as if one "
            "more always passed and one more never did"
        ),
        "plan.first_answers": "only first answers count here: an answer that only a further try got right is a fail",
        "plan.noise_between_runs": _noise_between_runs,
        "baseline.nothing_passed": (
            "no trial of this run passed: no later run can pass less often, so none will be called worse for that"
        ),
        "baseline.part_of_suite": lambda tried, of: (
            f"this run has only {tried:,} of the {of:,} cases of its suite: later runs are not compared on the others"
        ),
        "baseline.stopped_early": lambda trials, cap: (
            f"this run stopped early, after {trials:,} of {count(cap, 'trial')}: later runs are compared on the cases "
            "it tried, and when it stopped depends on what it saw; a run without --sequential is the better baseline"
        ),
        "baseline.ungraded": lambda trials: (
            f"grades are due: {count(trials, 'trial')} of this run {'is' if trials == 1 else 'are'} not judged and "
            "will not be compared; set it again once all are"
        ),
        "regressions.unfinished_run": "{run} was started together with these and is not finished: left out",
    }
)
