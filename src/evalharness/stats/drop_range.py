"""The smallest drop that is found with a given power, or the range in which it lies, as far as results show the rates.

`exact_power.py` names the drop if the distribution of the cases' rates is known. Its mean and its mean p(1-p) are
estimated. With enough repeated trials, the drop at the estimates is found as often as promised. Otherwise several
distributions fit the results about as well, and the drop lies between the smallest and the largest of theirs:

- One trial per case shows little of how much the cases differ. In two compared runs, only the number of cases with
  different results shows it. A single run shows nothing: cases may be alike, or each may always pass or always fail.
- Few trials leave the mean rate uncertain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evalharness.stats.beta import beta_quantile
from evalharness.stats.exact_power import smallest_drop
from evalharness.stats.rate_laws import (
    CaseLaw,
    Moments,
    Row,
    laws_of_history,
    laws_of_rows,
    moments_of_counts,
    moments_of_rows,
    shared_laws,
)

Unknown = Literal["", "spread", "rate"]
"""What the results do not show well enough: how much the cases differ, or the pass rate."""
ENOUGH_TRIALS = 100
"""Trials per run that make the estimates good enough for one number, if trials are repeated."""
_UNLIKE_BETA = 0.03
"""How much more often a drop is found where the rates do not follow a Beta distribution, at most (simulated)."""
_MEANS = (0.15, 0.5, 0.85)
"""Quantiles of the mean rate; outside lie 3 of 10 possible means."""
_CHANCES = (0.3, 0.7)
"""Quantiles of the mean p(1-p), from the number of cases that differ between two runs of one trial."""


@dataclass(frozen=True, slots=True)
class DropRange:
    """The smallest drop lies between `low` and `high`; they are equal if nothing is `unknown`.

    None: with such rates, not even failing every trial is found with the power asked for.
    """

    low: float | None
    high: float | None
    unknown: Unknown = ""

    @classmethod
    def of(cls, drop: float | None) -> DropRange:
        """One number."""
        return cls(drop, drop)

    def changed(self, end: Callable[[float | None], float | None]) -> DropRange:
        """With both ends changed in the same way; one number if they become equal."""
        low, high = end(self.low), end(self.high)
        return DropRange(low, high, "" if low == high else self.unknown)


def drops_of_rows(rows: Iterable[Row], alpha: float, power: float) -> DropRange:
    """For two compared runs."""
    rows = list(rows)
    trials = sum(n_old + n_new for n_old, _, n_new, _ in rows)
    is_single = trials == 2 * len(rows)
    if trials >= 2 * ENOUGH_TRIALS and not is_single:
        return DropRange.of(smallest_drop(laws_of_rows(rows), alpha, power))
    seen, sizes = moments_of_rows(rows), Counter((n_old, n_new) for n_old, _, n_new, _ in rows)
    chances: list[float | None] = [seen.chance]
    if is_single:
        differing = sum(c_old != c_new for _, c_old, _, c_new in rows)
        chances = [beta_quantile(q, differing + 0.5, len(rows) - differing + 0.5) / 2 for q in _CHANCES]
    laws = [shared_laws(each, sizes) for each in _possible(seen, trials, len(rows), chances)]
    return _range(laws, alpha, power, "spread" if is_single else "rate")


def drops_of_history(
    counts: Iterable[tuple[int, int]], cases: int, trials: int, alpha: float, power: float
) -> DropRange:
    """For `cases` with `trials` each in both runs, from (trials, passes) of earlier cases.

    Without any result the rates are assumed, and the drop is one number.
    """
    counts = [(n, c) for n, c in counts if n]
    known = sum(n for n, _ in counts)
    is_single = known == len(counts)
    if not counts or (known >= ENOUGH_TRIALS and not is_single):
        return DropRange.of(smallest_drop(laws_of_history(counts, cases, trials), alpha, power))
    seen = moments_of_counts([(each, 1) for each in counts])
    possible = _possible(seen, known, len(counts), [0.0, None] if is_single else [seen.chance])
    laws = [shared_laws(each, {(trials, trials): cases}) for each in possible]
    return _range(laws, alpha, power, "spread" if is_single else "rate")


def _possible(seen: Moments, trials: int, cases: int, chances: Sequence[float | None]) -> list[Moments]:
    """All combinations of possible means with the possible chances.

    The mean is as uncertain as that of independent trials, fewer where trials of a case resemble each other.
    """
    independent = trials / (1 + (trials / cases - 1) * (1 - seen.share))
    passes, fails = seen.mean * independent, (1 - seen.mean) * independent
    means = [beta_quantile(q, passes + 0.5, fails + 0.5) for q in _MEANS]
    return [Moments(mean, chance) for mean in means for chance in chances]


def _range(laws: Sequence[Sequence[CaseLaw]], alpha: float, power: float, unknown: Unknown) -> DropRange:
    """Between the drops of these distributions; the lower end allows for other kinds of distributions, too."""
    drops = [(drop, each) for each in laws if (drop := smallest_drop(each, alpha, power)) is not None]
    if not drops:
        return DropRange(None, None)
    _, easiest = min(drops, key=lambda pair: pair[0])
    low = smallest_drop(easiest, alpha, max(power - _UNLIKE_BETA, power / 2))
    return DropRange(low, max(drop for drop, _ in drops) if len(drops) == len(laws) else None, unknown)
