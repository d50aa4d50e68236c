"""Settle reviews: what people said is put into the trials of their runs, and a run that waits for nothing is finished.

Whoever adds a review settles; of several processes one does it, and looks again before it leaves. Where that process is
killed, whoever settles next does it again: links are marked last. Of a run that goes on
waiting only the trials are read that the review is about.
"""

from __future__ import annotations

from contextlib import suppress

from evalharness.contracts.context import Context
from evalharness.domain.run import Run
from evalharness.errors import RunBusy, UnknownName
from evalharness.steps.ask_people import apply_reviews, mark_applied
from evalharness.steps.make_report import finish_run, measured_trials


def settle_reviews(context: Context, run_id: str | None = None) -> list[Run]:
    """Of one run or of all. Returns the runs that are finished by now."""
    waiting = dict.fromkeys(link.run_id for link in context.store.reviews.unapplied_links(run_id))
    return [run for each in waiting if (run := _settled(context, each)) is not None]


def ask_for_killed_runs(context: Context) -> list[Run]:
    """Bring runs to a stop whose process was killed before anybody was asked about their answers, as Ctrl-C would have.

    Returns them. A run that is under way asks by itself when it comes to a stop.
    """
    store = context.store
    stopped = []
    for run_id in store.reviews.unasked_run_ids():
        with suppress(RunBusy, UnknownName), store.claim(store.part_of(run_id)):
            stopped.append(_stopped(context, store.find_run(run_id)))
    return stopped


def _settled(context: Context, run_id: str) -> Run | None:
    """A run that another process is running or settling is left to that process."""
    store = context.store
    run: Run | None = None
    while store.reviews.unapplied_links(run_id):
        try:
            with store.claim(store.part_of(run_id)):
                applied = apply_reviews(store, run_id)
                run = _finished(context, run_id)
                mark_applied(store, applied)
        except (RunBusy, UnknownName):
            return None
    return run


def _finished(context: Context, run_id: str) -> Run | None:
    """The report is made when nobody is asked any more: until then it is computed when somebody looks."""
    store = context.store
    if store.reviews.is_waiting(run_id):
        return None
    run = store.find_run(run_id)
    measured = measured_trials(store, run)
    if "human" in measured.awaited or any(tally.pending for tally in measured.tallies.values()):
        return None
    return _stopped(context, run)


def _stopped(context: Context, run: Run) -> Run:
    stopped, elapsed_s = context.store.progress(run.id)
    before = run.report.notes if run.report else ()
    notes = tuple(note for note in before if not note.code.startswith("reviews."))  # they are made again
    return finish_run(context, run, stopped=stopped, before_s=elapsed_s, took_s=0.0, notes=notes)
