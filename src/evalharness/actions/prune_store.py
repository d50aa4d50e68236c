"""Remove runs from the store: one by name, or all that are older than an age."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.domain.run import Run
from evalharness.domain.stored import Baseline
from evalharness.errors import RunBusy
from evalharness.steps.find_runs import find_run
from evalharness.steps.parse_age import moment_before


async def remove_run(context: Context, reference: str) -> Run:
    run = find_run(reference, context.store)
    context.store.remove_run(run)
    return run


@dataclass(frozen=True, slots=True)
class Pruned:
    removed: list[Run]
    kept: list[Baseline]
    """Old enough, but later runs are compared with them."""


async def prune_store(context: Context, older_than: str, *, dry_run: bool = False) -> Pruned:
    """Remove the runs older than an age such as 30d; runs that are being run and baselines are kept."""
    store = context.store
    removed: list[Run] = []
    kept: list[Baseline] = []
    for run in store.runs_before(moment_before(older_than, context.clock())):
        if baseline := store.baseline_of(run.id):
            if baseline not in kept:
                kept.append(baseline)
            continue
        try:
            if not dry_run:
                store.remove_run(run)
        except RunBusy:
            continue
        removed.append(run)
    if removed and not dry_run:
        store.compact()
    return Pruned(removed, kept)
