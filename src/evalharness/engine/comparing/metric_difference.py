"""Metric difference: one metric of two runs, paired case by case, as a difference with its test and its interval.

Pure numbers: whether a difference matters is decided in `comparison_verdict.py`, what a larger comparison would say in
`required_sample.py`. Only pairs are looked at, so a case that erred on one side can make neither side look better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, sub
from statistics import fmean
from typing import Any, Literal

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Difference
from evalharness.domain.gate import RegressionRule
from evalharness.engine.comparing.independent_values import Observed, Sides, observed_in
from evalharness.engine.comparing.pairs import OldRuns, Pair, Row, table_rows, weighing
from evalharness.engine.planning.smallest_loss import Figures, Trials
from evalharness.stats.between_runs import (
    FEWEST_RUNS,
    RunSpread,
    larger,
    one_more_run,
    smallest_p_between,
    spread_of_figures,
    spread_of_passes,
    wider,
)
from evalharness.stats.drop_range import DropRange
from evalharness.stats.means import weighted_mean
from evalharness.stats.p_values import PValues
from evalharness.stats.paired import PairedDifference, paired_difference
from evalharness.stats.sign_flips import sign_flip
from evalharness.stats.stratified import smallest_p, stratified_exact
from evalharness.stats.thresholds import SAME

_LARGEST_LOG = 50.0
"""A ratio beyond e^50 is no bound."""
ENOUGH_CASES = 1000
NO_DOUBT = 1e-9


@dataclass(frozen=True, slots=True)
class Evidence:
    """A difference, and what a comparison of its size can show at all; `is_one_trial` where a single trial differs.

    `smallest_p` is the p-value that the worst possible new run would have had, `smallest_p_adjusted` the same raised
    as if all figures of its family were at their worst; `family` is how many share the error rate with it.
    """

    difference: Difference
    smallest_p: float
    size: Trials | Figures
    smallest_p_adjusted: float | None = None
    family: int = 1
    spread: RunSpread | None = None
    """How much the runs of a baseline of three or more differ."""
    is_one_trial: bool = False

    def can_fail(self, alpha: float) -> bool:
        return (self.smallest_p if self.smallest_p_adjusted is None else self.smallest_p_adjusted) <= alpha

    def detectable(self, rule: RegressionRule) -> DropRange:
        """The smallest loss that is found whatever the others of its family show; None where none can be."""
        if not self.can_fail(rule.alpha):
            return DropRange.of(None)
        share = rule.model_copy(update={"alpha": rule.alpha / self.family})
        found = self.size.detectable(share)
        if self.spread is not None:
            between = self.spread.detectable(self.difference.ends[0], share.alpha, rule.power)
            if between is None:
                return DropRange.of(None)
            found = found.changed(lambda end: between if end is None else max(end, between))
        if self.difference.unit == "ratio":
            return found.changed(lambda end: None if end is None else _ratio(end))
        largest = self.difference.ends[0]  # of this very run, and that one is found
        return found.changed(lambda end: largest if end is None else min(end, largest))


def metric_differs(
    metric: str, pairs: Sequence[Pair], rule: RegressionRule, runs: OldRuns = (), times: float = 1.0
) -> Evidence | None:
    """None where no pair has figures for it; `critical` is the pass rate of pairs that were chosen for that.

    `times` says how much larger the pairs were made than `runs` are.
    """
    if metric == "score":
        return scores_differ(pairs, rule, runs)
    if metric == "latency":
        return ratios_differ(pairs, rule, "latency", attrgetter("duration_s"), runs)
    if metric == "cost":
        return ratios_differ(pairs, rule, "cost", attrgetter("whole_cost_usd"), runs)
    return pass_rates_differ(pairs, rule, metric, runs, times)


def pass_rates_differ(
    pairs: Sequence[Pair], rule: RegressionRule, metric: str = "pass_rate", runs: OldRuns = (), times: float = 1.0
) -> Evidence | None:
    """A case's trials may be swapped between the runs; where cases share clusters, only whole clusters may.

    Where cases weigh differently, so do their trials: then the runs may be swapped in whole cases only, as for scores.
    None where no case weighs anything.
    """
    pairs = weighing(pairs)
    if not pairs:
        return None
    rows, weights = table_rows(pairs), [pair.new.weight for pair in pairs]
    before, now = [c / n for n, c, _, _ in rows], [c / n for _, _, n, c in rows]
    observed = observed_in(pairs, list(map(sub, now, before)), weights)
    size: Trials | Figures
    is_by_trials = len(observed.values) == len(pairs) and observed.weights is None
    if is_by_trials:
        tested, size, least = stratified_exact(rows), Trials(rows), _smallest_p(rows)
    else:
        tested, size = sign_flip(observed.steps), observed.figures(_least_trials(pairs))
        least = 0.5 ** sum(rate > 0 for rate in observed_in(pairs, before, weights).values)
    found = _interval(observed, pairs, rule)
    spread = _spread_of_passes(pairs, runs)
    if spread is not None:
        spread = spread.of_size(times)
        tested, found = larger(tested, one_more_run(spread)), wider(found, spread)
        least = max(least, smallest_p_between(spread))
    fields = _difference_fields(pairs, found, tested)
    if spread is not None or is_by_trials:
        fields["limited_by"] = "trials" if spread is None else "runs"
    return Evidence(
        Difference(
            metric=metric,
            old=weighted_mean(zip(before, weights, strict=True)),
            new=weighted_mean(zip(now, weights, strict=True)),
            **fields,
        ),
        least,
        size,
        spread=spread,
        is_one_trial=_differ_by_one_trial(rows),
    )


def _differ_by_one_trial(rows: Sequence[Row]) -> bool:
    is_even = all(n_old == n_new for n_old, _, n_new, _ in rows)
    return is_even and sum(abs(c_old - c_new) for _, c_old, _, c_new in rows) == 1


def _spread_of_passes(pairs: Sequence[Pair], runs: OldRuns) -> RunSpread | None:
    if len(runs) < FEWEST_RUNS:
        return None
    counts = [{place: (case.trials, case.passed) for place, case in run.items()} for run in _by_place(pairs, runs)]
    now = {place: (new.trials, new.passed) for place, (_, new) in enumerate(pairs)}
    return spread_of_passes(counts, now, {place: pair.new.weight for place, pair in enumerate(pairs)})


def _by_place(pairs: Sequence[Pair], runs: OldRuns) -> list[dict[int, CaseResult]]:
    """The cases of each old run by their places among the pairs.

    Means of runs are taken over the cases that all of them have. Where these are fewer than half, runs that have few
    are left out, as long as enough stay.
    """
    found = [
        {place: run[pair.old.case_id] for place, pair in enumerate(pairs) if pair.old.case_id in run} for run in runs
    ]
    found.sort(key=len, reverse=True)
    while len(found) > FEWEST_RUNS and 2 * len(set.intersection(*map(set, found))) < len(pairs):
        found.pop()
    return found


def _spread_of_figures(
    pairs: Sequence[Pair], runs: OldRuns, figure: Callable[[CaseResult], float | None], weights: Sequence[float] = ()
) -> RunSpread | None:
    """Below is worse; a case without a figure in a run is not shared."""
    if len(runs) < FEWEST_RUNS:
        return None
    before = [
        {place: value for place, case in run.items() if (value := figure(case)) is not None}
        for run in _by_place(pairs, runs)
    ]
    now = {place: value for place, (_, new) in enumerate(pairs) if (value := figure(new)) is not None}
    return spread_of_figures(before, now, dict(enumerate(weights)) or None)


def scores_differ(pairs: Sequence[Pair], rule: RegressionRule, runs: OldRuns = ()) -> Evidence | None:
    """The weighted mean of scores, as reports have it; None where no case has a score in either run."""
    pairs = weighing(pairs)
    parts = [(pair, pair.old.whole_score, pair.new.whole_score) for pair in pairs]
    scored = [(pair, old, new) for pair, old, new in parts if old is not None and new is not None]
    unstated = [pair for pair, old, new in parts if (old is None or new is None) and _has_score(pair)]
    if not scored:
        return _missing_scores(unstated) if unstated else None
    weights = [pair.new.weight for pair, _, _ in scored]
    known = [pair for pair, _, _ in scored]
    observed = observed_in(known, [_step(old, new) for _, old, new in scored], weights)
    before = observed_in(known, [old for _, old, _ in scored], weights).values
    found = _interval(observed, known, rule)
    tested = sign_flip(observed.steps)
    least = 0.5 ** sum(score > 0 for score in before)
    says_more = _say_more_than_passes(pairs, runs)
    spread = _spread_of_figures(known, runs, attrgetter("whole_score"), weights)
    if spread is not None:
        tested, found = larger(tested, one_more_run(spread)), wider(found, spread)
        least = max(least, smallest_p_between(spread))
    return Evidence(
        Difference(
            metric="score",
            old=weighted_mean((old, weight) for (_, old, _), weight in zip(scored, weights, strict=True)),
            new=weighted_mean((new, weight) for (_, _, new), weight in zip(scored, weights, strict=True)),
            incomparable=tuple(pair.new.case_id for pair in unstated),
            **_difference_fields(known, found, tested),
        ),
        least,
        observed.figures(math.inf if says_more else _least_trials(pairs)),
        spread=spread,
        is_one_trial=not says_more and _differ_by_one_trial(table_rows(pairs)),
    )


def _step(old: float, new: float) -> float:
    """0 for what differs only by how it was added up: a test of signs would count it."""
    return new - old if abs(new - old) > SAME else 0.0


def _missing_scores(pairs: Sequence[Pair]) -> Evidence:
    """Of cases none of which has a whole score in both runs: nothing is known."""
    before = [(pair.old.score, pair.new.weight) for pair in pairs if pair.old.score is not None]
    now = [(pair.new.score, pair.new.weight) for pair in pairs if pair.new.score is not None]
    old, new = (weighted_mean(scores) if scores else None for scores in (before, now))
    ids = tuple(pair.new.case_id for pair in pairs)
    return Evidence(Difference(metric="score", old=old, new=new, value=0.0, incomparable=ids), 1.0, Figures(1, 1, None))


def _has_score(pair: Pair) -> bool:
    return pair.old.score is not None or pair.new.score is not None


def has_scores_of_its_own(pairs: Iterable[Pair], runs: OldRuns = ()) -> bool:
    """Whether a score says what the share of passed trials does not say."""
    return _say_more_than_passes(weighing(pairs), runs)


def _say_more_than_passes(pairs: Iterable[Pair], runs: OldRuns) -> bool:
    """Of several runs each by itself: where they tried a case unequally often, means of runs are no share of all."""
    return any(
        case.score is not None and abs(case.score - case.passed / case.trials) > SAME
        for old, new in pairs
        for case in (*([run[old.case_id] for run in runs if old.case_id in run] or [old]), new)
    )


def _least_trials(pairs: Sequence[Pair]) -> int:
    return min(sum(pair.old.trials for pair in pairs), sum(pair.new.trials for pair in pairs))


def ratios_differ(
    pairs: Sequence[Pair],
    rule: RegressionRule,
    metric: Literal["latency", "cost"],
    figure: Callable[[CaseResult], float | None],
    runs: OldRuns = (),
) -> Evidence | None:
    """Times or costs as a ratio: logarithms of each case's means, since a few slow cases would carry a plain mean away.

    Here more is worse. What rose from 0 or fell to 0 has no ratio; where there is some, the test is of the amounts
    themselves, so that neither can outweigh all others. What one run does not tell counts nowhere. None where nothing
    can be reported.
    """
    sides = Sides.of(pairs, figure)
    if not sides.compared:
        return None
    known = [pair for pair, _, _ in sides.compared]
    # Below 0 is worse, as everywhere.
    turned = [_log_ratio(old, new) for _, old, new in sides.compared]
    risen = sides.risen or [pair for pair, old, new in sides.compared if new > old <= 0]
    observed = observed_in(known, turned)
    found = _interval(observed, known, rule, span=math.inf)
    scale, steps = "logarithms", observed.steps
    if sides.risen or sides.fallen:
        every = [*known, *sides.risen, *sides.fallen]
        scale = "amounts"
        steps = observed_in(every, [(figure(old) or 0.0) - (figure(new) or 0.0) for old, new in every]).steps
    tested = sign_flip(steps)
    spread = _spread_of_figures(known, runs, lambda case: _turned_log(figure(case)))
    if spread is not None:
        tested, found = larger(tested, one_more_run(spread)), wider(found, spread, math.inf)
    reported = _difference_fields(known, found, tested)
    on_logarithms = {
        "value": math.expm1(min(_LARGEST_LOG, 0.0 - reported["value"])),
        "low": _ratio(-found.high),
        "high": _ratio(-found.low),
        "lower_bound": None,
        "upper_bound": _ratio(-found.lower_bound),
        "method": f"{tested.method}, on {scale}",
        "interval_method": f"{reported['interval_method']}, on logarithms",
    }
    if not any(new > 0 for _, _, new in sides.compared):  # what is free now has no ratio that could be doubted
        on_logarithms |= dict.fromkeys(("low", "high", "upper_bound"))
    return Evidence(
        Difference(
            metric=metric,
            unit="ratio",
            old=_geometric_mean([old for _, old, _ in sides.compared]),
            new=_geometric_mean([new for _, _, new in sides.compared]),
            incomparable=tuple(pair.new.case_id for pair in (*risen, *sides.unstated)),
            risen=len(risen),
            from_nothing=len(risen) > len(sides.fallen),
            to_nothing=tuple(pair.new.case_id for pair in sides.fallen),
            **reported | on_logarithms,
        ),
        0.5 ** len(steps),
        observed.figures(),
        spread=spread,
    )


def _turned_log(figure: float | None) -> float | None:
    return -math.log(figure) if figure is not None and figure > 0 else None


def _log_ratio(old: float, new: float) -> float:
    if old > 0 < new:
        return _step(math.log(new), math.log(old))  # their ratio may be too large for a number
    return _LARGEST_LOG if old > 0 else -_LARGEST_LOG if new > 0 else 0.0


def _geometric_mean(figures: Sequence[float]) -> float:
    """Of those above 0."""
    logs = [math.log(figure) for figure in figures if figure > 0]
    return math.exp(fmean(logs)) if logs else 0.0


def _difference_fields(pairs: Sequence[Pair], found: PairedDifference, tested: PValues) -> dict[str, Any]:
    """The fields of a Difference that follow from its interval, its test and its pairs."""
    return {
        "value": _unless_nothing(found.mean),
        "low": found.low,
        "high": found.high,
        "lower_bound": found.lower_bound,
        "level": found.level,
        "p": tested.p_less,
        "p_better": tested.p_greater,
        "method": tested.method,
        "seed": tested.seed,
        "interval_method": found.method,
        "interval_formula": found.formula,
        "limited_by": "clusters" if found.n < len(pairs) else "cases",
        "n_cases": len(pairs),
        "n_trials_old": sum(map(attrgetter("old.trials"), pairs)),
        "n_trials_new": sum(map(attrgetter("new.trials"), pairs)),
    }


def _smallest_p(rows: Sequence[Row]) -> float:
    """More cases only make it smaller, so there is no need to look at all of very many."""
    some = smallest_p((n_old, c_old, n_new) for n_old, c_old, n_new, _ in rows[:ENOUGH_CASES])
    if some < NO_DOUBT or len(rows) <= ENOUGH_CASES:
        return some
    return smallest_p((n_old, c_old, n_new) for n_old, c_old, n_new, _ in rows)


def _interval(observed: Observed, pairs: Sequence[Pair], rule: RegressionRule, span: float = 1.0) -> PairedDifference:
    span = max(span, *map(abs, observed.values))  # beyond the span: rounded means, foreign scores
    of_clusters = len(observed.values) < len(pairs)
    found = paired_difference(observed.values, 1 - rule.alpha, observed.weights, span, of_clusters=of_clusters)
    assert found is not None  # there is a pair
    return found


def _ratio(log: float) -> float | None:
    return math.expm1(log) if abs(log) < _LARGEST_LOG else None


def _unless_nothing(value: float) -> float:
    """Sums of many small numbers leave last bits that would be reported as a loss."""
    return 0.0 if abs(value) < SAME else value
