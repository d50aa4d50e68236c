"""Settle reviews: what people said is put into the trials of their runs, and a run that waits for nothing is finished.

Whoever adds a review settles; of several processes one does it, and looks again before it leaves.
"""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.run import Run
from evalharness.errors import RunBusy, UnknownName
from evalharness.steps.ask_people import apply_reviews
from evalharness.steps.make_report import finish_run, measured_trials


def settle_reviews(context: Context, run_id: str | None = None) -> list[Run]:
    """Of one run or of all. Returns the runs that are finished by now."""
    waiting = dict.fromkeys(link.run_id for link in context.store.reviews.unapplied_links(run_id))
    return [run for each in waiting if (run := _settled(context, each)) is not None]


def _settled(context: Context, run_id: str) -> Run | None:
    """A run that another process is running or settling is left to that process."""
    store = context.store
    run: Run | None = None
    while store.reviews.unapplied_links(run_id):
        try:
            found = store.find_run(run_id)
            with store.claim(found):
                apply_reviews(store, found)
                run = _finished(context, found)
        except (RunBusy, UnknownName):
            return None
    return run


def _finished(context: Context, run: Run) -> Run | None:
    """The report is made when nobody is asked any more: until then it is computed when somebody looks."""
    store = context.store
    counts = store.reviews.counts(run.id)
    if counts.get(("rate", "open")) or counts.get(("rate", "disputed")):
        return None
    measured = measured_trials(store, run)
    if "human" in measured.awaited or any(tally.pending for tally in measured.tallies.values()):
        return None
    stopped, elapsed_s = store.progress(run.id)
    before = run.report.notes if run.report else ()
    notes = tuple(note for note in before if not note.code.startswith("reviews."))  # they are made again
    return finish_run(context, run, stopped=stopped, before_s=elapsed_s, took_s=0.0, notes=notes)
