"""Opening a store in all kinds of places, alone and concurrently, and what a transaction guarantees."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evalharness.errors import StoreError
from evalharness.reports.words.say import say
from evalharness.stores.sqlite import Database


def opened(path: Path, timeout_s: float = 5.0) -> Database:
    return Database(str(path), timeout_s)


def add_version(database: Database, version: int) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO schema_version VALUES (?)", (version,))


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    opened(tmp_path / "a" / "b" / "store.db").close()
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == {"store.db"}


def test_results_stay_out_of_version_control(tmp_path: Path) -> None:
    opened(tmp_path / ".evalharness" / "store.db").close()
    assert (tmp_path / ".evalharness" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    opened(tmp_path / "store.db").close()
    assert (tmp_path / "store.db").read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("content", [b"hello", b"name: my suite\ncases: []\n", bytes(range(256)) * 100])
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "suite.yaml"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"suite\.yaml is not a store") as refusal:
        opened(path)
    assert "--store" in say(refusal.value.hint)
    assert path.read_bytes() == content


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        opened(tmp_path)


@pytest.mark.parametrize("place", ["file/store.db", "file/deeper/store.db"])
def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is not a folder"):
        opened(tmp_path / place)


def test_a_folder_one_may_not_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    folder = Path("/proc") if os.geteuid() == 0 else tmp_path  # where not even root may write
    for place in (folder / "store.db", folder / "new" / "store.db"):
        with pytest.raises(StoreError) as refusal:
            opened(place)
        assert "--store" in say(refusal.value.hint)


def test_commits_are_durable_and_readers_do_not_wait(tmp_path: Path) -> None:
    database = opened(tmp_path / "store.db")
    pragmas = {name: database.read(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "foreign_keys")}
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    database.close()


def test_many_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    failures: list[StoreError] = []

    def work(barrier: threading.Barrier, path: Path) -> None:
        barrier.wait()
        try:
            opened(path).close()
        except StoreError as error:
            failures.append(error)

    for number in range(40):
        barrier, path = threading.Barrier(8), tmp_path / str(number) / "store.db"
        threads = [threading.Thread(target=work, args=(barrier, path)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_what_fails_in_a_transaction_leaves_nothing_behind(tmp_path: Path) -> None:
    database = opened(tmp_path / "store.db")
    before = database.read("SELECT * FROM schema_version")
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        connection.execute("INSERT INTO schema_version VALUES (99)")
        raise ZeroDivisionError
    assert database.read("SELECT * FROM schema_version") == before
    add_version(database, 0)
    assert len(database.read("SELECT * FROM schema_version")) == len(before) + 1
    database.close()


def test_a_transaction_takes_the_lock_at_once_and_the_next_one_waits_for_it(tmp_path: Path) -> None:
    one, two = opened(tmp_path / "store.db"), opened(tmp_path / "store.db", timeout_s=0.05)
    before = two.read("SELECT COUNT(*) FROM schema_version")
    with one.transaction():
        with pytest.raises(StoreError, match=r"locked by another process for 0\.05 s") as refusal:
            add_version(two, 0)
        assert "EVALHARNESS_STORE_TIMEOUT" in say(refusal.value.hint)
        assert two.read("SELECT COUNT(*) FROM schema_version") == before
        opened(tmp_path / "store.db", timeout_s=0.05).close()
    add_version(two, 0)
    one.close()
    two.close()


@pytest.mark.parametrize(
    "ask",
    [lambda database: database.read("SELECT 1"), lambda database: add_version(database, 0), Database.compact],
    ids=["read", "write", "compact"],
)
def test_a_closed_store_says_so(tmp_path: Path, ask: Callable[[Database], object]) -> None:
    database = opened(tmp_path / "store.db")
    database.close()
    with pytest.raises(StoreError, match="closed"):
        ask(database)


def test_a_damaged_store_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    opened(path).close()
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        opened(path)
