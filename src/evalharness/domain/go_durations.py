"""Durations as programs written in Go print them and keep them: `1.5s`, `2m0s`, and whole nanoseconds in JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

MICROSECOND = timedelta(microseconds=1)


def duration_text(duration: timedelta, precision: timedelta = MICROSECOND) -> str:
    """Rounded to `precision`; halves go away from zero."""
    microseconds = abs(duration) // MICROSECOND
    step = precision // MICROSECOND
    microseconds = (microseconds + step // 2) // step * step
    sign = "-" if duration < timedelta(0) and microseconds else ""
    if microseconds == 0:
        return "0s"
    if microseconds < 1000:
        return f"{sign}{microseconds}µs"
    if microseconds < 1_000_000:
        return f"{sign}{_decimal(microseconds, 1000)}ms"
    minutes, rest = divmod(microseconds, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    return f"{whole}.{part:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".") if part else str(whole)


def _from_nanoseconds(written: Any) -> Any:
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    return timedelta(microseconds=written / 1000) if is_number else written


def _to_nanoseconds(duration: timedelta) -> int:
    return duration // MICROSECOND * 1000


GoDuration = Annotated[timedelta, BeforeValidator(_from_nanoseconds), PlainSerializer(_to_nanoseconds, return_type=int)]
