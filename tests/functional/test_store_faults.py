"""Full disks, locked files and killed processes: confirmed trials are stored once, and the file is intact."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest
from small_disk import mounted, remount
from store_writer import bulky_trial, open_store

from evalharness.errors import RunBusy, StoreError
from evalharness.reports.words.say import say
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.stored_records import make_run

WRITER = Path(__file__).with_name("store_writer.py")
HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
HOLD_CLAIM = """
import sys, time
from store_writer import open_store
store = open_store(sys.argv[1])
with store.claim(store.find_run(sys.argv[2])):
    print("claimed", flush=True)
    time.sleep(600)
"""


@dataclass
class SmallDisk:
    """A place with little space; `grow` adds more."""

    place: str
    squeeze: Callable[[SqlStore], None]
    grow: Callable[[], None]


@pytest.fixture(params=["small disk", "small file"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    if request.param == "small file":
        yield SmallDisk(str(tmp_path / "store.db"), squeeze=_limit_pages, grow=lambda: None)
        return
    with mounted(tmp_path) as folder:
        yield SmallDisk(str(folder / "store.db"), squeeze=lambda store: None, grow=lambda: remount(folder, "size=16m"))


def _limit_pages(store: SqlStore) -> None:
    store._database.read("PRAGMA max_page_count = 100")


def check_sound(place: str) -> None:
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def indexes(store: SqlStore, run_id: str, case_id: str = "a") -> list[int]:
    return [trial.index for trial in store.trials(run_id, case_id)]


class TestFullDisk:
    def test_what_was_acknowledged_stays_and_writing_goes_on_once_there_is_space(self, small_disk: SmallDisk) -> None:
        store = open_store(small_disk.place)
        [run] = store.add_runs([make_run(trials=1000)])
        small_disk.squeeze(store)
        acknowledged = []
        with pytest.raises(StoreError, match="no space is left") as failure:
            for index in range(1000):
                store.put(run.id, bulky_trial("a", index))
                store.flush()
                acknowledged.append(index)
        assert "resume" in say(failure.value.hint)
        assert len(acknowledged) > 10
        for refused in (partial(store.put, run.id, bulky_trial("a", 999)), store.flush):
            with pytest.raises(StoreError, match="no space is left"):
                refused()
        assert store.backlog == 0
        assert indexes(store, run.id) == acknowledged
        store.close()

        check_sound(small_disk.place)
        small_disk.grow()
        again = open_store(small_disk.place)
        assert indexes(again, run.id) == acknowledged
        last = len(acknowledged)
        again.put(run.id, bulky_trial("a", last))
        again.flush()
        assert list(again.trials(run.id))[-1] == bulky_trial("a", last)
        again.close()
        check_sound(small_disk.place)

    def test_a_group_that_does_not_fit_is_left_out_as_a_whole(self, small_disk: SmallDisk) -> None:
        store = open_store(small_disk.place)
        [run] = store.add_runs([make_run(trials=1000)])
        small_disk.squeeze(store)
        with pytest.raises(StoreError, match="no space is left"):
            for index in range(600):
                store.put(run.id, bulky_trial("a", index))
            store.flush()
        found = indexes(store, run.id)
        assert found == list(range(len(found)))
        store.close()
        check_sound(small_disk.place)

    def test_a_store_cannot_be_made_on_a_full_disk(self, tmp_path: Path) -> None:
        with mounted(tmp_path) as folder:
            with pytest.raises(OSError, match="No space"), (folder / "filling").open("wb", buffering=0) as filling:
                while True:
                    filling.write(bytes(4096))
            for place in (folder / "store.db", folder / ".evalharness" / "store.db"):
                with pytest.raises(StoreError, match=r"(?i)no space"):
                    open_store(str(place))

    def test_a_disk_that_turns_read_only_is_an_error_with_words(self, tmp_path: Path) -> None:
        with mounted(tmp_path) as folder:
            store = open_store(str(folder / "store.db"))
            [run] = store.add_runs([make_run(trials=1000)])
            store.put(run.id, bulky_trial("a", 0))
            store.close()
            remount(folder, "ro")
            with pytest.raises(StoreError) as refusal, closing(open_store(str(folder / "store.db"))) as read_only:
                read_only.add_runs([make_run(trials=1000)])
            assert "--store" in say(refusal.value.hint)
            with pytest.raises(StoreError):
                open_store(str(folder / "new" / "store.db"))
            remount(folder, "rw")
            again = open_store(str(folder / "store.db"))
            assert indexes(again, run.id) == [0]
            again.close()


class TestLockedStore:
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path / "store.db")

    @contextmanager
    def locked(self, place: str) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-c", HOLD_LOCK, place]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            try:
                yield holder
            finally:
                holder.kill()

    def test_a_lock_that_outlasts_the_time_limit_stops_writing_and_loses_nothing(self, place: str) -> None:
        store = open_store(place, timeout_s=0.2)
        [run] = store.add_runs([make_run(trials=1000)])
        store.put(run.id, bulky_trial("a", 0))
        store.flush()
        with self.locked(place):
            assert indexes(store, run.id) == [0]
            store.put(run.id, bulky_trial("a", 1))
            with pytest.raises(StoreError, match=r"locked by another process for 0\.2 s"):
                store.flush()
            with pytest.raises(StoreError, match="locked"):
                store.add_runs([make_run(trials=1000)])
            with pytest.raises(StoreError, match="locked"):
                store.put(run.id, bulky_trial("a", 2))
        store.close()
        again = open_store(place)
        assert indexes(again, run.id) == [0]
        again.put(run.id, bulky_trial("a", 1))
        again.flush()
        assert indexes(again, run.id) == [0, 1]
        again.close()

    def test_a_lock_that_ends_in_time_is_waited_for(self, place: str) -> None:
        store = open_store(place)
        [run] = store.add_runs([make_run(trials=1000)])
        with self.locked(place) as holder:
            release = threading.Timer(0.3, holder.kill)
            release.start()
            store.put(run.id, bulky_trial("a", 0))
            store.flush()
            release.join()
        assert indexes(store, run.id) == [0]
        store.close()

    def test_a_run_removed_by_another_process_is_an_error_and_leaves_no_orphan(self, place: str) -> None:
        store, other = open_store(place), open_store(place)
        [run] = store.add_runs([make_run(trials=1000)])
        store.put(run.id, bulky_trial("a", 0))
        store.flush()
        other.remove_run(run)
        store.put(run.id, bulky_trial("a", 1))
        with pytest.raises(StoreError, match="was removed"):
            store.flush()
        store.close()
        other.close()
        check_sound(place)

    def test_half_read_results_do_not_keep_a_store_from_writing_after_another_one(self, place: str) -> None:
        store, other = open_store(place, timeout_s=1.0), open_store(place, timeout_s=1.0)
        [run] = store.add_runs([make_run(trials=1000)])
        for index in range(600):
            store.put(run.id, bulky_trial("a", index, size=10))
        store.flush()
        reading = store.trials(run.id)
        next(reading)
        other.put(run.id, bulky_trial("b", 0))
        other.flush()
        store.put(run.id, bulky_trial("b", 1))
        store.flush()
        assert indexes(other, run.id, "b") == [0, 1]
        store.close()
        other.close()


class TestSeveralProcesses:
    def writer(self, place: str, run_id: str, case_id: str, count: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(WRITER), place, run_id, case_id, str(count)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_two_that_write_at_once_lose_nothing(self, tmp_path: Path) -> None:
        place = str(tmp_path / "store.db")
        store = open_store(place)
        [run] = store.add_runs([make_run(trials=1000)])
        writers = [self.writer(place, run.id, case_id, 500) for case_id in ("a", "b")]
        for writer in writers:
            acknowledged, complaints = writer.communicate(timeout=240)
            assert (writer.returncode, complaints) == (0, "")
            assert len(acknowledged.split()) == 500
        assert indexes(store, run.id, "a") == indexes(store, run.id, "b") == list(range(500))
        store.close()
        check_sound(place)

    def test_kill_9_at_any_moment_loses_nothing_acknowledged(self, tmp_path: Path) -> None:
        place = str(tmp_path / "store.db")
        store = open_store(place)
        [run] = store.add_runs([make_run(trials=1000)])
        store.close()
        dice = Random()
        acknowledged: dict[str, int] = {}
        for number in range(10):
            case_id = f"case-{number}"
            with self.writer(place, run.id, case_id, 0) as writer:
                assert writer.stdout is not None
                first = writer.stdout.readline()
                assert first == "0\n"
                time.sleep(dice.uniform(0, 0.2))
                writer.kill()
                lines = [first, *writer.stdout.read().splitlines(keepends=True)]
            acknowledged[case_id] = len([line for line in lines if line.endswith("\n")])
            check_sound(place)
        again = open_store(place)
        for case_id, count in acknowledged.items():
            found = indexes(again, run.id, case_id)
            # One more trial may have been committed before the killed process could report it.
            assert found in (list(range(count)), list(range(count + 1))), case_id
            assert list(again.trials(run.id, case_id)) == [bulky_trial(case_id, index) for index in found]
        again.close()

    def test_a_run_has_one_process_until_that_is_killed(self, tmp_path: Path) -> None:
        place = str(tmp_path / "store.db")
        store = open_store(place)
        [run, other] = store.add_runs([make_run(trials=1000), make_run(trials=1000)])
        command = [sys.executable, "-c", HOLD_CLAIM, place, run.id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=WRITER.parent) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "claimed\n"
            with pytest.raises(RunBusy, match=run.name), store.claim(run):
                pass
            with pytest.raises(RunBusy):
                store.remove_run(run)
            with store.claim(other):
                pass
            holder.kill()
            holder.wait()
        with store.claim(run):
            pass
        store.remove_run(run)
        store.close()
        assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
