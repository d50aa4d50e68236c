"""How often a case changes its answer when nothing changed, and what that does to a gate that fails on any flip.

Whether a case is quarantined, and which runs are comparable enough to be counted together, is decided elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.errors import UsageError

# Belief about a case nobody has seen: every pass rate is equally likely (mean ½, mean of p·(1-p) 1/6, weight 2).
_UNSEEN_MEAN, _UNSEEN_NOISE, _UNSEEN_WEIGHT = 1 / 2, 1 / 6, 2.0
_NO_SPREAD_BETWEEN_CASES = 1e6


def flip_rate(n: int, c: int) -> float | None:
    """Chance that two trials of a case disagree, given c passes in n; unbiased; None if there are not two trials."""
    _check(n, c)
    return 2 * c * (n - c) / (n * (n - 1)) if n > 1 else None


@dataclass(frozen=True, slots=True)
class StrictFlips:
    """Chances that the rule "a case that always passed must not fail now" raises an alarm though nothing changed.

    `false_alarm` is that of any two such runs, `false_alarm_now` that of one more run against this very baseline, in
    which `watched` cases passed every trial. A case takes part with the Beta law that was fitted to all cases, with
    mean `mean_pass_rate` and weight `prior_trials` (few: cases differ much, and most are sure; many: all are alike).
    """

    false_alarm: float
    false_alarm_now: float
    watched: int
    mean_pass_rate: float
    prior_trials: float


def strict_flips_false_alarm(counts: Sequence[tuple[int, int]], new_trials: int | None = None) -> StrictFlips | None:
    """What `--strict-flips` would cost an unchanged agent; None without trials.

    `counts` holds (trials, passes) of each baseline case; a new run has `new_trials` per case, or as many as before.
    A case's own share of passes will not do as its pass rate: 4 of 4 is not certainty, and one trial says nothing
    about noise. So pass rates are taken to follow a Beta law with the mean and the noise, c(n-c)/(n(n-1)), of all
    cases and one imaginary unseen case, which keeps a faultless baseline from promising no alarm at all. Where no case
    was tried twice, the law gets the weight of an unseen one.

    An estimate, not a bound. Simulated agents (8 to 100 cases) came out within 5 points where failures are common; up
    to 17 points too low where rare failures strike all cases alike, 13 too high where nearly all cases are sure.
    """
    for n, c in dict.fromkeys(counts):
        _check(n, c)
    if new_trials is not None and new_trials < 1:
        raise UsageError(f"a new run has at least 1 trial per case, got {new_trials}")
    tried = [(n, c) for n, c in counts if n]
    if not tried:
        return None
    mean, weight = _fitted(tried)
    passes, fails = mean * weight, (1 - mean) * weight
    log_silent = log_silent_now = 0.0
    sure = Counter([n for n, c in tried if c == n])
    for n, cases in Counter([n for n, _ in tried]).items():
        always, repeats = _all_pass(passes, fails, n), _all_pass(passes + n, fails, new_trials or n)
        log_silent += cases * math.log1p(-always * (1 - repeats))
        log_silent_now += sure[n] * math.log(repeats)
    alarms = (0.0 - math.expm1(log_silent), 0.0 - math.expm1(log_silent_now))  # a minus sign alone would give -0.0
    return StrictFlips(*alarms, sure.total(), mean, weight)


def _fitted(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Mean and weight (in trials) of the Beta law of pass rates, by its moments."""
    mean = (math.fsum([c / n for n, c in counts]) + _UNSEEN_MEAN) / (len(counts) + 1)
    noises = [c * (n - c) / (n * (n - 1)) for n, c in counts if n > 1]
    if not noises:
        return mean, _UNSEEN_WEIGHT
    noise = (math.fsum(noises) + _UNSEEN_NOISE) / (len(noises) + 1)
    between = mean * (1 - mean) - noise
    return mean, min(noise / between, _NO_SPREAD_BETWEEN_CASES) if between > 0 else _NO_SPREAD_BETWEEN_CASES


def _all_pass(passes: float, fails: float, trials: int) -> float:
    """Chance that so many trials all pass if the pass rate is Beta(passes, fails)."""
    return math.exp(math.fsum(-math.log1p(fails / (passes + done)) for done in range(trials)))


def _check(n: int, c: int) -> None:
    if not 0 <= c <= n:
        raise UsageError(f"passes must lie between 0 and the {n} trials, got {c}")
