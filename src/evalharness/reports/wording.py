"""How numbers and texts are worded for people: percentages no finer than they deserve, texts made harmless."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from evalharness.domain.grade import Grade, Judging
from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count, digits, interval, percent
from evalharness.domain.stored import Baseline

Words: TypeAlias = str | Callable[..., str]
"""For a finding: a template, or a function of its parameters."""
_PLACE = re.compile(r"(?<= \()/[^()\n]+(?=:\d+\))")
"""Of a line of code, as reasons name it: `the target raised KeyError: 'x' (/home/ada/evals/agent.py:4)`."""
SCORERS = ("latency", "cost", "tokens", "similarity", "llm-judge", "scorer")
MOST_DECIMALS = 12
LONGEST_COST_USD = 1e15
_CONTROL = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [\ -/]* [@-~]?                                # colours, cursor movements
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d\x9e\x9f] ) [^\x07\x1b\x9c\n]* (?: \x07 | \x9c | \x1b\\ )?   # titles, clipboard
    | \x1b [\ -/]* [0-~]?
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]
    | [\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]                            # what turns text around
    """,
    re.VERBOSE,
)


def harmless(text: str) -> str:
    """Text without what a terminal would obey: escape sequences, control characters, orders to write backwards."""
    return text if text.isprintable() else _CONTROL.sub("", text)


def clean(text: str, redact: Callable[[str], str]) -> str:
    """Redacted and harmless. Redacted twice: an escape sequence may hide a secret, and a secret may contain a control
    character."""
    redacted = redact(text)
    shown = harmless(redacted)
    return shown if shown == redacted else redact(shown)


def one_line(text: str, limit: int = 160) -> str:
    joined = " ".join(harmless(text).split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


_STATES = {"pass": "passed", "fail": "failed", "unscored": "error", "awaiting": "awaiting"}


def from_here(reason: str) -> str:
    """Code below the current folder by its path from there, which is shorter and can be opened as well."""
    return _PLACE.sub(lambda place: place[0].removeprefix(f"{Path.cwd()}/"), reason)


def verdict_words(grade: Grade) -> str:
    """`fail 0.50`; of a scorer that only measures `scored 0.50`, of one that is switched off `off`."""
    if grade.passed and not grade.is_verdict:
        return "off"
    if grade.cause == "ranked":
        return "ranked"
    score = "" if grade.score is None else f" {grade.score:.2f}"
    measures = grade.passed and not grade.required and grade.kind in SCORERS
    return f"{'scored' if measures else grade.state}{score}"


def state_of_grade(grade: Grade) -> str:
    """The state whose mark and colour a grade has. A ranking is no verdict, and waits for nobody once it is there."""
    return "skipped" if grade.cause == "ranked" else _STATES[grade.state]


def with_interval(found: Measurement) -> tuple[str, str]:
    """The value and its interval: whole percents when the interval is wide, one decimal when it is narrow."""
    value = percent(found.value, digits(found.half_width))
    known = found.half_width is not None
    return value, f"{found.level * 100:.0f} % interval {interval_of(found)}" if known else ""


def interval_of(found: Measurement) -> str:
    return "no interval" if found.low is None or found.high is None else interval(found.low, found.high)


def history_text(failure_count: int = 0, last_passed: str | None = None) -> str:
    """`failed 3 times so far, last passed 2026-01-19`; a first failure is no history."""
    failed = f"failed {failure_count:,} times so far" if failure_count > 1 else ""
    passed = f"last passed {last_passed.partition('T')[0]}" if last_passed else ""
    return ", ".join(part for part in (failed, passed) if part)


def duration(seconds: float, finer: int = 0) -> str:
    """Two significant digits, and `finer` more: `16 ms`, `1.2 s`, `2 min 5 s`, `3 h 20 min`."""
    shown = _significant(seconds * 1000, 2 + finer)
    if float(shown) < 1000:
        return f"{shown} ms"
    if finer or seconds < 59.5:
        return f"{_significant(seconds, 2 + finer)} s"
    if seconds < 600:
        return f"{round(seconds) // 60} min {round(seconds) % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def size(number: int) -> str:
    """Of bytes, in two digits: `740 bytes`, `3.9 MB`."""
    if number < 1000:
        return f"{number} bytes"
    unit, divisor = ("kB", 1e3) if number < 1e6 else ("MB", 1e6)
    return f"{number / divisor:.1f} {unit}" if number < 10 * divisor else f"{number / divisor:,.0f} {unit}"


def money(cost_usd: float, finer: int = 0) -> str:
    """Two significant digits, and `finer` more, cents at the coarsest below $10: `$0.0042`, `$1.20`, `$120`."""
    if not cost_usd:
        return "$0"
    if not 10.0**-MOST_DECIMALS <= cost_usd < LONGEST_COST_USD:
        return f"${cost_usd:.{2 + finer}g}"
    shown = _significant(cost_usd, 2 + finer)
    if cost_usd < 0.1:
        return f"${shown.rstrip('0')}"
    decimals = 2 if cost_usd < 10 and not finer else len(shown.partition(".")[2])
    return f"${float(shown):,.{decimals}f}"


def _significant(value: float, digits: int) -> str:
    """So many digits, zeros included, without an exponent."""
    if not value:
        return "0"
    decimals = digits - 1 - int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


def judging_text(took: Judging) -> str:
    parts = [count(took.calls, "call")]
    if took.cached:
        parts.append(f"{count(took.cached, 'verdict')} from the cache")
    if took.calls:
        tokens = f"{took.input_tokens:,} tokens in, {took.output_tokens:,} out"
        parts.append(tokens if took.input_tokens or took.output_tokens else "tokens not reported")
        parts.append("at an unknown price" if took.cost_usd is None else money(took.cost_usd))
    return f"{took.model}: {', '.join(parts)}"


def listed(names: Sequence[str], number: int) -> str:
    """`number` is how many there are, of which these are the first."""
    return ", ".join(names) + (f" and {number - len(names):,} more" if number > len(names) else "")


def first_names(names: Sequence[str], number: int) -> str:
    """The same, where it matters little how many more there are."""
    return ", ".join(names) + (" …" if number > len(names) else "")


def extra_digits(low: float, high: float, worded: Callable[[float, int], str]) -> int:
    """How many digits more than usual it takes for two unlike ends to read unlike."""
    return next((more for more in range(MOST_DECIMALS) if low == high or worded(low, more) != worded(high, more)), 0)


def baseline_text(baseline: Baseline, *, is_removed: bool = False) -> str:
    """Which runs a baseline has, or had."""
    verb = f"{'are' if baseline.added else 'is'}{' no longer' if is_removed else ''}"
    return f"{baseline.run_names} {verb} the baseline '{baseline.name}' of {baseline.suite_name}"


def removal_command(baseline: str, suite: str) -> str:
    """What gives up a baseline."""
    return f"eval-harness baseline rm {shlex.quote(baseline)} --suite {shlex.quote(suite)}"


def naming(store: str | None) -> str:
    """The flag that the next command needs to find the same store."""
    return f" --store {shlex.quote(store)}" if store else ""


def show_command(command: str, run_name: str, named: str, case_id: str = "", flag: str = "") -> str:
    """What prints a run, some of it (`flag`), or one of its cases; `named` names the store."""
    start = f"{command} show {shlex.quote(run_name)}{f' {flag}' if flag else ''}"
    if case_id.startswith("-"):  # else it would be taken for an option
        return f"{start}{named} -- {shlex.quote(case_id)}"
    return f"{start}{f' {shlex.quote(case_id)}' if case_id else ''}{named}"
