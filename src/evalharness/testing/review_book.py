"""Reviews in dictionaries: the book of `FakeStore`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from evalharness.contracts.review_store import ReviewBook, ReviewStore
from evalharness.contracts.store import MEMORY
from evalharness.domain.review import (
    DONE,
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
from evalharness.errors import UnknownName
from evalharness.redaction import Redactor
from evalharness.stores import encoding
from evalharness.stores.cleaning import clean_text
from evalharness.stores.decoding import Decoder

_DECODER = Decoder(MEMORY)


@dataclass(slots=True)
class ReviewRows:
    """As they are stored: bodies in bytes, so that nothing is kept that a file could not keep."""

    reviewers: dict[str, bytes] = field(default_factory=dict)
    items: dict[str, tuple[Stage, int, bytes]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    links: dict[tuple[str, str, str, int, str], bool] = field(default_factory=dict)
    assignments: dict[tuple[str, str], Assignment] = field(default_factory=dict)
    reviews: list[tuple[str, str, bytes]] = field(default_factory=list)
    """By whom, of which item: in order."""
    remarks: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def found_links(self, item_id: str | None = None, run_id: str | None = None) -> list[ReviewLink]:
        links = (ReviewLink(*key, is_applied) for key, is_applied in self.links.items())
        return [link for link in links if item_id in (None, link.item_id) and run_id in (None, link.run_id)]

    def reviewed(self, run_id: str) -> list[ReviewedItem]:
        ids = {link.item_id for link in self.found_links(run_id=run_id)}
        return [
            ReviewedItem(
                _DECODER.item((item_id, *self.items[item_id])),
                self.reviews_of(item_id),
                tuple(self.found_links(item_id, run_id)),
            )
            for item_id in self.items
            if item_id in ids
        ]

    def reviews_of(self, item_id: str) -> tuple[Review, ...]:
        return tuple(_DECODER.review(body) for of, _, body in self.reviews if of == item_id)

    def remove(self, run_id: str) -> None:
        self.remarks.pop(run_id, None)
        for key in [key for key in self.links if key[1] == run_id]:
            del self.links[key]
        used = {key[0] for key in self.links}
        for item_id in [item_id for item_id in self.items if item_id not in used]:
            del self.items[item_id]
        self.reviews = [row for row in self.reviews if row[0] in self.items]
        self.keys = {key: item_id for key, item_id in self.keys.items() if item_id in self.items}
        self.assignments = {key: each for key, each in self.assignments.items() if key[0] in self.items}

    def restore(self, before: ReviewRows) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(before, name))

    def copied(self) -> ReviewRows:
        """As they are now, to go back to."""
        kept = ReviewRows(dict(self.reviewers), dict(self.items), dict(self.keys), dict(self.links))
        kept.assignments, kept.reviews = dict(self.assignments), list(self.reviews)
        kept.remarks.update({run_id: list(rows) for run_id, rows in self.remarks.items()})
        return kept


class FakeReviews(ReviewStore):
    """`finished_name` says what a run is called if it is finished, else None; `all_ids` has the runs in order.

    `asking_trials` are those of a run that were stored since it last came to a stop, and that ask people.
    """

    def __init__(
        self,
        rows: ReviewRows,
        redactor: Redactor,
        lock: AbstractContextManager[object],
        finished_name: Callable[[str], str | None],
        all_ids: Callable[[], list[str]],
        asking_trials: Callable[[str], list[tuple[str, int]]],
    ) -> None:
        self._rows = rows
        self._redactor = redactor
        self._lock = lock
        self._finished_name = finished_name
        self._all_ids = all_ids
        self._asking_trials = asking_trials

    @contextmanager
    def book(self) -> Iterator[ReviewBook]:
        with self._lock, ExitStack() as undo:
            undo.callback(self._rows.restore, self._rows.copied())
            yield FakeReviewBook(self._rows, self._redactor, self._finished_name)
            undo.pop_all()

    def reviewers(self) -> list[Reviewer]:
        return _reviewers(self._rows)

    def items(self, run_id: str) -> list[ReviewedItem]:
        return self._rows.reviewed(run_id)

    def is_waiting(self, run_id: str) -> bool:
        asked = [each.item for each in self.items(run_id) if each.item.role == "rate"]
        return any(item.stage in ("open", "disputed") for item in asked)

    def unapplied_links(self, run_id: str | None = None) -> list[ReviewLink]:
        return [link for link in self._rows.found_links(run_id=run_id) if not link.is_applied]

    def run_ids(self) -> list[str]:
        linked = {link.run_id for link in self._rows.found_links()}
        return [run_id for run_id in reversed(self._all_ids()) if run_id in linked]

    def unasked_run_ids(self) -> list[str]:
        return [run_id for run_id in self._all_ids() if set(self._asking_trials(run_id)) - self._asked(run_id)]

    def _asked(self, run_id: str) -> set[tuple[str, int]]:
        return {(link.case_id, link.trial_index) for link in self._rows.found_links(run_id=run_id)}

    def remarks(self, run_id: str) -> list[Remark]:
        return [_DECODER.remark(body) for body in self._rows.remarks[run_id]]


class FakeReviewBook(ReviewBook):
    """`finished_name` says what a run is called if it is finished, and is None else."""

    def __init__(self, rows: ReviewRows, redactor: Redactor, finished_name: Callable[[str], str | None]) -> None:
        self._rows = rows
        self._redactor = redactor
        self._finished_name = finished_name

    def _clean(self, text: str) -> str:
        return clean_text(text, self._redactor)

    def reviewers(self) -> list[Reviewer]:
        return _reviewers(self._rows)

    def put_reviewer(self, reviewer: Reviewer) -> None:
        named = reviewer.model_copy(update={"name": self._clean(reviewer.name)})
        self._rows.reviewers[named.name] = encoding.reviewer_body(named)

    def add_item(self, item: ReviewItem, links: Iterable[ReviewLink]) -> str:
        item_id = self._rows.keys.setdefault(item.key, item.id)
        if item_id not in self._rows.items:
            self._rows.items[item_id] = (item.stage, item.wanted, encoding.item_body(item, self._redactor))
        for link in links:
            self._rows.links.setdefault((item_id, *link[1:5]), link.is_applied)
        return item_id

    def item(self, item_id: str) -> ReviewItem:
        wanted = self._clean(item_id)
        if wanted not in self._rows.items:
            raise UnknownName("review item", item_id, [])
        return _DECODER.item((wanted, *self._rows.items[wanted]))

    def set_stage(self, item_id: str, stage: Stage, wanted: int) -> None:
        self._rows.items[item_id] = (stage, wanted, self._rows.items[item_id][2])

    def open_items(self, reviewer: str, run_id: str | None) -> list[OpenItem]:
        named, found = self._clean(reviewer), []
        linked = {link.item_id for link in self._rows.found_links(run_id=run_id)}
        for item_id, (stage, wanted, _) in self._rows.items.items():
            own = self._rows.assignments.get((item_id, named))
            if stage == "open" and item_id in linked and not (own and own.doing in DONE):
                counted = sum(each.doing == "counted" for each in self.assignments(item_id=item_id))
                found.append(OpenItem(item_id, self.item(item_id).is_gold, wanted, counted))
        return found

    def assignments(self, *, item_id: str | None = None, reviewer: str | None = None) -> list[Assignment]:
        named = None if reviewer is None else self._clean(reviewer)
        found = self._rows.assignments.values()
        meant = [each for each in found if item_id in (None, each.item_id) and named in (None, each.reviewer)]
        return sorted(meant, key=lambda each: each.reviewer)

    def leases(self) -> list[Assignment]:
        return [each for each in self._rows.assignments.values() if each.doing == "leased"]

    def put_assignment(self, assignment: Assignment) -> None:
        is_gold = self.item(assignment.item_id).is_gold
        reviewer, draft = self._clean(assignment.reviewer), self._clean(assignment.draft)
        named = assignment._replace(reviewer=reviewer, draft=draft, is_gold=is_gold)
        self._rows.assignments[named.item_id, named.reviewer] = named

    def add_review(self, review: Review) -> None:
        body = encoding.review_body(review, self._redactor)
        self._rows.reviews.append((review.item_id, self._clean(review.reviewer), body))

    def reviews(self, item_id: str) -> tuple[Review, ...]:
        return self._rows.reviews_of(item_id)

    def reviewed_by(self, reviewer: str) -> list[str]:
        named = self._clean(reviewer)
        said = dict.fromkeys(item_id for item_id, by, _ in reversed(self._rows.reviews) if by == named)
        return [item_id for item_id in said if (item_id, named) in self._rows.assignments]

    def links(self, item_id: str) -> list[ReviewLink]:
        return self._rows.found_links(item_id)

    def items_of_trial(self, run_id: str, case_id: str, index: int) -> list[str]:
        links = self._rows.found_links(run_id=run_id)
        return list(dict.fromkeys(link.item_id for link in links if link[2:4] == (case_id, index)))

    def mark_links(self, links: Iterable[ReviewLink], *, is_applied: bool) -> None:
        for link in links:
            self._rows.links[link[:5]] = is_applied

    def finished_runs(self, item_id: str) -> list[str]:
        names = {self._finished_name(link.run_id) for link in self.links(item_id)}
        return sorted(name for name in names if name is not None)

    def add_remark(self, remark: Remark) -> None:
        self._finished_name(remark.run_id)
        self._rows.remarks[remark.run_id].append(encoding.remark_body(remark, self._redactor))


def _reviewers(rows: ReviewRows) -> list[Reviewer]:
    return [_DECODER.reviewer(rows.reviewers[name]) for name in sorted(rows.reviewers)]
