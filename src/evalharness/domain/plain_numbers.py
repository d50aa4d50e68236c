"""Counts, shares, differences and chances in words that need no statistics. What they mean is decided elsewhere.

In the domain, because messages of exceptions need the same words as reports.
"""

from __future__ import annotations

import math
from decimal import Decimal

from evalharness.stats.thresholds import SAME

ROUGH = 0.05
"""An interval reaching further than this to a side is reported in whole points: more digits would promise too much."""
LARGEST_RATIO = 1000
"""Above this, times and costs are only said to differ by more: further digits would say nothing."""
FINEST = 2
"""The most decimals that a share near 0 or 1 gets."""
_RAREST = 1e-6
_MOST_DECIMALS = 12


def count(number: int, noun: str) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def beside_limit(value: float, limit: float, decimals: int) -> tuple[str, str]:
    """Both, the value with as many decimals as it takes to see on which side it lies, and that it is not nothing."""
    is_less = value < limit and not math.isclose(value, limit)
    while decimals < _MOST_DECIMALS:
        shown = round(value, decimals)
        if (shown < limit) == is_less and (shown or not value):
            break
        decimals += 1
    return f"{value:.{decimals}f}", f"{Decimal(f'{limit:.10g}'):f}"


def spent_of(cost_usd: float, max_cost_usd: float | None, tokens: int, max_tokens: int | None) -> str:
    """`spent $0.0120 of $0.5 and 900 of 1,000 tokens`: of whatever is capped."""
    caps = []
    if max_cost_usd is not None:
        spent, cap = beside_limit(cost_usd, max_cost_usd, 4)
        caps.append(f"${spent} of ${cap}")
    if max_tokens is not None:
        caps.append(f"{tokens:,} of {count(max_tokens, 'token')}")
    return f"spent {' and '.join(caps)}"


def percent(value: float, decimals: int = 1) -> str:
    """Never 100 % for less than all, never 0 % for more than nothing: `99.97 %`, `above 99.99 %`, `below 0.01 %`."""
    if value > LARGEST_RATIO:
        return f"over {100 * LARGEST_RATIO:,} %"
    shown = f"{100 * value:.{decimals}f}"
    while SAME < value < 1 - SAME and float(shown) in (0, 100):
        if decimals >= FINEST:
            return "below 0.01 %" if value < 0.5 else "above 99.99 %"
        decimals += 1
        shown = f"{100 * value:.{decimals}f}"
    return f"{_short(shown)} %"


def change(old: float, new: float, half_width: float | None = None) -> tuple[str, str]:
    """The size of a change and its two ends: (`12 points`, `64 % → 52 %`), no finer than the interval deserves.

    The ends get another decimal where they would contradict the size: nobody finds 45 % → 40 % beside 4 points.
    """
    decimals = max(digits(half_width), _decimals_below_one(new - old))
    size, before, now = points(new - old, decimals), percent(old, decimals), percent(new, decimals)
    shown = float(f"{100 * new:.0f}") - float(f"{100 * old:.0f}")
    if not decimals and points(shown / 100, 0) != size:
        size, before, now = points(new - old), percent(old), percent(new)
    return size, f"{before} → {now}"


def points(value: float, decimals: int = 1) -> str:
    """The size of a difference of shares: 0.12 is `12 points`. Below one point, two digits that say something."""
    shown = _short(f"{100 * abs(value):.{max(decimals, _decimals_below_one(value))}f}")
    return f"{shown} point{'' if shown == '1' else 's'}"


def _decimals_below_one(value: float) -> int:
    """How many decimals show two digits of a difference of less than one point; none for a larger one, or for none."""
    return 1 - math.floor(math.log10(100 * abs(value))) if SAME < abs(value) < 0.01 - SAME else 0


def _short(shown: str) -> str:
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def digits(half_width: float | None) -> int:
    """How many decimals a percentage deserves."""
    return 0 if half_width is not None and half_width > ROUGH else 1


def interval(low: float, high: float, decimals: int | None = None) -> str:
    """`14–52 %`. Ends that would read alike are rounded apart: there is always some doubt."""
    decimals = digits((high - low) / 2) if decimals is None else decimals
    first, last = f"{100 * low:.{decimals}f}", f"{100 * high:.{decimals}f}"
    if first == last and low < high:
        step = 10**decimals
        first = f"{math.floor(100 * low * step) / step:.{decimals}f}"
        last = f"{math.ceil(100 * high * step) / step:.{decimals}f}"
    return f"{first}–{last} %"


def chance(p: float) -> str:
    """A probability as a count, in two digits like a p-value: 0.003 is `3 of 1,000`; in hundreds at the coarsest."""
    return chances(p)[0]


def chances(*p_values: float) -> list[str]:
    """Those of one sentence, out of the same number, so that they can be compared; unlike ones never look alike."""
    known = [p for p in p_values if p >= _RAREST]
    base = max([10 ** max(2, _decimals(f"{p:.2g}")) for p in known], default=100)
    while base * _RAREST < 1 and len({round(p * base) for p in known}) < len(set(known)):
        base *= 10
    rare = f"fewer than 1 of {round(1 / _RAREST):,}"
    return [f"{round(p * base):,} of {base:,}" if p >= _RAREST else rare for p in p_values]


def _decimals(shown: str) -> int:
    mantissa, _, exponent = shown.partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)
