"""One figure of two runs compared, in words: its two ends, how far it moved, how sure that is, and by which method.

Nothing is computed here.
"""

from __future__ import annotations

from evalharness.domain.comparison import Comparison, Difference
from evalharness.domain.plain_numbers import LARGEST_RATIO, change, count, digits
from evalharness.reports.wording import duration, money
from evalharness.reports.words.comparisons import WHY_A_RANGE, drops_between, size_of
from evalharness.stats.thresholds import SAME

MINUS = "−"
LEAST_P = 1e-4
CLEAR_P = 0.0095
"""Below this, one digit says enough."""
MOST_DECIMALS = 6


def numbers(found: Difference, comparison: Comparison, *, with_p: bool = True) -> list[str]:
    """`90 % → 74 %`, `−16 points (95 % CI −28 to −4)`, `p = 0.001`."""
    ends, moved, interval = _difference_text(found, comparison)
    moved = f"{moved} ({interval})" if interval else moved
    return [part for part in (ends, moved, _chance(found, comparison) if with_p else "") if part]


def _chance(found: Difference, comparison: Comparison) -> str:
    """Only beside a change that it is about."""
    gain = -found.value if found.unit == "ratio" else found.value
    p = None
    if comparison.verdict == "IMPROVEMENT" and gain > 0:
        p = found.p_better
    elif found.verdict != "NO REGRESSION" and (gain < 0 or found.from_nothing):
        p = found.p if found.p_adjusted is None else found.p_adjusted
    if p is None or p < LEAST_P:
        return "" if p is None else f"p {p_text(p)}"
    return f"p = {p:.1g}" if p < CLEAR_P else f"p = {p_text(p)}"


def _difference_text(found: Difference, comparison: Comparison) -> tuple[str, str, str]:
    """(`64 % → 52 %`, `−12 points`, `95 % CI −20 to −4`), no finer than the interval deserves."""
    if found.unit == "ratio":
        word = duration if found.metric == "latency" else money
        ends, moved = " → ".join(map(word, found.ends)), f"{_signed(found.value, digits(found.half_width))} %"
        moves = (("rose from 0", found.risen if found.from_nothing else 0), ("fell to 0", len(found.to_nothing)))
        apart = "; ".join(
            f"{what} in {number:,} of {count(comparison.n_cases, 'case')}" for what, number in moves if number
        )
        if found.from_nothing and not found.old:
            return ends if found.new else "", apart, ""
        return ends, f"{apart}; in the others {moved}" if apart else moved, _interval(found, " %")
    if not found.n_cases:
        return "", "no case has it in both runs", ""
    size, ends = change(*found.ends, found.half_width)
    sign = "" if not found.value else MINUS if found.value < 0 else "+"
    return ends, f"{sign}{size}", _interval_of_these(found, comparison.alpha) or _interval(found, "")


def decided_by(found: Difference, comparison: Comparison) -> str:
    """What decided, where the interval printed beside the verdict seems to say something else; else empty."""
    if found.low is None or found.high is None:
        return ""
    is_ratio = found.unit == "ratio"
    least, most = (found.low, found.high) if is_ratio else (-found.high, -found.low)
    bound = found.at_worst
    margin = 100 * comparison.margin - SAME
    seems_open = max(100 * most, round(100 * most, digits(found.half_width))) >= margin
    if found.gated and found.verdict == "NO REGRESSION" and bound is not None and seems_open:
        decimals = 1
        while decimals < MOST_DECIMALS and round(100 * abs(bound), decimals) >= margin:
            decimals += 1
        return f"decided by the one-sided bound: at worst {_signed(bound, decimals)} {'%' if is_ratio else 'points'}"
    if found.verdict == "REGRESSION" and found.from_nothing:
        return "decided by the test, which counts rises from 0; the interval leaves them out"
    if found.verdict == "REGRESSION" and least <= 0 and found.these_cases is None:
        return "decided by the test, which is about these cases alone; the interval is about cases like these"
    if found.verdict != "REGRESSION" and least > SAME and (found.p_adjusted or found.p or 0.0) > comparison.alpha:
        return "the interval excludes 0, but the test decides, and it says that this may be chance"
    return ""


def shown_interval(found: Difference) -> tuple[float, float] | None:
    """The one that is printed beside a difference."""
    if _shows_these_cases(found):
        return found.these_cases
    return None if found.low is None or found.high is None else (found.low, found.high)


