"""The part of the store that has what people are asked about answers, and what they said."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from evalharness.domain.review import (
    Assignment,
    OpenItem,
    Remark,
    Review,
    ReviewedItem,
    Reviewer,
    ReviewItem,
    ReviewLink,
    Stage,
)


class ReviewBook(Protocol):
    """Reviews, inside one transaction: what is read here stays true until it ends. No two are open at once.

    It keeps rows and decides nothing: who is given what is up to `engine/reviewing/review_queue.py`.
    """

    @abstractmethod
    def reviewers(self) -> list[Reviewer]:
        """By name, those that were revoked included."""
        ...

    @abstractmethod
    def put_reviewer(self, reviewer: Reviewer) -> None:
        """Add a reviewer, or change the one with this name."""
        ...

    @abstractmethod
    def add_item(self, item: ReviewItem, links: Iterable[ReviewLink]) -> str:
        """The id of the item, which is that of an earlier one with this key, if there is one. Links are added to it."""
        ...

    @abstractmethod
    def item(self, item_id: str) -> ReviewItem:
        """Raises UnknownName."""
        ...

    @abstractmethod
    def set_stage(self, item_id: str, stage: Stage, wanted: int) -> None: ...

    @abstractmethod
    def open_items(self, reviewer: str, run_id: str | None) -> list[OpenItem]:
        """The open items, of one run or of all, that this reviewer has neither reviewed nor skipped."""
        ...

    @abstractmethod
    def assignments(self, *, item_id: str | None = None, reviewer: str | None = None) -> list[Assignment]: ...

    @abstractmethod
    def leases(self) -> list[Assignment]:
        """All assignments that are leased, whether their time is over or not."""
        ...

    @abstractmethod
    def put_assignment(self, assignment: Assignment) -> None:
        """Add it, or change the one of this item and this reviewer: there never are two."""
        ...

    @abstractmethod
    def add_review(self, review: Review) -> None: ...

    @abstractmethod
    def reviews(self, item_id: str) -> tuple[Review, ...]:
        """In the order in which they were added."""
        ...

    @abstractmethod
    def reviewed_by(self, reviewer: str) -> list[str]:
        """The ids of the items given to this person about which they have said anything, the last one first."""
        ...

    @abstractmethod
    def links(self, item_id: str) -> list[ReviewLink]: ...

    @abstractmethod
    def items_of_trial(self, run_id: str, case_id: str, index: int) -> list[str]:
        """The ids of the items that a trial waits for, or waited for."""
        ...

    @abstractmethod
    def mark_links(self, links: Iterable[ReviewLink], *, is_applied: bool) -> None: ...

    @abstractmethod
    def finished_runs(self, item_id: str) -> list[str]:
        """The names of the finished runs that have trials with this item."""
        ...

    @abstractmethod
    def add_remark(self, remark: Remark) -> None: ...


class ReviewStore(Protocol):
    """What people are asked about answers, and what they said."""

    @abstractmethod
    def book(self) -> AbstractContextManager[ReviewBook]:
        """One transaction: all that is done with the book is kept, or nothing if an exception leaves the context."""
        ...

    @abstractmethod
    def reviewers(self) -> list[Reviewer]:
        """As a book has them, without waiting for anybody who writes."""
        ...

    @abstractmethod
    def items(self, run_id: str) -> list[ReviewedItem]:
        """The items of a run with all their reviews, in the order in which they were added."""
        ...

    @abstractmethod
    def is_waiting(self, run_id: str) -> bool:
        """Whether an answer of the run is still to be rated, or disputed; rankings do not count. Quick."""
        ...

    @abstractmethod
    def unapplied_links(self, run_id: str | None = None) -> list[ReviewLink]:
        """Links whose trials do not show what people have said since; of one run or of all."""
        ...

    @abstractmethod
    def run_ids(self) -> list[str]:
        """The ids of the runs that have items, newest first."""
        ...

    @abstractmethod
    def unasked_run_ids(self) -> list[str]:
        """The ids of the runs with trials that ask people, that no item is about, and that were stored since their run
        last came to a stop: it is under way, or its process was killed. Regrades are none of them.
        """
        ...

    @abstractmethod
    def remarks(self, run_id: str) -> list[Remark]: ...
