"""Sample size: how many cases and trials would show a drop, from how much earlier results varied. Pure; nothing is run.

Two questions are kept apart. "Did it get worse on these cases?" is what a gate asks: only chance within cases stands in
the way, and more trials always help. "Would it be worse on others like them?" needs enough cases as well, or enough
clusters of them where they have clusters. Both are asked one-sided, of two runs on the same cases with as many trials
each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, harmonic_mean

from evalharness.domain.gate import RegressionRule
from evalharness.domain.trial_plan import PlanRow, Spread, TrialPlan
from evalharness.engine.planning.smallest_loss import (
    MOST_OF_RUN,
    MOST_TRIALS,
    can_show_a_loss,
    few_for_many,
    fewest,
    least_failed,
    least_flipped,
)
from evalharness.errors import Hint, UsageError
from evalharness.stats.drop_range import DropRange, drops_of_history
from evalharness.stats.means import weighted_mean
from evalharness.stats.power import mde_sampled_cases, se_for_trials, variance_components
from evalharness.stats.thresholds import ALPHA, POWER

WORST = 0.25
"""The variance of one trial of a case that passes half the time: there is none larger."""
FEWEST_ROWS = 5


@dataclass(frozen=True, slots=True)
class WantedEffect:
    """What is to be seen: a drop of `effect` (a share), found with `power`, falsely claimed with at most `alpha`."""

    effect: float
    power: float = POWER
    alpha: float = ALPHA

    @property
    def rule(self) -> RegressionRule:
        return RegressionRule(alpha=self.alpha, power=self.power, margin=self.effect)


@dataclass(frozen=True, slots=True)
class Known:
    """The last run, as far as a plan needs it: (trials, passes) of each case, and what a trial cost and took.

    `clusters` are those that these cases belong to, where cases have any; `weights` is empty where all weigh the same.
    """

    counts: Sequence[tuple[int, int]] = ()
    clusters: Sequence[str] = ()
    cost_usd: float | None = None
    duration_s: float | None = None
    weights: Sequence[float] = ()

    @property
    def evenness(self) -> float:
        """How many cases of equal weight would say as much, as a share of all cases."""
        return sum(self.weights) ** 2 / sum(w * w for w in self.weights) / len(self.weights) if self.weights else 1.0

    @property
    def pass_rate(self) -> float | None:
        if not self.counts:
            return None
        shares = [c / n for n, c in self.counts]
        return weighted_mean(zip(shares, self.weights, strict=True)) if self.weights else fmean(shares)


def spread_of(counts: Sequence[tuple[int, int]], clusters: Sequence[str] = ()) -> Spread:
    """From (trials, passes) of each case, and from the clusters they belong to, if there are any."""
    sizes = list(Counter(clusters).values())
    size = harmonic_mean(sizes) if sizes else 1.0
    even = sum(sizes) ** 2 / sum(each * each for each in sizes) / len(sizes) if sizes else 1.0
    if not counts:
        return Spread(within=WORST, between=None, basis="assumed", cluster_size=size, evenness=even)
    found, rate = variance_components(counts, clusters), pooled_rate(counts)
    if found is not None:
        least = _least_between(rate, len(sizes) or len(counts))
        return Spread(
            within=min(found.within, WORST),
            between=max(found.between, least),
            basis="measured",
            is_smoothed=found.between < least,
            cluster_size=size,
            evenness=even,
        )
    if rate in (0, 1):  # nothing varied, which so few trials do not prove
        tried = len(sizes) or sum(n for n, _ in counts)
        rate = (rate * tried + 1) / (tried + 2)
    return Spread(within=rate * (1 - rate), between=None, basis="bound", cluster_size=size, evenness=even)


def _least_between(rate: float, units: int) -> float:
    """The variance of rates that are all alike but for two more, 1 and 0: that few are alike proves no less."""
    mean = (units * rate + 1) / (units + 2)
    return (units * (rate - mean) ** 2 + (1 - mean) ** 2 + mean**2) / (units + 1)


def pooled_rate(counts: Sequence[tuple[int, int]]) -> float:
    return fmean(c / n for n, c in counts)


def seen_on_these(
    known: Known, cases: int, trials: int, wanted: WantedEffect, clusters: int | None = None
) -> DropRange:
    """The smallest drop that is seen on these very cases; None where not even the largest would be."""
    if not can_show_a_loss(cases, trials, wanted.alpha, clusters):
        return DropRange.of(None)
    found = drops_of_history(known.counts, cases, trials, wanted.alpha, wanted.power)
    if clusters is None:
        return found
    least = least_flipped(clusters, cases * trials / clusters, wanted.rule)
    evenness = spread_of(known.counts, known.clusters).evenness * known.evenness
    factor = few_for_many(clusters * evenness, wanted.rule)
    return found.changed(lambda end: None if end is None else min(1.0, max(end * factor, least)))


def seen_on_others(spread: Spread, units: int, trials: float, wanted: WantedEffect) -> float:
    """The smallest drop that is seen on cases like these, or on clusters like these.

    How much the drop varies from case to case cannot be known from one run: it is taken to vary as much as the cases'
    rates do, as if the rates before and after correlated by one half.
    """
    if units < 2:  # one tells nothing about others
        return math.inf
    size = spread.cluster_size
    within, between = spread.within / size, spread.between
    if between is None:  # the two add up to at most `within`: all of it is where it hurts most
        within, between = (within, 0.0) if trials * size < 2 else (0.0, spread.within)
    between /= spread.evenness  # the larger a cluster, the more its drop counts
    chance = mde_sampled_cases(units, between, within, within, trials, trials, 2 * wanted.alpha, wanted.power)
    chance *= few_for_many(units, wanted.rule)
    if math.isinf(trials):
        return chance
    cases = max(1, round(units * size))
    if not can_show_a_loss(cases, round(trials), wanted.alpha, units if size > 1 else None):
        return math.inf
    return max(chance, least_failed(round(cases * trials), wanted.rule))


def trials_needed(known: Known, cases: int, wanted: WantedEffect) -> int:
    """The fewest trials per case that show the wanted drop on these cases, if they are enough to show any."""
    return _fewest(
        lambda trials: _shows(seen_on_these(known, cases, trials, wanted).high, wanted), MOST_OF_RUN // cases
    )


def cases_needed(spread: Spread, trials: float, wanted: WantedEffect) -> int:
    """The fewest cases that show the wanted drop on cases like these; clusters, where they have them."""
    most = MOST_OF_RUN if math.isinf(trials) else MOST_OF_RUN // round(trials)
    return _fewest(lambda units: seen_on_others(spread, units, trials, wanted) <= wanted.effect, most)


def make_plan(
    suite_name: str,
    cases: int,
    trials: int,
    known: Known,
    wanted: WantedEffect,
    *,
    clusters: int | None = None,
    is_chosen: bool = False,
) -> TrialPlan:
    """`trials` per case are what the suite has now, or what somebody has chosen; `clusters` are those of the cases."""
    if cases * trials > MOST_OF_RUN:
        raise UsageError(
            f"{cases:,} cases × {trials:,} trials are too many: a plan can have at most {MOST_OF_RUN:,}",
            hint="plan for fewer cases or trials",
        )
    spread = spread_of(known.counts, known.clusters)
    shared = clusters if clusters is not None and clusters < cases else None
    if known.weights and shared is None:  # then the test swaps whole cases, as it swaps whole clusters
        shared = cases
    is_fixed = is_chosen or not can_show_a_loss(cases, MOST_TRIALS, wanted.alpha, shared)  # more trials would not help

    @cache
    def seen_with(number: int) -> DropRange:
        return seen_on_these(known, cases, number, wanted, shared)

    needed = (
        trials if is_fixed else _fewest(lambda number: _shows(seen_with(number).high, wanted), MOST_OF_RUN // cases)
    )
    pass_rate = known.pass_rate
    highest = 0.5 if pass_rate is None else pass_rate  # no more can be lost; WORST is the variance at one half

    def row(number: int) -> PlanRow:
        run_trials = number * cases
        seen = seen_with(number).changed(lambda end: None if end is None or end > highest else end)
        return PlanRow(
            trials=number,
            detectable=seen.high,
            detectable_from=seen.low if seen.unknown else None,
            cases_needed=cases_needed(spread, number, wanted),
            run_trials=run_trials,
            cost_usd=None if known.cost_usd is None else known.cost_usd * run_trials,
            duration_s=None if known.duration_s is None else known.duration_s * run_trials,
        )

    recommended = row(needed)
    # Nothing to say of cases unlike each other where they are not, or may not be.
    between = (spread.between or 0.0) / spread.evenness
    return TrialPlan(
        suite_name=suite_name,
        cases=cases,
        clusters=clusters,
        effect=wanted.effect,
        power=wanted.power,
        alpha=wanted.alpha,
        spread=spread,
        pass_rate=pass_rate,
        detectable_unknown=seen_with(needed).unknown,
        rows=tuple(row(number) for number in _shown(needed, trials)),
        trials=trials,
        is_chosen=is_chosen,
        recommended=recommended,
        is_reasonable=_shows(recommended.detectable, wanted) and (is_fixed or needed <= MOST_TRIALS),
        cases_at_best=cases_needed(spread, math.inf, wanted) if between else None,
        enough_trials=_enough_trials(spread.within / spread.cluster_size, between),
        error_at_best=se_for_trials(between, 0.0, clusters or cases, 1) if between else None,
    )


def _shows(detectable: float | None, wanted: WantedEffect) -> bool:
    return detectable is not None and detectable <= wanted.effect


def _enough_trials(within: float, between: float) -> int | None:
    """None where cases hardly differ, so that trials are as good as cases as far as anybody would go."""
    enough = math.floor(4 * within / between) + 1 if between else None
    return enough if enough is not None and enough <= MOST_TRIALS else None


def _shown(needed: int, trials: int) -> list[int]:
    """1, 2, 4, … as far as it takes, or to where it is unreasonable, and the two numbers that matter."""
    last = min(needed, MOST_TRIALS)
    doubled = [2**power for power in range(max(FEWEST_ROWS, math.ceil(math.log2(last)) + 1))]
    return sorted({*doubled, trials, *([needed] if needed <= MOST_TRIALS else [])})


def _fewest(enough: Callable[[int], bool], most: int) -> int:
    found = fewest(enough, most)
    if found is None:
        raise UsageError(f"a drop this small needs more than {MOST_OF_RUN:,} trials", hint=Hint("hint.larger_effect"))
    return found
