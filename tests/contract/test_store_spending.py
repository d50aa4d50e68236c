"""What capped runs have spent, in a store: found at once, and kept as long as one of those runs is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from stored_records import make_run, make_trial

from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore


def opened(path: Path) -> SqlStore:
    return SqlStore(str(path), redactor=Redactor.none())


def test_a_sum_is_found_at_once_and_after_reopening(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    assert store.spending.read("purse") == (0.0, 0)
    for sums in ((0.5, 10), (0.75, 15)):
        store.spending.keep("purse", *sums)
        assert store.spending.read("purse") == sums
    store.close()
    again = opened(tmp_path / "store.db")
    assert again.spending.read("purse") == (0.75, 15)
    again.close()


def test_the_purse_of_a_matrix_goes_with_the_last_of_its_runs(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    first, second = store.add_runs([make_run("one"), make_run("two")])
    store.spending.keep(first.matrix_id, 0.5, 10)
    store.spending.keep(second.id, 0.25, 5)
    assert store.spending.read(first.matrix_id) == (0.5, 10)
    store.remove_run(first)
    assert store.spending.read(first.matrix_id) == (0.5, 10), "the other run draws on it too"
    store.remove_run(second)
    assert store.spending.read(first.matrix_id) == store.spending.read(second.id) == (0.0, 0)
    store.close()


def test_trials_that_cannot_be_written_take_neither_sums_nor_verdicts_with_them(tmp_path: Path) -> None:
    store, other = opened(tmp_path / "store.db"), opened(tmp_path / "store.db")
    [run] = store.add_runs([make_run()])
    assert list(store.trials(run.id)) == []
    other.remove_run(run)
    store.put(run.id, make_trial())
    store.spending.keep("purse", 0.5, 10)
    asyncio.run(store.judge_cache.set("k", {"score": 3}))
    with pytest.raises(StoreError):
        store.close()
    assert other.spending.read("purse") == (0.5, 10)
    assert asyncio.run(other.judge_cache.has("k"))
    other.close()
