"""Registered suites as they lie on disk: what is kept of a secret, of a path, of a suite that was changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evalharness.domain.case import Case
from evalharness.domain.suite import Suite
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore
from evalharness.stores.suites import RegisteredSuite

SECRET = "correct-horse-battery"


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


def test_a_suite_is_found_under_its_own_name_even_where_that_holds_a_secret(tmp_path: Path) -> None:
    store = SqlStore(":memory:", redactor=Redactor({"API_KEY": SECRET}))
    store.register_suites([RegisteredSuite(suite_of(SECRET), "/")])
    found = store.registered_suite(f"capitals {SECRET}")
    assert found is not None
    assert found.suite.name == "capitals [redacted:API_KEY]"
    store.close()


def test_a_damaged_suite_is_told_by_name(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    store = SqlStore(place, redactor=Redactor.none())
    store.register_suites([RegisteredSuite(suite_of("x"), "/")])
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE suites SET body = '{'")
        connection.commit()
    assert [line.name for line in store.registered_suites()] == ["capitals x"]
    with pytest.raises(StoreError, match="the suite capitals x cannot be read"):
        store.registered_suite("capitals x")
    store.close()
