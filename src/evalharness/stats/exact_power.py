"""The smallest drop that the exact stratified permutation test finds with a given power, from the test's distribution.

The drop lowers the pass rate of every case by the same shift, but not below 0. Rates are unknown, so each case has a
distribution of rates (`rate_laws.py`). For two runs of the same size, the method depends on the trials:

- One trial per case: the numbers of cases that got worse and better have a trinomial distribution; the power is a sum
  over it.
- Very few trials: runs are simulated. As the shift grows, passes turn into failures one by one, so each simulated pair
  of runs has one smallest shift at which the test rejects. The result is a quantile of these shifts.
- More trials: the normal approximation of the same sums.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from evalharness.stats.rate_laws import CaseLaw
from evalharness.stats.thresholds import SAME

DRAWS = 800
"""The seed is fixed, so the error of a quantile of so few draws is the same for all runs of a size: .014 in power."""
MOST_DRAWN = 40
"""Up to so many trials per run, runs are simulated; beyond, the normal approximation has the smaller error."""
MOST_SUMMED = 400
"""Up to so many cases with one trial, the power is summed exactly."""
_SEED = 22
"""Of sixteen seeds, one whose drops are close to the mean over all of them (for two results of 10 cases x 4 trials)."""
_NODES = 48
_MOST_NODES = 6000
"""For all distributions together; with many distributions, fewer nodes for each are enough."""
_FEWEST_NODES = 6
_STEP = 1e-4
_STANDARD = NormalDist()
_MUCH_CHANCE = 3.0
"""Above this variance, a series is as good as the full distribution of the sum."""


def smallest_drop(laws: Sequence[CaseLaw], alpha: float, power: float) -> float | None:
    """The loss of the mean pass rate at the smallest shift that is found. Less than the shift if cases reach 0."""
    shift = smallest_shift(laws, alpha, power)
    return None if shift is None else mean_loss(laws, shift)


def smallest_shift(laws: Sequence[CaseLaw], alpha: float, power: float) -> float | None:
    """How far each case's rate must fall for two such runs to show it with this power; None if even 0 is not enough."""
    sizes = {(law.n_old, law.n_new) for law in laws}
    if sizes == {(1, 1)} and sum(law.cases for law in laws) <= MOST_SUMMED:
        return _fewest_points(_one_trial_power(laws, alpha), power)
    if sum(law.cases * law.n_new for law in laws) <= MOST_DRAWN:
        return _drawn(laws, alpha, power)
    return _fewest_points(_normal_power(laws, alpha), power)


def mean_loss(laws: Sequence[CaseLaw], shift: float) -> float:
    """The loss of the mean pass rate if every case's rate falls by `shift` or to 0."""
    number = _nodes_for(laws)
    lost = math.fsum(law.cases * weight * min(p, shift) for law in laws for p, weight in law.nodes(number))
    return lost / math.fsum(law.cases for law in laws)


