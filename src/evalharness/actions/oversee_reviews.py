"""Oversee reviews: what the owner of a store sees of them, and says about single grades. Reviewers see none of this."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.grade import named_apart
from evalharness.domain.review import Remark, Stage
from evalharness.domain.review_queue import ReviewOverview
from evalharness.domain.run_reviews import RunReviews
from evalharness.errors import UnknownName, UsageError
from evalharness.steps.count_reviews import run_reviews
from evalharness.steps.find_runs import find_run
from evalharness.steps.settle_reviews import ask_for_killed_runs, settle_reviews

NOBODY_ASKED = RunReviews(items=0, decided=0, disputed=0, pending=0, reviews=0)


async def oversee_reviews(context: Context, run: str, stage: Stage | None = None) -> ReviewOverview:
    """One run: progress of each reviewer, agreement, and its items (of one stage), each with what was said about it."""
    store = context.store
    ask_for_killed_runs(context)
    found = find_run(run, store)
    settle_reviews(context, found.id)
    reviewed = [each for each in store.reviews.items(found.id) if stage in (None, each.item.stage)]
    ids, moment = {each.item.id for each in reviewed}, context.boot_clock()
    with store.reviews.book() as book:
        leases = tuple(each for each in book.leases() if each.item_id in ids and each.is_held(moment))
    figures = run_reviews(store, found) or NOBODY_ASKED
    remarks = tuple(store.reviews.remarks(found.id))
    return ReviewOverview(found.id, found.name, found.suite.name, figures, tuple(reviewed), leases, remarks)


async def list_reviewed_runs(context: Context) -> list[tuple[str, str, RunReviews]]:
    """Id and name of each run about which people are or were asked, newest first, with how far they are."""
    store = context.store
    ask_for_killed_runs(context)
    settle_reviews(context)
    runs = [store.find_run(run_id) for run_id in store.reviews.run_ids()]
    return [(run.id, run.name, run_reviews(store, run) or NOBODY_ASKED) for run in runs]


async def remark_grade(
    context: Context,
    name: str,
    run: str,
    case_id: str,
    trial_index: int,
    grader: str,
    *,
    agrees: bool,
    comment: str = "",
) -> Remark:
    """Agree or disagree with one grade of one trial. It is kept beside the grade, and overrides nothing.

    The second grader of one name is `human_2`, as wherever the grades of a trial are shown.
    """
    store = context.store
    found = find_run(run, store)
    trial = next((each for each in store.trials(found.id, case_id) if each.index == trial_index), None)
    if trial is None:
        raise UsageError(f"run {found.name} has no trial {trial_index + 1} of case {case_id}")
    grades = dict(named_apart(trial.grades))
    if grader not in grades:
        raise UnknownName("grader", grader, list(grades))
    if grades[grader].state == "awaiting":
        raise UsageError(f"{grader} has given no grade yet", hint="agree or disagree once it is there")
    remark = Remark(
        run_id=found.id,
        case_id=case_id,
        trial_index=trial_index,
        grader=grader,
        reviewer=name,
        agrees=agrees,
        comment=comment,
        made_at=context.timestamp(),
    )
    with store.reviews.book() as book:
        book.add_remark(remark)
    return remark
