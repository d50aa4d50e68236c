"""What capped runs have spent, in every store: found at once, and kept as long as one of those runs is."""

from __future__ import annotations

from stored_records import make_run

from evalharness.contracts.store import Store


def test_the_last_sum_is_found_at_once(store: Store) -> None:
    assert store.spent("budget") == (0.0, 0)
    for sums in ((0.5, 10), (0.75, 15)):
        store.record_spent("budget", *sums)
        assert store.spent("budget") == sums


def test_the_budget_of_a_matrix_goes_with_the_last_of_its_runs(store: Store) -> None:
    first, second = store.add_runs([make_run("one"), make_run("two")])
    store.record_spent(first.matrix_id, 0.5, 10)
    store.record_spent(second.id, 0.25, 5)
    assert store.spent(first.matrix_id) == (0.5, 10)
    store.remove_run(first)
    assert store.spent(first.matrix_id) == (0.5, 10), "the other run draws on it too"
    store.remove_run(second)
    assert store.spent(first.matrix_id) == store.spent(second.id) == (0.0, 0)
