"""What the review queue tells people: a leased item with how far they are, an invitation, the owner's view."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.domain.review import Assignment, Remark, ReviewedItem, Reviewer
from evalharness.domain.run_reviews import RunReviews
from evalharness.domain.seen_item import SeenItem
from evalharness.values.json_value import Json


@dataclass(frozen=True, slots=True)
class OwnProgress:
    """How far one reviewer is. Items with a known rating count like any other: nothing is to tell them apart."""

    done: int
    left: int
    """Those that are leased, too, and those that somebody else may be faster with."""
    left_s: float | None = None
    """How long that takes, by the time that the last ones took; None until there are a few."""
    last: str = ""
    """The item that an undo gives back; empty where there is nothing to take back."""


@dataclass(frozen=True, slots=True)
class OwnReview:
    """What a reviewer said last about an item, in the letters that they saw."""

    item_id: str
    is_skip: bool
    rating: Json
    comment: str
    submitted_at: str


@dataclass(frozen=True, slots=True)
class LeasedItem:
    item: SeenItem
    progress: OwnProgress


@dataclass(frozen=True, slots=True)
class Invited:
    """`token` is known now and never again: the store keeps its digest."""

    reviewer: Reviewer
    token: str


@dataclass(frozen=True, slots=True)
class ReviewOverview:
    """For the owner: the reviews of one run, with the items that match what was asked for."""

    run_id: str
    run_name: str
    suite_name: str
    figures: RunReviews
    items: tuple[ReviewedItem, ...]
    leases: tuple[Assignment, ...]
    """Those that are going on."""
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class ImportedReviews:
    """How many reviews were added, how many of them count, and how many were there already."""

    added: int
    counted: int
    known: int
