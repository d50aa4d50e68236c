"""Check whether a published row of pass^1 … pass^n can be true, without the trials.

With n trials for each of M cases, pass^1 … pass^n determine how many cases passed 0, 1, … n times. If these numbers are
negative or not whole, the row cannot come from complete trials under the unbiased estimator C(c,k)/C(n,k). If only some
of the values are reported, every two must still fit together. A row that passes this check may still be wrong. A row
that fails may use another estimator, or cases with missing trials.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal, NamedTuple

from evalharness.errors import UsageError

# Unrounded floats differ from the true share by less than this.
_FULL_PRECISION = 1e-9
_MOST_STEPS = 100_000


class Objection(NamedTuple):
    """Why figures cannot all be true: the kind of contradiction and the numbers that show it.

    `above`: pass^k is above pass^j. `least`: pass^k is below the least value that pass^j at `rate` allows. `cases`: the
    number of cases with that many passes would be impossible. `together`: no whole numbers give all figures. `untried`:
    there are too many candidates to try.
    """

    kind: Literal["above", "least", "cases", "together", "untried"]
    numbers: dict[str, float]


@dataclass(frozen=True, slots=True)
class PassHatInversion:
    """`counts[j]` is the number of cases that passed j times according to the figures; not whole if rounded or wrong.

    `histogram` is one of whole numbers that gives these figures, or None if none was found; with rounded figures there
    may be others. `objection` is None if there is no contradiction.
    """

    counts: tuple[float, ...]
    histogram: tuple[int, ...] | None
    possible: bool
    objection: Objection | None


def histogram_from_pass_hats(pass_1_to_n: Sequence[float], cases: int, decimals: int | None = None) -> PassHatInversion:
    """How many of `cases` passed 0 … n times, and whether any histogram of whole numbers gives the figures.

    `decimals` is the number of decimals the shares (0.273, not 27.3) were rounded to; None if they are not rounded.
    """
    _check(pass_1_to_n, cases)
    slack = _slack(decimals)
    counts = _inverted(pass_1_to_n, cases)
    histogram, tried_all = _whole_histogram(pass_1_to_n, cases, slack)
    if histogram:
        return PassHatInversion(counts, histogram, True, None)
    if not tried_all:
        return PassHatInversion(counts, None, True, Objection("untried", {}))
    return PassHatInversion(counts, None, False, _objection(counts, cases, slack))


def is_possible_rate(rate: float, trials: int, decimals: int | None = None) -> bool:
    """Whether some number of passes in `trials` gives this rate. For example, 64.2 % is not a multiple of 1/200."""
    if trials < 1:
        raise UsageError(f"a rate needs at least 1 trial, got {trials}")
    if not 0 <= rate <= 1:
        return False
    return abs(round(rate * trials) / trials - rate) <= _slack(decimals)


def contradiction(
    rates: Mapping[int, float], trials: int | None = None, decimals: int | None = None
) -> Objection | None:
    """Why two of these rates (by k, as shares) cannot both be true, or None. `trials` is the number per case, if known.

    A case that passed c of n trials contributes the point (C(c,j)/C(n,j), C(c,k)/C(n,k)), and the reported rates are
    means of such points. So pass^k lies on or below pass^j, and on or above the convex chain of these points.
    """
    slack = _slack(decimals)
    by_passes = {k: _by_passes(k, trials) for k in rates} if trials is not None else {}
    for j, k in combinations(sorted(rates), 2):
        if rates[k] - slack > rates[j] + slack:
            return Objection("above", {"j": j, "k": k})
        least = _on_chain(rates[j] - slack, by_passes[j], by_passes[k]) if by_passes else 0.0
        if least > rates[k] + slack:
            return Objection("least", {"j": j, "k": k, "rate": rates[j], "least": least})
    return None


def _by_passes(k: int, trials: int) -> list[float]:
    """C(c,k)/C(n,k) for c = 0 … n passes, computed from the top: each value is the one above times (c-k)/c."""
    shares = [1.0]
    for passes in range(trials, 0, -1):
        shares.append(shares[-1] * max(0, passes - k) / passes)
    return shares[::-1]


def _on_chain(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The height of the chain at x, interpolated between the two neighbouring numbers of passes."""
    above = bisect_right(xs, x)
    if above in (0, len(xs)):
        return ys[max(0, above - 1)]
    return ys[above - 1] + (ys[above] - ys[above - 1]) * (x - xs[above - 1]) / (xs[above] - xs[above - 1])


def _inverted(pass_1_to_n: Sequence[float], cases: int) -> tuple[float, ...]:
    """The exact inverse of pass^k = mean of C(c,k)/C(n,k), with fractions because its sums alternate."""
    shares = [Fraction(1), *map(Fraction, pass_1_to_n)]
    n = len(pass_1_to_n)
    return tuple(
        float(cases * math.comb(n, j) * sum((-1) ** i * math.comb(n - j, i) * shares[j + i] for i in range(n - j + 1)))
        for j in range(n + 1)
    )


def _whole_histogram(pass_1_to_n: Sequence[float], cases: int, slack: float) -> tuple[tuple[int, ...] | None, bool]:
    """A histogram that gives the figures within `slack`, and whether all candidates were tried.

    pass^n fixes how many cases passed n times, then pass^(n-1) how many passed n-1 times, and so on. Rounding leaves a
    few whole numbers at each step; the likeliest are tried first.
    """
    n = len(pass_1_to_n)
    untried: list[tuple[int, ...]] = [()]  # numbers of cases that passed n, n-1, … times, chosen so far
    for _ in range(_MOST_STEPS):
        if not untried:
            return None, True
        chosen = untried.pop()
        left = cases - sum(chosen)
        k = n - len(chosen)
        if not k:
            return (left, *reversed(chosen)), True
        draws = math.comb(n, k)
        above = sum(count * math.comb(n - place, k) for place, count in enumerate(chosen))
        middle, half = cases * draws * pass_1_to_n[k - 1] - above, cases * draws * slack
        fitting = range(max(0, math.ceil(middle - half)), min(left, math.floor(middle + half)) + 1)
        untried += [(*chosen, count) for count in sorted(fitting, key=lambda count: -abs(count - middle))]
    return None, False


def _objection(counts: Sequence[float], cases: int, slack: float) -> Objection:
    n = len(counts) - 1
    for passes, count in sorted(enumerate(counts), key=lambda each: each[1]):  # negative counts first
        # Every figure involved may be off by the slack, except pass^0, which is 1 by definition.
        figures = 2 ** (n - passes) - (not passes)
        margin = cases * math.comb(n, passes) * figures * slack
        if math.floor(count + margin) < max(0, math.ceil(count - margin)) or count - margin > cases:
            return Objection("cases", {"number": count, "cases": cases, "passes": passes, "trials": n})
    return Objection("together", {})


def _slack(decimals: int | None) -> float:
    if decimals is not None and decimals < 0:
        raise UsageError(f"decimals cannot be negative, got {decimals}")
    return _FULL_PRECISION if decimals is None else 0.5 * 10.0**-decimals + _FULL_PRECISION


def _check(pass_1_to_n: Sequence[float], cases: int) -> None:
    if not pass_1_to_n:
        raise UsageError("needs at least pass^1")
    if cases < 1:
        raise UsageError(f"needs at least 1 case, got {cases}")
    if not all(0 <= share <= 1 for share in pass_1_to_n):
        raise UsageError("every pass^k must be between 0 and 1", hint="write 42 % as 0.42")
