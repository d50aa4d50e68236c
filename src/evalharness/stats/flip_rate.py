"""How often a case changes its result when nothing changed, and how often a gate on flips then raises false alarms.

Which cases are quarantined, and which runs can be counted together, is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile
from evalharness.stats.medians import quantile
from evalharness.stats.rate_laws import law_of_counts

_FEWEST_CASES, _FEWEST_TRIALS = 5, 4
_RESAMPLES = 200
_LOW_TAIL, _HIGH_TAIL, _ALIKE_TAIL = 0.02, 0.01, 0.05
"""Tail probabilities of the range. With 5 % at each end, too many ranges missed the truth."""
_MOST_DRAWN = 100
"""With more watched cases, a sample of this size represents all of them."""
_SEED = 17


def flip_rate(n: int, c: int) -> float | None:
    """The chance that two trials of a case disagree, given c passes in n; unbiased; None with fewer than two trials."""
    _check(n, c)
    return 2 * c * (n - c) / (n * (n - 1)) if n > 1 else None


def flip_alarm_range(
    known: Sequence[tuple[int, int]], watched: Sequence[bool], new_trials: int, *, all_must_fail: bool = False
) -> tuple[float, float] | None:
    """The 90 % range of the chance that a rule on flips raises an alarm although nothing changed.

    `known` has (trials, passes) of each case, from the baseline and its history together. `watched` marks the cases
    that passed every trial of the baseline. An alarm means that a watched case fails one of `new_trials`, or all of
    them with `all_must_fail`. None with fewer than five cases, or if a case has fewer than four trials.

    Cases are resampled with their trials (Bayesian bootstrap). The distribution of pass rates is fitted to each sample,
    and each watched case draws a rate from it, updated by its own trials. A case that never failed may be certain to
    pass, so it counts for the upper end only. The upper end is also at least the chance of an alarm if all watched
    cases are alike and fail as often as their trials allow: few trials without a failure do not prove that there is
    none.
    """
    for n, c in dict.fromkeys(known):
        _check(n, c)
    if new_trials < 1:
        raise UsageError(f"a new run has at least 1 trial per case, got {new_trials}")
    if len(known) < _FEWEST_CASES or min(n for n, _ in known) < _FEWEST_TRIALS:
        return None
    kinds = sorted(Counter(known).items())
    seen = sorted(count for count, is_watched in zip(known, watched, strict=True) if is_watched)
    drawn = [seen[i * len(seen) // _MOST_DRAWN] for i in range(_MOST_DRAWN)] if len(seen) > _MOST_DRAWN else seen
    each = len(seen) / len(drawn) if drawn else 0.0

    def quiet_at(rate: float) -> float:
        return 1 - (1 - rate) ** new_trials if all_must_fail else rate**new_trials

    random = Random(_SEED)
    lows, highs = [], []
    for _ in range(_RESAMPLES):
        mean, weight = law_of_counts([(kind, random.gammavariate(cases, 1.0)) for kind, cases in kinds])
        quiet_at_least = quiet_at_most = 1.0
        for n, c in drawn:
            quiet = quiet_at(random.betavariate(mean * weight + c, (1 - mean) * weight + n - c))
            quiet_at_least *= quiet
            quiet_at_most *= quiet if c < n else 1.0
        lows.append(1 - quiet_at_most**each)
        highs.append(1 - quiet_at_least**each)
    return quantile(sorted(lows), _LOW_TAIL), max(quantile(sorted(highs), 1 - _HIGH_TAIL), _if_alike(seen, quiet_at))


def _if_alike(watched: Sequence[tuple[int, int]], quiet_at: Callable[[float], float]) -> float:
    """The chance of an alarm at the lowest pass rate that is compatible with the trials of these cases together."""
    if not watched:
        return 0.0
    trials, passes = sum(n for n, _ in watched), sum(c for _, c in watched)
    return 1 - quiet_at(beta_quantile(_ALIKE_TAIL, passes, trials - passes + 1)) ** len(watched)


def _check(n: int, c: int) -> None:
    if not 0 <= c <= n:
        raise UsageError(f"passes must be between 0 and the {n} trials, got {c}")
