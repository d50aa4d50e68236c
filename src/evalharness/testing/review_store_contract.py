"""What every store does with reviews: items found by what they ask, one assignment per person, rows that only grow."""

from __future__ import annotations

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.grade import Grade
from evalharness.domain.rating import RatingScale
from evalharness.domain.review import (
    EVIDENCE,
    Assignment,
    Remark,
    Review,
    Reviewer,
    ReviewItem,
    ReviewLink,
    ReviewTask,
    ShownAnswer,
)
from evalharness.domain.run import Run
from evalharness.errors import UnknownName
from evalharness.testing.stored_records import SECRET, StoreFixtures, added, make_run, make_trial, put, sample_report

MOMENT = "2026-01-02T03:04:05Z"


def make_item(key: str = "k", *, item_id: str = "", gold: bool | None = None, output: str = "an answer") -> ReviewItem:
    task = ReviewTask(scale=RatingScale(type="binary"), rubric="Is it right?")
    answer = ShownAnswer(output=output)
    return ReviewItem(id=item_id or f"id-{key}", key=key, grader="human", task=task, answers=(answer,), gold=gold)


def make_link(item: ReviewItem, run: Run, case_id: str = "a", index: int = 0) -> ReviewLink:
    return ReviewLink(item.id, run.id, case_id, index, "0")


