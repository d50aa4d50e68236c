"""The store on disk: how secrets are stored, what is found after reopening, and what damage does."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evalharness.domain.case import Case
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import Suite
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.stored_records import make_run, make_trial, sample_report

SECRET = "correct-horse-battery"


def opened(place: str | Path) -> SqlStore:
    return SqlStore(str(place), redactor=Redactor.none())


def suite_of(text: str) -> Suite:
    case = Case(id="a", input={"prompt": text}, expected={"contains": text}, metadata={"note": [text]})
    return Suite(name=f"capitals {text}", vars={"api_key": text}, description=text, cases=(case,))


def test_no_secret_reaches_the_file_from_any_field(tmp_path: Path) -> None:
    store = SqlStore(str(tmp_path / "store.db"), redactor=Redactor({"API_KEY": SECRET}))
    store.register_suites([RegisteredSuite(suite_of(SECRET), f"/home/{SECRET}", f"/home/{SECRET}/suite.yaml")])
    store.close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        [row] = connection.execute("SELECT * FROM suites").fetchall()
    assert SECRET not in repr(row)
    for name in tmp_path.iterdir():
        assert SECRET.encode() not in name.read_bytes()


def test_a_suite_is_found_under_its_own_name_even_where_that_contains_a_secret(tmp_path: Path) -> None:
    store = SqlStore(":memory:", redactor=Redactor({"API_KEY": SECRET}))
    store.register_suites([RegisteredSuite(suite_of(SECRET), "/")])
    found = store.registered_suite(f"capitals {SECRET}")
    assert found is not None
    assert found.suite.name == "capitals [redacted:API_KEY]"
    store.close()


def test_a_damaged_suite_is_reported_by_name(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    store = SqlStore(place, redactor=Redactor.none())
    store.register_suites([RegisteredSuite(suite_of("x"), "/")])
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE suites SET body = '{'")
        connection.commit()
    assert [line.name for line in store.registered_suites()] == ["capitals x"]
    with pytest.raises(StoreError, match="is damaged: body of the suite capitals x"):
        store.registered_suite("capitals x")
    store.close()


def test_a_damaged_past_run_is_left_out(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    store = opened(place)
    first, second = store.add_runs([make_run(), make_run()])
    for run in (first, second):
        store.finish(run.id, sample_report(run), stopped="", elapsed_s=1.0)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE runs SET body = ? WHERE id = ?", (b"x damaged", second.id))
        connection.commit()
    assert [past.id for past in store.past_runs("capitals")] == [first.id]
    store.close()


def test_what_was_spent_is_found_after_reopening(tmp_path: Path) -> None:
    store = opened(tmp_path / "store.db")
    store.record_spent("budget", 0.75, 15)
    store.close()
    again = opened(tmp_path / "store.db")
    assert again.spent("budget") == (0.75, 15)
    again.close()


def test_trials_that_cannot_be_written_take_neither_sums_nor_verdicts_with_them(tmp_path: Path) -> None:
    store, other = opened(tmp_path / "store.db"), opened(tmp_path / "store.db")
    [run] = store.add_runs([make_run()])
    store.put(run.id, make_trial())
    store.flush()
    other.remove_run(run)
    store.put(run.id, make_trial(index=1))
    store.record_spent("budget", 0.5, 10)
    asyncio.run(store.judge_cache.set("k", {"score": 3}))
    with pytest.raises(StoreError):
        store.close()
    assert other.spent("budget") == (0.5, 10)
    assert asyncio.run(other.judge_cache.has("k"))
    other.close()


def test_runs_of_one_store_write_no_secret_of_each_other_to_the_file(tmp_path: Path) -> None:
    """Each has a secret that the other one, and the store itself, do not know."""
    secrets = {"ONE_KEY": "correct-horse-battery", "TWO_KEY": "staple-of-another-kind"}
    store = opened(tmp_path / "store.db")
    for name, value in secrets.items():
        view = store.redacting(Redactor({name: value}))
        [run] = view.add_runs([make_run(f"suite {value}")], [RegisteredSuite(suite_of(value), f"/home/{value}")])
        view.put(run.id, make_trial(reason=f"it said {value}"))
        view.replace_unfinished(run.id, make_trial("b", reason=f"then {value}"))
        asyncio.run(view.judge_cache.set(name, {"reason": value}))
        view.finish(run.id, sample_report(run, why=value), stopped="", elapsed_s=1.0)
    store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for name, value in secrets.items():
        assert value.encode() not in written
        assert f"[redacted:{name}]".encode() in written
