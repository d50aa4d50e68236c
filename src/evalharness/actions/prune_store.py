"""Remove runs from the store: one by name, or all that are older than an age."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from evalharness.actions.open_store import open_store
from evalharness.domain.run import Run
from evalharness.errors import RunBusy, UsageError
from evalharness.stores.baselines import Baseline

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def remove_run(reference: str, store: str | None) -> Run:
    with open_store(store, to_read=True) as opened:
        run = opened.find_run(reference)
        opened.remove_run(run)
        return run


@dataclass(frozen=True, slots=True)
class Pruned:
    removed: list[Run]
    kept: list[Baseline]
    """Old enough, but later runs are compared with them."""


def prune_store(older_than: str, store: str | None, *, dry_run: bool = False) -> Pruned:
    """Remove the runs older than an age such as 30d; runs that are being run and baselines are kept."""
    before = moment_before(older_than)
    with open_store(store, to_read=True) as opened:
        removed, kept = [], []
        for run in opened.runs_before(before):
            if baseline := opened.baseline_of(run.id):
                kept.append(baseline)
                continue
            try:
                if not dry_run:
                    opened.remove_run(run)
            except RunBusy:
                continue
            removed.append(run)
        if removed and not dry_run:
            opened.compact()
        return Pruned(removed, kept)


def moment_before(age: str) -> str:
    """So long ago, as the store writes times."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", age.strip())
    wrong = UsageError(f"'{age}' is not an age", hint="write a number and a unit: 30d, 12h, 90m, 2w")
    if found is None:
        raise wrong
    try:
        moment = datetime.now(UTC) - timedelta(**{UNITS[found[2]]: int(found[1])})
    except OverflowError:  # before the year 1
        raise wrong from None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"  # `strftime` writes 500 for the year 0500
