"""Parse an age, such as 30d or 12h, or a day, such as 2026-01-31, into a moment as the store writes times."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from evalharness.errors import UsageError

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment_before(age: str, now: datetime) -> str:
    """So long ago, as the store writes times."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", age.strip())
    wrong = UsageError(f"'{age}' is not an age", hint="write a number and a unit: 30d, 12h, 90m, 2w")
    if found is None:
        raise wrong
    try:
        moment = now - timedelta(**{UNITS[found[2]]: int(found[1])})
    except OverflowError:  # before the year 1
        raise wrong from None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"  # `strftime` writes 500 for the year 0500


def moment_since(written: str, now: datetime) -> str:
    """The beginning of a day, or so long ago."""
    try:
        return f"{date.fromisoformat(written.strip()).isoformat()}T00:00:00Z"
    except ValueError:
        pass
    try:
        return moment_before(written, now)
    except UsageError:
        raise UsageError(
            f"'{written}' is neither a day nor an age", hint="write a day (2026-01-31) or an age: 30d, 12h, 90m, 2w"
        ) from None
