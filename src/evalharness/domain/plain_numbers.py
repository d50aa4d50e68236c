"""Counts, shares, differences and chances in words that need no statistics. What they mean is decided elsewhere.

In the domain, because sentences that are stored with a result (why a comparison or a gate came out as it did) need
the same words as reports.
"""

from __future__ import annotations

import math

ROUGH = 0.05
"""An interval reaching further than this to a side is told in whole points: more digits would promise too much."""
_RAREST = 1e-6


def count(number: int, noun: str) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(value: float, decimals: int = 1) -> str:
    """Never 100 % for less than all, never 0 % for more than nothing."""
    shown = f"{100 * value:.{decimals}f}"
    if value < 1 and float(shown) == 100:
        shown = f"{100 - 10**-decimals:.{decimals}f}"
    if value > 0 and float(shown) == 0:
        shown = f"{10**-decimals:.{decimals}f}"
    return f"{shown.removesuffix('.0')} %"


def change(old: float, new: float, half_width: float | None = None) -> tuple[str, str]:
    """The size of a change and its two ends: (`12 points`, `64 % → 52 %`), no finer than the interval deserves.

    The size is that of the ends as they are shown, so that nobody finds 45 % → 40 % beside 4 points.
    """
    decimals = digits(half_width)
    before, now = percent(old, decimals), percent(new, decimals)
    if before == now and old != new:
        decimals = 1
        before, now = percent(old), percent(new)
    shown = (float(now.removesuffix(" %")) - float(before.removesuffix(" %"))) / 100
    return points(shown or new - old, decimals), f"{before} → {now}"


def points(value: float, decimals: int = 1) -> str:
    """The size of a difference of shares: 0.12 is `12 points`. Never 0 points for more than nothing."""
    size = 100 * abs(value)
    shown = f"{size:.{decimals}f}"
    if size > 1e-9 and float(shown) == 0:
        shown = "less than 0.1" if size < 0.05 else f"{size:.1f}"
    shown = shown.removesuffix(".0")
    return f"{shown} point{'' if shown == '1' else 's'}"


def digits(half_width: float | None) -> int:
    """How many decimals a percentage deserves."""
    return 0 if half_width is not None and half_width > ROUGH else 1


def interval(low: float, high: float) -> str:
    """`14–52 %`."""
    decimals = digits((high - low) / 2)
    return f"{100 * low:.{decimals}f}–{100 * high:.{decimals}f} %"


def chance(p: float) -> str:
    """A probability as a count: 0.003 is `3 of 1,000`; in hundreds where that is fine enough."""
    if p < _RAREST:
        return f"fewer than 1 of {round(1 / _RAREST):,}"
    base = 10 ** max(2, math.ceil(-math.log10(p)))
    if base > 100 and round(p * base) == 10:
        base //= 10
    if base == 100 and p < 0.1 and abs(p * base - round(p * base)) > 0.05:
        base = 1000
    return f"{round(p * base):,} of {base:,}"
