"""Find comparable runs: those before a run whose trials say something about its cases, too.

Comparable is the same case, judged by the same graders, on the same target, by digest. Regrades and stored artifacts
show the same answers again, so they tell nothing about flakiness across runs; nor is a run counted with others that
was allowed to stop early.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from evalharness.contracts.store import Store
from evalharness.domain.run import Run
from evalharness.domain.stored import PastRun
from evalharness.engine.measuring.recommendations import Judged

LOOKED_BACK = 20
FEW_TRIALS = 5000
"""So many are looked back at, and twice as many as the run has itself: it happens at the end of every run."""


def comparable_runs(store: Store, run: Run) -> list[Judged]:
    """Newest first, of each run those cases alone that are comparable."""
    return [judged for _, judged in _before(store, run)]


def comparable_to_stored(store: Store, suite_name: str, run_id: str) -> list[Judged]:
    """The same for a stored run, which is not read whole."""
    run = store.past_run(run_id)
    return [judged for _, judged in _comparable(store, run, store.past_runs(suite_name, before=run.id))] if run else []


def earlier_counts(store: Store, run: Run, besides: Collection[str]) -> dict[str, tuple[int, int]]:
    """Trials and passes of each case in all comparable runs together, without those whose ids are `besides`."""
    counts: dict[str, tuple[int, int]] = {}
    for run_id, judged in _before(store, run):
        for case_id, (trials, passed) in judged.items() if run_id not in besides else ():
            n, c = counts.get(case_id, (0, 0))
            counts[case_id] = n + trials, c + passed
    return counts


def _before(store: Store, run: Run) -> Iterator[tuple[str, Judged]]:
    """Of a replay: those that the recorded run could be compared with."""
    if not (run.has_fresh_trials or run.is_replayed):
        return iter(())
    newest_first = store.past_runs(run.suite.name, before=run.options.recordings if run.is_replayed else run.id)
    first = next(newest_first, None)
    if first is None:  # what is compared by takes memory for every case
        return iter(())
    return _comparable(store, _asked(run), chain((first,), newest_first))


def _asked(run: Run) -> PastRun:
    locks = {case_id: lock.model_dump(exclude_defaults=True) for case_id, lock in run.lock.cases.items()}
    kind, is_sequential = run.target.kind, bool(run.options.sequential)
    return PastRun(run.id, run.name, run.planned_trials, run.variant, kind, run.lock.target, is_sequential, locks)


def _comparable(store: Store, run: PastRun, newest_first: Iterable[PastRun]) -> Iterator[tuple[str, Judged]]:
    if not run.has_fresh_trials or run.is_sequential:
        return
    own_targets = {case_id: lock for case_id, lock in run.locks.items() if "target" in lock}
    left = FEW_TRIALS + 2 * run.planned
    for past in islice(newest_first, LOOKED_BACK):
        left -= past.planned
        if left < 0:
            return
        wanted = run.locks if past.target == run.target else own_targets
        same = {case_id for case_id, lock in wanted.items() if past.locks.get(case_id) == lock}
        if same and not past.is_sequential:
            yield past.id, {case_id: counts for case_id, counts in store.judged(past.id).items() if case_id in same}
