"""Can a published row of pass^1 … pass^n be true? A check that needs no trial rows.

With n trials for each of M cases, pass^1 … pass^n together determine how many cases passed 0, 1, … n times. If these
numbers are not whole, or below 0, the row cannot come from complete trials under the unbiased estimator C(c,k)/C(n,k).
Where only some of them are reported, every two must still fit together. A row that passes may still be wrong; one that
fails may use another estimator, or cases with missing trials.
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

# Floats written in full differ from the true share by less than this.
_FULL_PRECISION = 1e-9
_MOST_STEPS = 100_000


class Objection(NamedTuple):
    """Why figures cannot go together, by its kind and the numbers that show it.

    `above`: pass^k above pass^j. `least`: pass^k below what pass^j at `rate` leaves. `cases`: so many cases would have
    to have passed so many trials. `together`: no whole numbers give all figures. `untried`: too many would fit.
    """

    kind: Literal["above", "least", "cases", "together", "untried"]
    numbers: dict[str, float]


@dataclass(frozen=True, slots=True)
class PassHatInversion:
    """`counts[j]` cases passed j times, as the figures say it (not whole if rounded or wrong).

    `histogram` is a whole-numbered one that gives these figures, if there is one and it was found; after rounding
    others may exist. `objection` is None if all is well.
    """

    counts: tuple[float, ...]
    histogram: tuple[int, ...] | None
    possible: bool
    objection: Objection | None


def histogram_from_pass_hats(pass_1_to_n: Sequence[float], cases: int, decimals: int | None = None) -> PassHatInversion:
    """How many of `cases` passed 0 … n times, and whether any whole-numbered histogram gives the figures.

    `decimals` is how many decimals the shares (0.273, not 27.3) were rounded to; None for figures in full.
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
    """Whether some number of passes in `trials` gives this rate: 64.2 % is no multiple of 1/200."""
    if trials < 1:
        raise UsageError(f"a rate needs at least 1 trial, got {trials}")
    if not 0 <= rate <= 1:
        return False
    return abs(round(rate * trials) / trials - rate) <= _slack(decimals)


def contradiction(
    rates: Mapping[int, float], trials: int | None = None, decimals: int | None = None
) -> Objection | None:
    """Why two of these rates (by k, as shares) cannot both be true, or None; `trials` per case if they are known.

    A case that passed c of n trials adds the point (C(c,j)/C(n,j), C(c,k)/C(n,k)), and reported are means of such
    points: so pass^k lies on or below pass^j, and on or above the convex chain of these points.
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
    """C(c,k)/C(n,k) of a case that passed c = 0 … n trials, from the top: each is the one above times (c-k)/c."""
    shares = [1.0]
    for passes in range(trials, 0, -1):
        shares.append(shares[-1] * max(0, passes - k) / passes)
    return shares[::-1]


def _on_chain(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The height of the chain above x, between the two numbers of passes next to it."""
    above = bisect_right(xs, x)
    if above in (0, len(xs)):
        return ys[max(0, above - 1)]
    return ys[above - 1] + (ys[above] - ys[above - 1]) * (x - xs[above - 1]) / (xs[above] - xs[above - 1])


def _inverted(pass_1_to_n: Sequence[float], cases: int) -> tuple[float, ...]:
    """The exact inverse of pass^k = mean of C(c,k)/C(n,k): fractions, because its sums alternate."""
    shares = [Fraction(1), *map(Fraction, pass_1_to_n)]
    n = len(pass_1_to_n)
    return tuple(
        float(cases * math.comb(n, j) * sum((-1) ** i * math.comb(n - j, i) * shares[j + i] for i in range(n - j + 1)))
        for j in range(n + 1)
    )


def _whole_histogram(pass_1_to_n: Sequence[float], cases: int, slack: float) -> tuple[tuple[int, ...] | None, bool]:
    """A histogram that gives the figures within `slack`, and whether all candidates were tried.

    pass^n fixes how many cases passed n times, then pass^(n-1) how many passed n-1 times, and so on: rounding leaves
    a few whole numbers at each step, and the likeliest are tried first.
    """
    n = len(pass_1_to_n)
    untried: list[tuple[int, ...]] = [()]  # cases that passed n, n-1, … times, as far as chosen
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
    for passes, count in sorted(enumerate(counts), key=lambda each: each[1]):  # what is below 0 says most
        # Every figure that enters may be off by the slack; pass^0 is 1 by definition.
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
        raise UsageError("there must be at least pass^1")
    if cases < 1:
        raise UsageError(f"there must be at least 1 case, got {cases}")
    if not all(0 <= share <= 1 for share in pass_1_to_n):
        raise UsageError("every pass^k must lie between 0 and 1", hint="write 42 % as 0.42")
