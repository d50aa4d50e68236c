"""Past runs of a suite: newest first, only those that asked a target and came to their end, with what they counted."""

from __future__ import annotations

from stored_records import make_report, make_run, make_trial

from evalharness.contracts.store import Store
from evalharness.domain.run import Run
from evalharness.domain.trial import TrialState


def stored(store: Store, *, finished: bool = True, suite: str = "capitals", regrade_of: str = "") -> Run:
    [run] = store.add_runs([make_run(suite).model_copy(update={"regrade_of": regrade_of})])
    states: list[tuple[str, int, TrialState]] = [
        ("a", 0, "passed"),
        ("a", 1, "failed"),
        ("b", 0, "error"),
        ("b", 1, "failed"),
    ]
    for case_id, index, state in states:
        store.put(run.id, make_trial(case_id, index, state))
    store.finish(run.id, make_report(run, pending=0 if finished else 1), stopped="", elapsed_s=1.0)
    return run


def test_newest_first_and_only_those_that_count(store: Store) -> None:
    first, second = stored(store), stored(store)
    stored(store, finished=False)
    stored(store, suite="other")
    stored(store, regrade_of=first.id)
    last = stored(store)
    assert [past.id for past in store.past_runs("capitals")] == [last.id, second.id, first.id]
    assert [past.id for past in store.past_runs("capitals", before=last.id)] == [second.id, first.id]
    assert list(store.past_runs("nobody")) == []


def test_a_past_run_tells_what_was_asked_of_whom(store: Store) -> None:
    run = stored(store)
    [past] = store.past_runs("capitals")
    assert (past.name, past.planned, past.variant, past.kind, past.target) == (run.name, 4, "quick", "oracle", "t")
    assert past.key("a") == run.lock.cases["a"].key
    assert past.key("nobody") == ""
    assert past.locks["a"] == run.lock.cases["a"].model_dump(exclude_defaults=True)


def test_judged_first_answers_by_case(store: Store) -> None:
    assert store.judged(stored(store).id) == {"a": (2, 1), "b": (1, 0)}


def test_what_runs_were_tried_on_is_known_without_their_suites(store: Store) -> None:
    long = make_run().model_copy(update={"root": "/" + "folder/" * 5000})
    for variant in ("quick", "slow", "slow", "other"):
        [run] = store.add_runs([long.model_copy(update={"variant": variant})])
        store.finish(run.id, make_report(run), stopped="", elapsed_s=1.0)
    stored(store, finished=False)
    assert store.variants("capitals", 10) == {"quick", "slow", "other"}
    assert store.variants("capitals", 2) == {"slow", "other"}, "the newest"
