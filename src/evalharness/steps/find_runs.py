"""Find a run of the store: what a user names is its id, its name, `latest` or -N, or a baseline, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from evalharness.contracts.store import Store
from evalharness.domain.run import Run
from evalharness.domain.stored import Baseline, RunOutline, RunOverview
from evalharness.errors import Hint, UnknownName, UsageError

_BACK = re.compile(r"latest(?::(?P<suite>.+))?|-(?P<back>\d+)", re.DOTALL)
Found = TypeVar("Found")


def find_run(reference: str, store: Store) -> Run:
    return _found(store.find_run, reference, store)


def find_outline(reference: str, store: Store) -> RunOutline:
    return _found(store.outline, reference, store)


def find_overview(reference: str, store: Store) -> RunOverview:
    return _found(store.overview, reference, store)


def _found(read: Callable[[str], Found], reference: str, store: Store) -> Found:
    try:
        return read(reference)
    except UnknownName:
        run_id = counted_back(reference, store) or _run_of_baseline(reference, store)
        if run_id is None:
            raise
        return read(run_id)


def counted_back(reference: str, store: Store) -> str | None:
    """The id of `latest` (-1), of the runs before it (-2, -3, …), or of `latest:SUITE`; None for any other reference.

    Regrades do not count. Raises UsageError if there are not that many runs.
    """
    written = _BACK.fullmatch(reference)
    if written is None:
        return None
    suite_name, position = written["suite"], int(written["back"] or 1)
    if position == 0:
        raise UsageError("there is no run -0", hint="-1 is the newest run, -2 the one before it")
    if run_id := store.nth_newest(position, suite_name):
        return run_id
    if suite_name is not None and suite_name not in store.suite_names():
        raise UnknownName("suite", suite_name, store.suite_names())
    if store.nth_newest(1, suite_name) is None:
        raise UsageError("there are no runs yet", hint=Hint("hint.start_run"))
    raise UsageError(f"there is no run {reference}: the store has fewer runs")


def _run_of_baseline(name: str, store: Store) -> str | None:
    baseline = named_baseline(name, store)
    if baseline is not None and baseline.added:
        raise UsageError(
            f"the baseline '{name}' has {len(baseline.runs)} runs, but only one is needed",
            hint=f"name one of them: {baseline.run_names}",
        )
    return baseline.run_id if baseline else None


def named_baseline(name: str, store: Store, suite_name: str | None = None) -> Baseline | None:
    """Raises UsageError where several suites have one of this name, and none of them is given."""
    known = [baseline for baseline in store.baselines(suite_name) if baseline.name == name]
    if len(known) > 1:
        suites = ", ".join(baseline.suite_name for baseline in known)
        raise UsageError(f"several suites have a baseline '{name}': {suites}", hint=Hint("hint.which_suite"))
    return known[0] if known else None
