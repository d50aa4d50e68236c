"""The rows about reviews in SQL. What they mean, and who is given what, is decided in `engine/reviewing/`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from sqlite3 import Connection
from typing import Any

from evalharness.contracts.review_store import ReviewBook, ReviewStore
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
from evalharness.errors import UnknownName
from evalharness.redaction import Redactor
from evalharness.stores import review_statements as statements
from evalharness.stores.cleaning import clean_text
from evalharness.stores.decoding import Decoder
from evalharness.stores.encoding import item_body, remark_body, review_body, reviewer_body
from evalharness.stores.sqlite import Database


class SqlReviews(ReviewStore):
    def __init__(self, database: Database, decoder: Decoder, redactor: Redactor) -> None:
        self._database = database
        self._decoder = decoder
        self._redactor = redactor

    @contextmanager
    def book(self) -> Iterator[ReviewBook]:
        with self._database.transaction() as connection:
            yield SqlReviewBook(connection, self._database, self._decoder, self._redactor)

    def reviewers(self) -> list[Reviewer]:
        return [self._decoder.reviewer(body) for (body,) in self._database.read(statements.REVIEWERS)]

    def items(self, run_id: str) -> list[ReviewedItem]:
        read, decoder = self._database.read, self._decoder
        reviews: dict[str, list[Review]] = defaultdict(list)
        links: dict[str, list[ReviewLink]] = defaultdict(list)
        items = [decoder.item(row) for row in read(statements.ITEMS_OF_RUN, (run_id,))]
        for (body,) in read(statements.REVIEWS_OF_RUN, (run_id,)) if items else ():
            review = decoder.review(body)
            reviews[review.item_id].append(review)
        for link in read_links(self._database, statements.LINKS_OF_RUN, (run_id,)) if items else ():
            links[link.item_id].append(link)
        return [ReviewedItem(item, tuple(reviews[item.id]), tuple(links[item.id])) for item in items]

    def is_waiting(self, run_id: str) -> bool:
        return bool(self._database.read(statements.WAITING, (run_id,)))

    def unapplied_links(self, run_id: str | None = None) -> list[ReviewLink]:
        return read_links(self._database, statements.UNAPPLIED_LINKS, (run_id, run_id))

    def run_ids(self) -> list[str]:
        return [run_id for (run_id,) in self._database.read(statements.RUNS_IN_REVIEW)]

    def unasked_run_ids(self) -> list[str]:
        return [run_id for (run_id,) in self._database.read(statements.UNASKED_RUNS)]

    def remarks(self, run_id: str) -> list[Remark]:
        return [self._decoder.remark(body) for (body,) in self._database.read(statements.REMARKS, (run_id,))]


class SqlReviewBook(ReviewBook):
    """Inside the transaction of `connection`."""

    def __init__(self, connection: Connection, database: Database, decoder: Decoder, redactor: Redactor) -> None:
        self._connection = connection
        self._database = database
        self._decoder = decoder
        self._redactor = redactor

    def _clean(self, text: str) -> str:
        return clean_text(text, self._redactor)

    def _read(self, sql: str, *values: Any) -> list[Any]:
        return self._database.read(sql, values)

    def _write(self, sql: str, *values: Any) -> int:
        return self._connection.execute(sql, values).rowcount

    def reviewers(self) -> list[Reviewer]:
        return [self._decoder.reviewer(body) for (body,) in self._read(statements.REVIEWERS)]

    def put_reviewer(self, reviewer: Reviewer) -> None:
        named = reviewer.model_copy(update={"name": self._clean(reviewer.name)})
        self._write(statements.PUT_REVIEWER, named.name, reviewer_body(named))

    def add_item(self, item: ReviewItem, links: Iterable[ReviewLink]) -> str:
        about = (item.stage, item.wanted, item.role)
        self._write(statements.ADD_ITEM, item.id, item.key, *about, item_body(item, self._redactor))
        [(item_id,)] = self._read(statements.FIND_KEY, item.key)
        for link in links:
            place = (link.case_id, link.trial_index, link.place, int(link.is_applied))
            self._write(statements.ADD_LINK, item_id, *place, link.run_id)
        return str(item_id)

    def item(self, item_id: str) -> ReviewItem:
        for row in self._read(statements.READ_ITEM, self._clean(item_id)):
            return self._decoder.item(row)
        raise UnknownName("review item", item_id, [])

    def set_stage(self, item_id: str, stage: Stage, wanted: int) -> None:
        self._write(statements.SET_STAGE, stage, wanted, item_id)

    def open_items(self, reviewer: str, run_id: str | None) -> list[OpenItem]:
        rows = self._read(statements.OPEN_ITEMS, run_id, run_id, self._clean(reviewer))
        return [OpenItem(item_id, role == "gold", wanted, counted) for item_id, role, wanted, counted in rows]

    def assignments(self, *, item_id: str | None = None, reviewer: str | None = None) -> list[Assignment]:
        named = None if reviewer is None else self._clean(reviewer)
        wanted = {"item_id": item_id, "reviewer": named}
        asked = {column: value for column, value in wanted.items() if value is not None}
        return _assignments(self._read(statements.assignments(asked), *asked.values()))

    def leases(self) -> list[Assignment]:
        return _assignments(self._read(statements.LEASES))

    def put_assignment(self, assignment: Assignment) -> None:
        item_id, reviewer, *rest, draft, _ = assignment
        self._write(statements.PUT_ASSIGNMENT, item_id, self._clean(reviewer), *rest, self._clean(draft))

    def add_review(self, review: Review) -> None:
        self._write(
            statements.ADD_REVIEW, review.item_id, self._clean(review.reviewer), review_body(review, self._redactor)
        )

    def reviewed_by(self, reviewer: str) -> list[str]:
        return [item_id for (item_id,) in self._read(statements.REVIEWED_BY, self._clean(reviewer))]

    def reviews(self, item_id: str) -> tuple[Review, ...]:
        return tuple(self._decoder.review(body) for (body,) in self._read(statements.REVIEWS_OF_ITEM, item_id))

    def links(self, item_id: str) -> list[ReviewLink]:
        return read_links(self._database, statements.LINKS_OF_ITEM, (item_id,))

    def items_of_trial(self, run_id: str, case_id: str, index: int) -> list[str]:
        return [item_id for (item_id,) in self._read(statements.ITEMS_OF_TRIAL, run_id, case_id, index)]

    def mark_links(self, links: Iterable[ReviewLink], *, is_applied: bool) -> None:
        for item_id, run_id, case_id, index, place, _ in links:
            self._write(statements.MARK_LINK, int(is_applied), item_id, run_id, case_id, index, place)

    def finished_runs(self, item_id: str) -> list[str]:
        return [name for (name,) in self._read(statements.FINISHED_RUNS, item_id)]

    def add_remark(self, remark: Remark) -> None:
        if not self._write(statements.ADD_REMARK, remark_body(remark, self._redactor), remark.run_id):
            raise UnknownName("run", remark.run_id, [])


def _assignments(rows: Sequence[Any]) -> list[Assignment]:
    return [Assignment._make((*rest, role == "gold")) for *rest, role in rows]


def read_links(database: Database, sql: str, values: Sequence[Any]) -> list[ReviewLink]:
    return [ReviewLink._make((*rest, bool(is_applied))) for *rest, is_applied in database.read(sql, values)]


def remove_reviews(connection: Connection, run_seq: int) -> None:
    """Those of a run; items that another run has as well are kept with all that was said about them."""
    for sql in statements.REMOVE_OF_RUN:
        connection.execute(sql, (run_seq,))
    for sql in statements.REMOVE_UNUSED:
        connection.execute(sql)
