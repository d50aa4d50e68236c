"""How numbers and texts are worded for people: percentages no finer than they deserve, texts made harmless."""

from __future__ import annotations

import re
import shlex

from evalharness.domain.measurement import Measurement

_CONTROL = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [\ -/]* [@-~]?                                # colours, cursor movements
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d\x9e\x9f] ) [^\x07\x1b\x9c\n]* (?: \x07 | \x9c | \x1b\\ )?   # titles, clipboard
    | \x1b [\ -/]* [0-~]?
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]
    """,
    re.VERBOSE,
)


def harmless(text: str) -> str:
    """Text without what a terminal would obey: escape sequences and control characters."""
    return _CONTROL.sub("", text)


def one_line(text: str, limit: int = 160) -> str:
    joined = " ".join(harmless(text).split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


def percent(value: float, decimals: int = 1) -> str:
    """Never 100 % for less than all, never 0 % for more than nothing."""
    shown = f"{100 * value:.{decimals}f}"
    if value < 1 and float(shown) == 100:
        shown = f"{100 - 10**-decimals:.{decimals}f}"
    if value > 0 and float(shown) == 0:
        shown = f"{10**-decimals:.{decimals}f}"
    return f"{shown.removesuffix('.0')} %"


def with_interval(found: Measurement) -> tuple[str, str]:
    """The value and its interval: whole percents when the interval is wide, one decimal when it is narrow."""
    if found.low is None or found.high is None:
        return percent(found.value), ""
    decimals = 0 if found.high - found.low > 0.1 else 1
    low = f"{100 * found.low:.{decimals}f}"
    high = f"{100 * found.high:.{decimals}f}"
    return percent(found.value, decimals), f"{found.level:.0%} interval {low}–{high} %".replace(
        "% interval", " % interval"
    )


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def history_text(failure_count: int = 0, last_passed: str | None = None) -> str:
    """`failed 3 times so far, last passed 2026-01-19`; a first failure is no history."""
    failed = f"failed {failure_count:,} times so far" if failure_count > 1 else ""
    passed = f"last passed {last_passed.partition('T')[0]}" if last_passed else ""
    return ", ".join(part for part in (failed, passed) if part)


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def money(cost_usd: float) -> str:
    return f"${cost_usd:.4f}" if cost_usd < 1 else f"${cost_usd:.2f}"


def naming(store: str | None) -> str:
    """The flag that the next command needs to find the store that this one was told to use."""
    return f" --store {shlex.quote(store)}" if store else ""
