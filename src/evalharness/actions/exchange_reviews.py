"""Exchange reviews: as JSONL or CSV, one row per review, and as tasks of Label Studio or records of Argilla.

Rankings are written in the item's own letters, whoever saw which.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from evalharness.contracts.context import Context
from evalharness.domain.review import Review, ReviewedItem, ReviewItem
from evalharness.domain.review_queue import ImportedReviews
from evalharness.engine.reviewing.review_queue import ReviewQueue
from evalharness.engine.reviewing.seen_by_reviewers import item_in_own_letters
from evalharness.errors import UsageError
from evalharness.formats.reviews.argilla import argilla_text, read_argilla
from evalharness.formats.reviews.label_studio import label_studio_text, labelling_config, read_label_studio
from evalharness.formats.reviews.review_rows import GivenReview, csv_text, jsonl_text, read_csv, read_jsonl, review_rows
from evalharness.steps.find_reviewers import reviewer_named
from evalharness.steps.find_runs import find_run
from evalharness.steps.settle_reviews import settle_reviews

Layout = Literal["jsonl", "csv", "label-studio", "argilla"]
FILE_SOURCE = "file"


async def export_reviews(context: Context, run: str, layout: Layout = "jsonl") -> str:
    """The reviews of a run as text. The foreign layouts have every item, also without a review, and nothing that a
    reviewer may not see."""
    found = find_run(run, context.store)
    reviewed = context.store.reviews.items(found.id)
    if layout in ("jsonl", "csv"):
        rows = [row for each in reviewed for row in review_rows(each, found.name)]
        return jsonl_text(rows) if layout == "jsonl" else csv_text(rows)
    pairs = [(each, item_in_own_letters(each.item)) for each in reviewed]
    return label_studio_text(pairs) if layout == "label-studio" else argilla_text(pairs)


async def export_labelling_config(context: Context, run: str) -> str:
    """What a project of Label Studio needs to take the tasks of `export_reviews`, as XML."""
    reviewed = context.store.reviews.items(find_run(run, context.store).id)
    return labelling_config(item_in_own_letters(each.item) for each in reviewed)


async def import_reviews(context: Context, run: str, file: Path, layout: Layout) -> ImportedReviews:
    """Reviews of a run that were given elsewhere: all of the file, or none where one of them cannot be.

    Each is of an item by its id, or of a case, trial and grader. One person's review of an item that they have reviewed
    already changes nothing.
    """
    found = find_run(run, context.store)
    readers = {"jsonl": read_jsonl, "csv": read_csv, "label-studio": read_label_studio, "argilla": read_argilla}
    given = readers[layout](file)
    reviewed = context.store.reviews.items(found.id)
    added = counted = 0
    with context.store.reviews.book() as book:
        queue = ReviewQueue(book, context.boot_clock(), context.timestamp(), FILE_SOURCE)
        for each in given:
            item = _item_of(each, reviewed, found.name)
            letters = [answer.letter for answer in item_in_own_letters(item).answers]
            try:
                rating = item.task.scale.read(each.rating, letters)
            except UsageError as error:
                raise UsageError(f"{each.where}: {error.message}", hint=error.hint) from None
            person = reviewer_named(book, each.reviewer, now=queue.now)
            about = {"comment": each.comment, "submitted_at": each.submitted_at or queue.now, "source": FILE_SOURCE}
            review = Review(item_id=item.id, reviewer=person.name, rating=rating, **about)
            if queue.take_in(person, item.id, review):
                added += 1
                counted += not book.reviews(item.id)[-1].is_surplus
    settle_reviews(context, found.id)
    return ImportedReviews(added, counted, len(given) - added)


def _item_of(given: GivenReview, reviewed: Sequence[ReviewedItem], run_name: str) -> ReviewItem:
    place, found = (given.case_id, given.trial_index), []
    for item, _, links in reviewed:
        if given.item_id and item.id == given.item_id:
            return item
        is_grader = given.grader in ("", item.grader)
        if not given.item_id and is_grader and any((link.case_id, link.trial_index) == place for link in links):
            found.append(item)
    if len(found) == 1:
        return found[0]
    if found:
        message = f"{given.where}: trial {given.trial_index + 1} of case '{given.case_id}' has {len(found)} items"
        raise UsageError(message, hint="name the grader, or the item as an export has it")
    what = f"item {given.item_id}" if given.item_id else f"trial {given.trial_index + 1} of case '{given.case_id}'"
    raise UsageError(f"{given.where}: run {run_name} has no review of {what}", hint="name the run it was exported from")
