"""Count reviews: what people were asked about a run, and what they said. How they are asked: `ask_people`."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.contracts.store import Store
from evalharness.domain.review import ReviewedItem
from evalharness.domain.run import Run
from evalharness.domain.run_reviews import RunReviews
from evalharness.errors import UnknownName


def run_reviews(store: Store, run: Run) -> RunReviews | None:
    """What people were asked about a run, and what they said; None where nobody was asked."""
    reviewed = store.reviews.items(run.id)
    if not reviewed:
        return None
    from evalharness.engine.reviewing.review_figures import review_figures  # slow to load: few runs ask people

    return review_figures(reviewed, _stale(store, run, reviewed))


def _stale(store: Store, run: Run, reviewed: Iterable[ReviewedItem]) -> int:
    """Reviews of the run that this one grades again, of answers that this one asks about in another way."""
    if not run.regrade_of:
        return 0
    carried = {each.item.id for each in reviewed}
    asked = {(link.case_id, link.trial_index) for each in reviewed for link in each.links if not each.item.is_gold}
    return sum(
        sum(review.kind == "rated" for review in each.reviews)
        for each in store.reviews.items(root_of(run, store))
        if each.item.id not in carried
        and any((link.case_id, link.trial_index) in asked for link in each.links)
        and not each.item.is_gold
    )


def root_of(run: Run, store: Store) -> str:
    """The id of the run whose answers these are."""
    root = run
    while root.regrade_of:
        try:
            root = store.find_run(root.regrade_of)
        except UnknownName:  # it was removed
            return root.regrade_of
    return root.id
