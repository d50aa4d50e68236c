"""Processes that outlive whoever started them: recognised by their mark, asked to stop, killed with all below them."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evalharness.sandboxes.detached import DetachedProcess, is_alive, mark_of, start_detached
from evalharness.sandboxes.process_tree import family_of

pytestmark = pytest.mark.usefixtures("proc")
ENVIRONMENT = {"PATH": os.defpath}
DEAF = "trap '' INT TERM; setsid sleep 60 & echo ready; while :; do sleep 60; done"


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def started(folder: Path, script: str) -> DetachedProcess:
    return start_detached(["sh", "-c", script], folder, folder / "log", ENVIRONMENT)


def test_its_output_is_added_to_a_file_that_only_its_user_reads(tmp_path: Path) -> None:
    for word in ("one", "two"):
        process = started(tmp_path, f"echo {word}; echo {word} >&2; exit 3")
        wait_until(lambda: process.has_ended)  # noqa: B023
        assert process.exit_code == 3
        process.close()
    assert (tmp_path / "log").read_text().split() == ["one", "one", "two", "two"]
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_it_is_in_a_session_of_its_own_and_found_again_by_its_mark(tmp_path: Path) -> None:
    process = started(tmp_path, "sleep 60")
    assert os.getsid(process.mark.pid) == process.mark.pid
    found = DetachedProcess(process.mark)
    assert not found.has_ended
    found.send(signal.SIGTERM)
    wait_until(lambda: process.has_ended)
    assert (found.has_ended, found.exit_code, process.exit_code) == (True, None, -signal.SIGTERM)
    found.send(signal.SIGTERM)  # nobody is left, and nobody else gets it
    found.close()
    process.close()


def test_another_process_with_its_number_is_not_taken_for_it() -> None:
    mine = mark_of(os.getpid())
    assert is_alive(mine)
    assert mine.start_ticks is not None
    assert not is_alive(mine.model_copy(update={"start_ticks": mine.start_ticks + 1}))
    assert not is_alive(mine.model_copy(update={"boot_id": "of another day"}))


def test_one_that_hears_nothing_is_killed_with_everything_below_it(tmp_path: Path) -> None:
    process = started(tmp_path, DEAF)
    wait_until(lambda: (tmp_path / "log").read_text() == "ready\n" and len(family_of(process.mark.pid)) >= 3)
    family = [mark_of(pid) for pid in family_of(process.mark.pid)]
    for number in (signal.SIGINT, signal.SIGTERM):
        process.send(number)
    assert not process.has_ended
    process.kill()
    wait_until(lambda: process.has_ended and not any(map(is_alive, family)))
    assert process.exit_code == -signal.SIGKILL
    process.close()
