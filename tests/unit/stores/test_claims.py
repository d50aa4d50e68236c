"""A claim has one owner, whatever other processes do at the same moment."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from evalharness.errors import RunBusy, StoreError
from evalharness.stores.claims import claimed

HOLDER = """
import sys, time
from pathlib import Path
from evalharness.stores.claims import claimed
with claimed(Path(sys.argv[1]), "brave-otter-042"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db-eval-1.lock"


def test_a_claim_is_refused_while_it_is_taken_and_leaves_no_file(path: Path) -> None:
    with (
        claimed(path, "brave-otter-042"),
        pytest.raises(RunBusy, match="brave-otter-042 is running in another process"),
        claimed(path, "brave-otter-042"),
    ):
        pass
    assert not path.exists()
    with claimed(path, "brave-otter-042"):
        assert path.exists()


def test_claims_of_different_runs_do_not_meet(tmp_path: Path) -> None:
    with claimed(tmp_path / "a.lock", "one"), claimed(tmp_path / "b.lock", "two"):
        assert {path.name for path in tmp_path.iterdir()} == {"a.lock", "b.lock"}
        for taken in ("a", "b"):
            with pytest.raises(RunBusy), claimed(tmp_path / f"{taken}.lock", "again"):
                pass


def test_a_claim_is_given_back_when_the_work_fails(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), claimed(path, "x"):
        raise ZeroDivisionError
    with claimed(path, "x"):
        assert path.exists()


def test_a_claim_ends_with_its_process_even_by_kill_9(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunBusy), claimed(path, "brave-otter-042"):
            pass
        holder.kill()
        holder.wait()
        assert path.exists()
        with claimed(path, "brave-otter-042"):
            pass
        assert not path.exists()


class SlowlyOpened(type(Path())):  # type: ignore[misc]
    """A path where another process has opened the file and takes a while to lock it."""

    is_open: threading.Event
    go_on: threading.Event

    def open(self, *args: str) -> IO[bytes]:
        file: IO[bytes] = super().open(*args)
        self.is_open.set()
        self.go_on.wait(timeout=30)
        return file


def slowly_opened(path: Path) -> SlowlyOpened:
    slow = SlowlyOpened(path)
    slow.is_open, slow.go_on = threading.Event(), threading.Event()
    return slow


def test_a_lock_on_a_file_that_its_holder_has_removed_does_not_count(path: Path) -> None:
    slow = slowly_opened(path)
    outcome: list[str] = []

    def work() -> None:
        try:
            with claimed(slow, "x"):
                outcome.append("held")
        except RunBusy:
            outcome.append("busy")

    second = threading.Thread(target=work)
    with claimed(path, "x"):
        second.start()
        assert slow.is_open.wait(timeout=30)
    with claimed(path, "x"):
        slow.go_on.set()
        second.join(timeout=30)
        assert outcome == ["busy"]


def test_a_lock_on_a_removed_file_is_taken_again_where_the_claim_is_free(path: Path) -> None:
    slow = slowly_opened(path)
    held: list[bool] = []

    def work() -> None:
        with claimed(slow, "x"):
            held.append(path.exists())

    second = threading.Thread(target=work)
    with claimed(path, "x"):
        second.start()
        assert slow.is_open.wait(timeout=30)
    slow.go_on.set()
    second.join(timeout=30)
    assert held == [True]
    assert not path.exists()


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be claimed"), claimed(tmp_path / "no" / "x.lock", "x"):
        pass
