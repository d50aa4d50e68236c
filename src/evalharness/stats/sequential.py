"""Stopping early without more false alarms: e-values, confidence sequences, and Wald's sequential test.

An e-value measures evidence against a claim and may be checked after every trial: if the claim is true, the chance that
it ever reaches 1/alpha is at most alpha. e-values of several cases may be averaged, but multiplied only if they are
independent. p-values do not allow this: checking after every pair turns 5 % false alarms into 14-17 %. Sums are kept as
logarithms. An e-value beyond the largest float is returned as that float, which understates it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal

from evalharness.errors import UsageError
from evalharness.stats.beta import log_beta
from evalharness.stats.intervals import Interval
from evalharness.stats.thresholds import ALPHA, BETA, LEVEL

_MOST_TRIALS = 100_000
_LOG_LARGEST = math.log(sys.float_info.max)


def e_value_discordant_pairs(b: int, c: int) -> float:
    """Evidence that pairs of trials get worse (b so far) more often than better (c so far); McNemar's test at any time.

    Each stored baseline trial belongs to one pair only; pairs that agree do not count.
    """
    _check_counts(b, c)
    # The likelihood ratio against a fair coin, averaged over all chances of "worse" from ½ to 1.
    return _e_value((b + c + 1) * math.log(2) + _log_incomplete_beta(0.5, c + 1, b + 1))


def e_value_floor(s: int, f: int, p0: float) -> float:
    """Evidence that the pass rate lies below p0, after s passes and f fails."""
    _check_counts(s, f)
    _check_rate("p0", p0)
    # The likelihood ratio against p0, averaged over all rates from 0 to p0.
    return _e_value(_log_incomplete_beta(p0, s + 1, f + 1) - (s + 1) * math.log(p0) - f * math.log1p(-p0))


def confidence_sequence(s: int, f: int, level: float = LEVEL) -> Interval:
    """An interval for the pass rate that is valid at all times at once, no matter how often it is checked.

    It is 1.6 to 1.8 times as wide as Wilson's, which is valid for a number of trials fixed in advance.
    """
    _check_counts(s, f)
    if not 0 < level < 1:
        raise UsageError(f"a confidence level must be between 0 and 1, got {level}")
    return Interval(
        low=_lower_end(s, f, level),
        high=1 - _lower_end(f, s, level),
        level=level,
        method="confidence sequence (valid at any time)",
        n_eff=float(s + f),
    )


@dataclass(frozen=True, slots=True)
class Sprt:
    """Wald's sequential probability ratio test of a pass rate p0 (good) against p1 (too low).

    `alpha` limits the chance of deciding for p1 if p0 is true, `beta` the chance of the opposite mistake.
    """

    p0: float
    p1: float
    alpha: float = ALPHA
    beta: float = BETA

    def __post_init__(self) -> None:
        _check_design(self.p0, self.p1, self.alpha, self.beta)

    @property
    def upper(self) -> float:
        return math.log((1 - self.beta) / self.alpha)

    @property
    def lower(self) -> float:
        return math.log(self.beta / (1 - self.alpha))

    def log_likelihood_ratio(self, passes: int, fails: int) -> float:
        """How much better p1 explains the trials than p0 does."""
        _check_counts(passes, fails)
        return passes * math.log(self.p1 / self.p0) + fails * math.log((1 - self.p1) / (1 - self.p0))

    def decision(self, passes: int, fails: int) -> Literal["p0", "p1", "continue"]:
        """The decision after the trials so far. The first decision counts, even if later trials would change it."""
        ratio = self.log_likelihood_ratio(passes, fails)
        if ratio >= self.upper:
            return "p1"
        return "p0" if ratio <= self.lower else "continue"


@dataclass(frozen=True, slots=True)
class FixedDesign:
    """Run `trials` trials; the rate is too low if at most `too_low_at` pass."""

    trials: int
    too_low_at: int


def fixed_design(p0: float, p1: float, alpha: float = ALPHA, beta: float = BETA) -> FixedDesign:
    """The fewest trials that distinguish p0 from p1 with the same two risks as `Sprt`, all run before looking."""
    _check_design(p0, p1, alpha, beta)
    good, low = _Binomial(p0), _Binomial(p1)
    for _ in range(_MOST_TRIALS):
        good, low = good.one_more_trial(), low.one_more_trial()
        if good.one_more_pass().at_most <= alpha:  # the most passes that may still count as too low
            good, low = good.one_more_pass(), low.one_more_pass()
        if low.at_most >= 1 - beta and good.at_most <= alpha:
            return FixedDesign(low.trials, low.passes)
    raise UsageError(f"{p0:.10g} and {p1:.10g} are too close for {_MOST_TRIALS:,} trials to distinguish")


@dataclass(frozen=True, slots=True)
class _Binomial:
    """The chance of at most, and of exactly, `passes` passes in `trials` trials, updated step by step."""

    p: float
    trials: int = 0
    passes: int = 0
    at_most: float = 1.0
    exactly: float = 1.0

    def one_more_trial(self) -> _Binomial:
        trials = self.trials + 1
        exactly = self.exactly * trials * (1 - self.p) / (trials - self.passes)
        return _Binomial(self.p, trials, self.passes, self.at_most - self.p * self.exactly, exactly)

    def one_more_pass(self) -> _Binomial:
        passes = self.passes + 1
        exactly = self.exactly * (self.trials - self.passes) * self.p / (passes * (1 - self.p))
        return _Binomial(self.p, self.trials, passes, self.at_most + exactly, exactly)


def _log_incomplete_beta(x: float, a: float, b: float) -> float:
    """log of the integral of t^(a-1)·(1-t)^(b-1) from 0 to x."""
    if x > a / (a + b):  # beyond the mean: the whole minus the rest, which is usually the smaller part
        whole = log_beta(a, b)
        return whole + math.log1p(-math.exp(_log_incomplete_beta(1 - x, b, a) - whole))
    term = total = 1.0
    k = 0
    while term > total * 1e-17:
        term *= x * (a + b + k) / (a + 1 + k)
        total += term
        k += 1
    return a * math.log(x) + b * math.log1p(-x) - math.log(a) + math.log(total)


def _lower_end(s: int, f: int, level: float) -> float:
    """The smallest rate whose likelihood is at least (1 - level) times that of the uniform mixture of all rates."""
    if not s:
        return 0.0
    limit = log_beta(s + 1, f + 1) + math.log1p(-level)
    outside, inside = 0.0, s / (s + f)
    while outside < (middle := (outside + inside) / 2) < inside:
        fails = f * math.log1p(-middle) if f else 0.0
        if s * math.log(middle) + fails > limit:
            inside = middle
        else:
            outside = middle
    return inside


def _e_value(log_e: float) -> float:
    return math.exp(log_e) if log_e < _LOG_LARGEST else sys.float_info.max


def _check_design(p0: float, p1: float, alpha: float, beta: float) -> None:
    if not 0 < p1 < p0 < 1:
        raise UsageError(f"the rates must satisfy 0 < p1 < p0 < 1, got p0 = {p0:.10g} and p1 = {p1:.10g}")
    for name, value in (("alpha", alpha), ("beta", beta)):
        _check_rate(name, value)
    if alpha + beta >= 1:
        raise UsageError(f"alpha + beta must be below 1, got {alpha} + {beta}")


def _check_rate(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} must be between 0 and 1, got {value}")


def _check_counts(one: int, other: int) -> None:
    if one < 0 or other < 0:
        raise UsageError(f"counts cannot be negative, got {one} and {other}")
