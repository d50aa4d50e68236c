"""Parse an age, such as 30d or 12h: what is older than that."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

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