def _nodes_for(laws: Sequence[CaseLaw]) -> int:
    return max(_FEWEST_NODES, min(_NODES, _MOST_NODES // len(laws)))


def _fewest_points(power_of: Callable[[float], float], power: float) -> float | None:
    if power_of(1.0) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > _STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


# One trial per case.


def _one_trial_power(laws: Sequence[CaseLaw], alpha: float) -> Callable[[float], float]:
    """The power of the sign test on the cases that differ."""
    cases = round(math.fsum(law.cases for law in laws))
    share = 1 / math.fsum(law.cases for law in laws)
    rates = [(p, law.cases * share * weight) for law in laws for p, weight in law.nodes(_nodes_for(laws))]
    critical = _critical_gains(cases, alpha)
    ways = [math.comb(cases, differing) for differing in range(cases + 1)]

    def power_of(shift: float) -> float:
        worse = math.fsum(weight * p * (1 - max(0.0, p - shift)) for p, weight in rates)
        better = math.fsum(weight * (1 - p) * max(0.0, p - shift) for p, weight in rates)
        differ = min(1.0, worse + better)
        gain = better / (worse + better)
        found = at_most = 0.0
        last = -1
        for differing, (most, of_most, of_most_before) in enumerate(critical):
            if most < 0:
                continue
            # `at_most` is P(at most `most` gains), updated for one more differing case and perhaps one more gain.
            if differing:
                at_most -= gain * of_most_before * _powers(gain, last, differing - 1) if last >= 0 else 0.0
            if most > last:
                at_most += of_most * _powers(gain, most, differing)
            last = most
            found += ways[differing] * _powers(differ, differing, cases) * at_most
        return found

    return power_of


def _powers(p: float, hits: int, of: int) -> float:
    return math.pow(p, hits) * math.pow(1 - p, of - hits)


def _critical_gains(cases: int, alpha: float) -> list[tuple[int, float, float]]:
    """For 0, 1, … differing cases: the most gains at which the sign test rejects (or -1), and two binomials.

    The first is the number of ways to choose that many gains from the differing cases. The second is the number of ways
    to choose the previous entry's gains from one case fewer.
    """
    found = []
    most, ways = -1, 0  # `ways` counts the sets with at most `most` gains
    for differing in range(cases + 1):
        before = math.comb(differing - 1, most) if most >= 0 else 0
        ways = 2 * ways - before if most >= 0 else 0
        more = ways + math.comb(differing, most + 1)
        if more <= alpha * 2**differing:
            most, ways = most + 1, more
        found.append((most, float(math.comb(differing, most)) if most >= 0 else 0.0, float(before)))
    return found


# Simulated runs.


def _drawn(laws: Sequence[CaseLaw], alpha: float, power: float) -> float | None:
    random = Random(_SEED)
    test = _DrawnTest(laws, alpha)
    found = sorted(test.threshold(random.random) for _ in range(DRAWS))
    shift = found[math.ceil(power * DRAWS - 1e-9) - 1]
    return None if math.isinf(shift) else shift


class _DrawnTest:
    """Simulates pairs of runs with rates from these distributions, and tests them exactly in floating point."""

    def __init__(self, laws: Sequence[CaseLaw], alpha: float) -> None:
        self._alpha = alpha
        self._cases = [
            case
            for law, number in zip(laws, _whole(laws), strict=True)
            for case in [(law.n_old, law.n_new, *_cumulated(law))] * number
        ]
        self._null = {
            (n_old, n_new, both): _null(n_old, n_new, both)
            for n_old, n_new in {(law.n_old, law.n_new) for law in laws}
            for both in range(n_old + n_new + 1)
        }
        self._summed: dict[tuple[tuple[int, int, int], ...], list[float]] = {(): [1.0]}

    def threshold(self, uniform: Callable[[], float]) -> float:
        """Simulate rates and both runs; return the smallest shift at which the test rejects, or infinity."""
        passed_old, events = [], []
        for i, (n_old, n_new, rates, cumulated) in enumerate(self._cases):
            rate = rates[min(bisect_left(cumulated, uniform()), len(rates) - 1)]
            passed_old.append(sum(uniform() < rate for _ in range(n_old)))
            events += [(gap, i) for gap in (rate - uniform() for _ in range(n_new)) if gap > 0]
        events.sort()  # from a shift of `gap` on, this pass is a failure

        def rejects(fallen: int) -> bool:
            passed = passed_old.copy()
            for _, i in events[fallen:]:
                passed[i] += 1
            return self._rejects(passed, len(events) - fallen)

        if not rejects(len(events)):
            return math.inf
        low, high = -1, len(events)  # once the test rejects, it rejects with every further failure too
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rejects(middle) else (middle, high)
        return events[high - 1][0] if high else 0.0

    def _rejects(self, passed: Sequence[int], passed_new: int) -> bool:
        """Whether so few new passes are significant; `passed` has the passes of both runs by case.

        Exact if the variance is small, else by the Edgeworth series for a lattice.
        """
        kinds = [(n_old, n_new, both) for (n_old, n_new, _, _), both in zip(self._cases, passed, strict=True)]
        mean = variance = third = fourth = 0.0
        for kind in kinds:
            null = self._null[kind]
            mean += null.mean
            variance += null.variance
            third += null.third
            fourth += null.fourth
        if not variance:
            return False
        if variance > _MUCH_CHANCE:
            return _edgeworth(passed_new, mean, variance, third, fourth) <= self._alpha
        law = self._law_of_sum(tuple(sorted(kinds)))
        return math.fsum(law[: passed_new + 1]) <= self._alpha * (1 + SAME)  # a p-value equal to alpha rejects

    def _law_of_sum(self, kinds: tuple[tuple[int, int, int], ...]) -> list[float]:
        """The distribution of the sum, cached by prefix because many sums begin with the same terms."""
        found = self._summed.get(kinds)
        if found is None:
            shorter, chances = self._law_of_sum(kinds[:-1]), self._null[kinds[-1]].chances
            found = [0.0] * (len(shorter) + len(chances) - 1)
            for i, a in enumerate(shorter):
                for j, b in enumerate(chances):
                    found[i + j] += a * b
            self._summed[kinds] = found
        return found


def _whole(laws: Sequence[CaseLaw]) -> list[int]:
    """Whole numbers of cases: where fractions of a case are planned, the largest remainders are rounded up."""
    wanted = round(math.fsum(law.cases for law in laws))
    whole = [math.floor(law.cases + 1e-9) for law in laws]
    by_remainder = sorted(range(len(laws)), key=lambda i: (whole[i] - laws[i].cases, i))
    for i in by_remainder[: max(0, wanted - sum(whole))]:
        whole[i] += 1
    return whole


def _cumulated(law: CaseLaw) -> tuple[list[float], list[float]]:
    nodes = law.nodes(_NODES)
    return [p for p, _ in nodes], list(accumulate(weight for _, weight in nodes))


class _Null(NamedTuple):
    """The hypergeometric distribution of a case's new passes: four cumulants, and the probability of 0, 1, … passes."""

    mean: float
    variance: float
    third: float
    fourth: float
    chances: list[float]


def _null(n_old: int, n_new: int, both: int) -> _Null:
    ways = math.comb(n_old + n_new, both)
    chances = [math.comb(n_new, c) * math.comb(n_old, both - c) / ways if c <= both else 0.0 for c in range(n_new + 1)]
    if both in (0, n_old + n_new):
        return _Null(float(n_new if both else 0), 0.0, 0.0, 0.0, chances)
    mean = math.fsum(c * p for c, p in enumerate(chances))
    second, third, fourth = (math.fsum((c - mean) ** r * p for c, p in enumerate(chances)) for r in (2, 3, 4))
    return _Null(mean, second, third, fourth - 3 * second**2, chances)


def _edgeworth(passed: int, mean: float, variance: float, third: float, fourth: float) -> float:
    """The Edgeworth series with a continuity correction.

    Adding the variance and fourth cumulant of a uniform unit interval makes a continuous distribution match the
    lattice.
    """
    variance, fourth = variance + 1 / 12, fourth - 1 / 120
    sd = math.sqrt(variance)
    x, skew, excess = (passed + 0.5 - mean) / sd, third / sd**3, fourth / variance**2
    series = skew / 6 * (x * x - 1) + excess / 24 * (x**3 - 3 * x) + skew**2 / 72 * (x**5 - 10 * x**3 + 15 * x)
    return _STANDARD.cdf(x) - _STANDARD.pdf(x) * series


# The normal approximation.


def _normal_power(laws: Sequence[CaseLaw], alpha: float) -> Callable[[float], float]:
    """P(new passes lie z standard deviations below their mean under the null), where mean and deviation are random too.

    The standard deviation depends on the same passes; it is approximated as linear in them.
    """
    z = _STANDARD.inv_cdf(1 - alpha)
    number = _nodes_for(laws)
    rates = [(law, law.nodes(number)) for law in laws]

    def power_of(shift: float) -> float:
        short = null = 0.0
        parts = []
        for law, nodes in rates:
            n_old, n_new, n = law.n_old, law.n_new, law.n_old + law.n_new
            scale, both = n_old * n_new / (n * n * (n - 1)), n_old * n_new / n
            passes = chance_old = chance_new = spread = lost = lost2 = 0.0
            for p, weight in nodes:
                q = p - shift if p > shift else 0.0
                a, b, total = p * (1 - p), q * (1 - q), n_old * p + n_new * q
                passes += weight * total
                chance_old += weight * a
                chance_new += weight * b
                spread += weight * (total * (n - total) - n_old * a - n_new * b)
                lost += weight * (p - q)
                lost2 += weight * (p - q) ** 2
            short += law.cases * lost * both
            null += law.cases * scale * spread
            slope = scale * (n - 2 * passes)
            between = max(0.0, lost2 - lost * lost) * both**2
            parts.append((law, n_old * chance_old, n_new * chance_new, slope, between))
        if null <= 0:
            return 0.0
        error = math.sqrt(null + 1 / 12)
        pull = z / (2 * error)
        variance = math.fsum(
            law.cases
            * (
                chance_old * (pull * slope - law.n_new / (law.n_old + law.n_new)) ** 2
                + chance_new * (pull * slope + law.n_old / (law.n_old + law.n_new)) ** 2
                + between
            )
            for law, chance_old, chance_new, slope, between in parts
        )
        return _STANDARD.cdf((short - 0.5 - z * error) / math.sqrt(variance + 1 / 12))

    return power_of