def _shows_these_cases(found: Difference) -> bool:
    """Beside a loss that the test of these cases found, where the interval for others like them includes 0."""
    return found.verdict == "REGRESSION" and found.high is not None and found.high >= 0 and bool(found.these_cases)


def _interval_of_these(found: Difference, alpha: float) -> str:
    if found.these_cases is None or not _shows_these_cases(found):
        return ""
    low, high = found.these_cases
    decimals = max(_needed(end, digits((high - low) / 2)) for end in (low, high))
    level = f"{100 * (1 - 2 * alpha):g} % CI"
    # At p = alpha it ends at 0, which the test has just ruled out.
    end = _signed(high, decimals) if high < -SAME else "below 0"
    return f"{level} {_signed(low, decimals)} to {end} for these cases"


def _interval(found: Difference, unit: str) -> str:
    if found.low is None or found.high is None:
        return ""
    decimals = max(_needed(end, digits(found.half_width)) for end in (found.low, found.high))
    return f"{100 * found.level:g} % CI {_signed(found.low, decimals)} to {_signed(found.high, decimals)}{unit}"


def _signed(value: float, decimals: int) -> str:
    """In percent; never -0 or +0 for more than nothing."""
    if value > LARGEST_RATIO:
        return f"over +{100 * LARGEST_RATIO:,}"
    return "0" if abs(value) <= SAME else f"{100 * value:+.{_needed(value, decimals)}f}".replace("-", MINUS)


def _needed(value: float, decimals: int) -> int:
    """As many decimals as it takes to show on which side of 0 a percentage lies."""
    while abs(value) > SAME and float(f"{100 * value:.{decimals}f}") == 0:
        decimals += 1
    return decimals


def verdict_text(found: Difference) -> str:
    if found.gated:
        return found.verdict
    return f"{'clearly worse' if found.verdict == 'REGRESSION' else 'not clearly worse'}, not gated"


def method_text(found: Difference, comparison: Comparison, *, is_shown: bool = False) -> str:
    """For those who want to know exactly. `is_shown`: which loss could be seen has been said."""
    shows = f"power {comparison.power:g}" if is_shown else f"{smallest_loss(found)} (power {comparison.power:g})"
    if not found.n_cases:
        return f"nothing to test; {shows}"
    parts = []
    if found.p is not None:
        adjusted = f", Holm {p_text(found.p_adjusted)}" if found.p_adjusted not in (None, found.p) else ""
        seed = f", seed {found.seed}" if found.seed is not None else ""
        parts.append(f"{found.method}: one-sided p {p_text(found.p)}{adjusted}{seed}")
    parts.append(f"interval: {found.interval_method}, {count(found.n_cases, 'case')}")
    parts.append(shows)
    return "; ".join(parts)


def smallest_loss(found: Difference) -> str:
    """The smallest loss that can be seen; where there is none, why, and what would help."""
    loss = "rise" if found.unit == "ratio" else "drop"
    if found.detectable is not None:
        return f"smallest {loss} this could detect: {_detectable(found, found.detectable)}"
    none = f"no {loss} can be detected"
    if not found.n_cases:
        return f"{none}: no case has a {found.metric} in both runs"
    is_rate = found.metric in ("pass_rate", "critical")
    if is_rate and not found.old:
        return f"{none}: no trial passed before"
    if found.limited_by == "runs":
        return f"{none}: the runs of the baseline vary too much, more of them would help"
    units = "clusters" if found.limited_by == "clusters" else "cases"
    more = "cases or trials" if found.limited_by == "trials" else units
    if found.unit == "points" and found.value <= -1 + SAME:
        return f"too few {units} to tell this from chance, more {more} would help"
    if found.unit == "points":
        none = f"{none} with this power, not even if every trial failed"
    return f"{none}: too few {units} that could get worse, more {more} would help"


def _detectable(found: Difference, most: float) -> str:
    """One size, or a range and why it is one; nothing larger can be lost than what passed before."""
    if found.detectable_from is None or not found.detectable_unknown:
        return size_of(most, found.unit)
    all_fail = " (every trial failing)" if most >= found.ends[0] - SAME else ""
    return f"{drops_between(found.detectable_from, most)}{all_fail}, since {WHY_A_RANGE[found.detectable_unknown]}"


def p_text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"< {LEAST_P:.4f}" if value < LEAST_P else f"{value:.2g}" if value < 0.995 else "1"