class ReviewStoreContract(StoreFixtures):
    def test_an_item_is_found_by_what_it_asks(self, store: Store) -> None:
        """A second run that asks the same gets the item that is there, and what was said about it."""
        first, second = store.add_runs([make_run(), make_run()])
        item = make_item()
        with store.reviews.book() as book:
            assert book.add_item(item, [make_link(item, first)]) == item.id
            book.add_review(Review(item_id=item.id, reviewer="ann", rating=True, submitted_at=MOMENT))
        again = make_item(item_id="another")
        with store.reviews.book() as book:
            assert book.add_item(again, [make_link(again, second)]) == item.id
            assert [link.run_id for link in book.links(item.id)] == [first.id, second.id]
        [found] = store.reviews.items(second.id)
        assert (found.item, [review.reviewer for review in found.reviews]) == (item, ["ann"])
        assert [link.run_id for link in found.links] == [second.id]
        assert store.reviews.run_ids() == [second.id, first.id]

    def test_nothing_is_kept_of_what_failed_half_way(self, store: Store) -> None:
        run, item = added(store), make_item()
        with pytest.raises(UnknownName), store.reviews.book() as book:
            book.add_item(item, [make_link(item, run)])
            book.put_reviewer(Reviewer(name="ann", seed="s"))
            book.item("nobody's")
        with store.reviews.book() as book:
            assert book.reviewers() == []
            with pytest.raises(UnknownName):
                book.item(item.id)
        assert store.reviews.items(run.id) == []

    def test_there_is_one_assignment_for_each_item_and_person(self, store: Store) -> None:
        run, item = added(store), make_item()
        leased = Assignment(item.id, "ann", "leased", "boot", 1.0, 2.0, "half a th")
        with store.reviews.book() as book:
            book.add_item(item, [make_link(item, run)])
            book.put_assignment(leased)
            book.put_assignment(leased._replace(draft="half a thought"))
            book.put_assignment(leased._replace(reviewer="ben"))
        with store.reviews.book() as book:
            assert [each.draft for each in book.assignments(item_id=item.id)] == ["half a thought", "half a th"]
            assert book.leases() == book.assignments()
            book.put_assignment(leased._replace(doing="counted"))
            assert [each.reviewer for each in book.leases()] == ["ben"]

    def test_open_items_are_those_that_somebody_has_not_seen(self, store: Store) -> None:
        run, other = store.add_runs([make_run(), make_run()])
        items = [make_item(key) for key in "abcd"]
        gold = make_item("gold", gold=True)
        with store.reviews.book() as book:
            for item in (*items, gold):
                book.add_item(item, [make_link(item, run)])
            for item, doing in zip(items, ("counted", "surplus", "skipped", "returned"), strict=True):
                book.put_assignment(Assignment(item.id, "ann", doing))  # type: ignore[arg-type]
            book.put_assignment(Assignment(items[3].id, "ben", "counted"))
            mine = book.open_items("ann", run.id)
            assert {(each.id, each.counted) for each in mine} == {("id-d", 1), ("id-gold", 0)}
            assert [each.id for each in mine if each.is_gold] == ["id-gold"]
            assert len(book.open_items("cem", None)) == 5
            assert book.open_items("cem", other.id) == []
            book.set_stage("id-a", "decided", 2)
            assert len(book.open_items("cem", None)) == 4
            assert (book.item("id-a").stage, book.item("id-a").wanted) == ("decided", 2)
            assert store.reviews.is_waiting(run.id)
            for item in items:
                book.set_stage(item.id, "closed", 1)
        assert not store.reviews.is_waiting(run.id), "gold does not count"
        assert not store.reviews.is_waiting(other.id)

    def test_items_are_found_by_their_trial(self, store: Store) -> None:
        run, other = store.add_runs([make_run(), make_run()])
        items = [make_item(key) for key in "abcd"]
        links = [(run, "a", 0), (run, "a", 0), (run, "a", 1), (other, "a", 0)]
        with store.reviews.book() as book:
            for item, link in zip(items, links, strict=True):
                book.add_item(item, [make_link(item, *link)])
            assert set(book.items_of_trial(run.id, "a", 0)) == {"id-a", "id-b"}
            assert book.items_of_trial(run.id, "b", 0) == []

    def test_runs_are_found_that_stopped_before_anybody_was_asked(self, store: Store) -> None:
        asked, _judged, unasked, stopped = runs = store.add_runs([make_run() for _ in range(4)])
        waiting = Grade(grader="human", kind="human", state="awaiting", evidence={EVIDENCE: {}})
        within = Grade(grader="all", kind="all_of", state="awaiting", evidence=[waiting.model_dump(mode="json")])
        by_model = waiting.model_copy(update={"evidence": None})
        for run, grade in zip(runs, (waiting, by_model, within, waiting), strict=True):
            put(store, run, make_trial(state="awaiting", grades=(grade,)))
        store.finish(stopped.id, sample_report(stopped), stopped="", elapsed_s=1)
        with store.reviews.book() as book:
            book.add_item(make_item(), [make_link(make_item(), asked)])
        assert store.reviews.unasked_run_ids() == [unasked.id]

    def test_reviews_are_read_in_the_order_in_which_they_came(self, store: Store) -> None:
        run, items = added(store), [make_item(key) for key in "ab"]
        said = [("a", "ann"), ("a", "ben"), ("b", "ann"), ("a", "ann")]
        with store.reviews.book() as book:
            for item in items:
                book.add_item(item, [make_link(item, run)])
            for key, name in said:
                book.add_review(Review(item_id=f"id-{key}", reviewer=name, rating=True, submitted_at=MOMENT))
                book.put_assignment(Assignment(f"id-{key}", name, "counted"))
            book.add_review(Review(item_id="id-b", reviewer="owner", kind="adjudicated", submitted_at=MOMENT))
            assert [review.reviewer for review in book.reviews("id-a")] == ["ann", "ben", "ann"]
            assert book.reviewed_by("ann") == ["id-a", "id-b"]
            assert book.reviewed_by("owner") == [], "it was not given to them"
            assert book.reviewed_by("nobody") == []

    def test_links_wait_until_they_are_applied(self, store: Store) -> None:
        run, item = added(store), make_item()
        with store.reviews.book() as book:
            book.add_item(item, [make_link(item, run), make_link(item, run, "b")])
        first, second = store.reviews.unapplied_links(run.id)
        with store.reviews.book() as book:
            book.mark_links([first], is_applied=True)
        assert store.reviews.unapplied_links() == [second]
        with store.reviews.book() as book:
            book.mark_links(book.links(item.id), is_applied=False)
        assert len(store.reviews.unapplied_links()) == 2

    def test_what_people_wrote_has_no_secret_in_it(self, store: Store) -> None:
        run, item = added(store), make_item(output=f"the key is {SECRET}")
        with store.reviews.book() as book:
            book.add_item(item, [make_link(item, run)])
            book.add_review(Review(item_id=item.id, reviewer="ann", comment=SECRET, submitted_at=MOMENT))
            book.put_assignment(Assignment(item.id, "ann", "leased", draft=SECRET))
            about = {"case_id": "a", "trial_index": 0, "grader": "g", "reviewer": "ann", "made_at": MOMENT}
            book.add_remark(Remark(run_id=run.id, agrees=False, comment=SECRET, **about))
            assert book.assignments()[0].draft == "[redacted:API_KEY]"
        [found] = store.reviews.items(run.id)
        assert found.item.answers[0].output == "the key is [redacted:API_KEY]"
        assert found.reviews[0].comment == "[redacted:API_KEY]"
        assert store.reviews.remarks(run.id)[0].comment == "[redacted:API_KEY]"

    def test_a_remark_needs_a_run(self, store: Store) -> None:
        about = {"case_id": "a", "trial_index": 0, "grader": "g", "reviewer": "ann", "made_at": MOMENT}
        with pytest.raises(UnknownName), store.reviews.book() as book:
            book.add_remark(Remark(run_id="no such run", agrees=True, **about))

    def test_items_go_with_the_last_run_that_needs_them(self, store: Store) -> None:
        first, second = store.add_runs([make_run(), make_run()])
        shared, own = make_item("shared"), make_item("own")
        with store.reviews.book() as book:
            book.add_item(shared, [make_link(shared, first), make_link(shared, second)])
            book.add_item(own, [make_link(own, first)])
            for item in (shared, own):
                book.put_assignment(Assignment(item.id, "ann", "counted"))
                book.add_review(Review(item_id=item.id, reviewer="ann", rating=True, submitted_at=MOMENT))
        store.remove_run(first)
        with store.reviews.book() as book:
            assert [each.item_id for each in book.assignments()] == [shared.id]
            assert book.reviewed_by("ann") == [shared.id]
            with pytest.raises(UnknownName):
                book.item(own.id)
            book.add_item(own, [make_link(own, second)])
        store.remove_run(second)
        with store.reviews.book() as book:
            assert (book.assignments(), book.reviewed_by("ann")) == ([], [])
        assert store.reviews.run_ids() == []

    def test_it_says_which_runs_of_an_item_are_finished(self, store: Store) -> None:
        run, item = added(store), make_item()
        with store.reviews.book() as book:
            book.add_item(item, [make_link(item, run)])
            assert book.finished_runs(item.id) == []
        store.finish(run.id, sample_report(run), stopped="", elapsed_s=1)
        with store.reviews.book() as book:
            assert book.finished_runs(item.id) == [run.name]

    def test_a_run_is_not_finished_while_people_are_awaited(self, store: Store) -> None:
        run = added(store)
        waiting = sample_report(run).model_copy(update={"awaited": ("human",)})
        assert store.finish(run.id, waiting, stopped="", elapsed_s=1) is None
        assert store.finish(run.id, sample_report(run), stopped="", elapsed_s=1) is not None

    def test_a_reviewed_trial_takes_the_place_of_any_other(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial(state="passed", reason="before"))
        store.put_reviewed(run.id, make_trial(state="failed", reason="after"))
        store.flush()
        assert [(trial.state, trial.reason) for trial in store.trials(run.id)] == [("failed", "after")]

    def test_reviewers_are_known_by_name(self, store: Store) -> None:
        with store.reviews.book() as book:
            book.put_reviewer(Reviewer(name="ben", seed="2"))
            book.put_reviewer(Reviewer(name="ann", seed="1"))
            book.put_reviewer(Reviewer(name="ben", seed="2", revoked_at=MOMENT))
            assert [(each.name, each.revoked_at) for each in book.reviewers()] == [("ann", ""), ("ben", MOMENT)]
        assert [(each.name, each.revoked_at) for each in store.reviews.reviewers()] == [("ann", ""), ("ben", MOMENT)]
