"""Groups, flushes and failures of the writing thread, with a list in place of a database."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue

import pytest

from evalharness.errors import StoreError
from evalharness.stores.writing import GROUP_SIZE, GroupWriter


class Ledger:
    """Keeps groups; refuses those that contain the word `bad`, and waits at a gate while it is closed."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def commit(self, group: Sequence[str]) -> None:
        self.gate.wait(timeout=30)
        if "bad" in group:
            raise StoreError("no space is left", hint="free some")
        if "bug" in group:
            raise ZeroDivisionError
        self.groups.append(list(group))

    @property
    def items(self) -> list[str]:
        return [item for group in self.groups for item in group]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def writer(ledger: Ledger) -> GroupWriter:
    return GroupWriter(ledger.commit)


def test_everything_put_is_written_in_order_by_the_time_flush_returns(ledger: Ledger, writer: GroupWriter) -> None:
    items = [str(number) for number in range(3 * GROUP_SIZE)]
    for item in items:
        writer.put(item)
    writer.flush()
    assert ledger.items == items
    assert max(map(len, ledger.groups)) <= GROUP_SIZE
    assert writer.backlog == 0
    writer.close()


def test_what_waits_while_a_group_is_written_is_the_next_group(ledger: Ledger, writer: GroupWriter) -> None:
    ledger.gate.clear()
    writer.put("first")
    while writer.backlog:
        pass
    for item in ("a", "b", "c"):
        writer.put(item)
    ledger.gate.set()
    writer.flush()
    assert ledger.items == ["first", "a", "b", "c"]
    assert len(ledger.groups) <= 2
    writer.close()


def test_a_trial_is_written_without_a_request(ledger: Ledger) -> None:
    written = threading.Event()
    writer = GroupWriter(lambda group: written.set())
    writer.put("x")
    assert written.wait(timeout=30)
    writer.close()


def test_closing_writes_what_is_left(ledger: Ledger, writer: GroupWriter) -> None:
    writer.put("x")
    writer.close()
    assert ledger.items == ["x"]


def test_flush_and_close_of_an_unused_writer_do_nothing(ledger: Ledger, writer: GroupWriter) -> None:
    threads = threading.active_count()
    writer.flush()
    assert threading.active_count() <= threads, "no thread is started if there is nothing to write"
    writer.close()
    writer.close()
    assert ledger.groups == []


class Waits(threading.Event):
    """Time does not pass on its clock; it records how long the writer would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited_s.append(timeout)
        return self.is_set()


def test_a_trial_waits_20_ms_for_others_and_no_longer(ledger: Ledger, writer: GroupWriter) -> None:
    writer._hurry = waits = Waits()
    writer.put("x")
    writer.close()
    assert ledger.items == ["x"]
    assert waits.waited_s[0] == 0.02
    assert set(waits.waited_s) == {0.02}


def test_after_a_failed_commit_every_caller_gets_the_error_and_nothing_more_is_written(
    ledger: Ledger, writer: GroupWriter
) -> None:
    writer.put("good")
    writer.flush()
    writer.put("bad")
    for _ in range(2):
        with pytest.raises(StoreError, match="no space") as failure:
            writer.flush()
        assert failure.value.hint == "free some"
    with pytest.raises(StoreError, match="no space"):
        writer.put("more")
    assert ledger.items == ["good"]
    assert writer.backlog == 0
    writer.close()


def test_an_unreported_failure_is_raised_when_closing(writer: GroupWriter) -> None:
    writer.put("bad")
    with pytest.raises(StoreError, match="no space"):
        writer.close()
    writer.close()


def test_a_failure_leaves_no_caller_waiting(ledger: Ledger, writer: GroupWriter) -> None:
    ledger.gate.clear()
    writer.put("bad")
    failures: list[str] = []

    def wait() -> None:
        try:
            writer.flush()
        except StoreError as error:
            failures.append(error.message)

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    for thread in waiting:
        thread.start()
    for number in range(100):
        writer.put(str(number))
    ledger.gate.set()
    for thread in waiting:
        thread.join(timeout=30)
    assert failures == ["no space is left"] * 3
    assert ledger.items == []
    writer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_even_a_bug_in_the_thread_leaves_no_caller_waiting(writer: GroupWriter) -> None:
    writer.put("bug")
    with pytest.raises(StoreError, match="thread has died"):
        writer.flush()
    with pytest.raises(StoreError, match="thread has died"):
        writer.put("more")
    assert writer.backlog == 0
    writer.close()


def test_a_closed_writer_accepts_nothing(writer: GroupWriter) -> None:
    writer.put("x")
    writer.close()
    with pytest.raises(StoreError, match="closed"):
        writer.put("y")


@pytest.mark.parametrize("attempt", range(20))
def test_what_is_put_while_it_is_closed_is_written_or_refused(
    ledger: Ledger, writer: GroupWriter, attempt: int
) -> None:
    accepted: list[str] = []

    def work(name: str) -> None:
        with pytest.raises(StoreError, match="closed"):
            for number in range(1_000_000):
                writer.put(f"{name} {number}")
                accepted.append(f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    while len(accepted) < 10 * attempt:
        pass
    writer.close()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(ledger.items) == sorted(accepted)


class EventsAreTakenAtOnce(SimpleQueue[object]):
    """A caller that puts an event continues only after the writer has handled it."""

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        super().put(item)
        if isinstance(item, threading.Event):
            item.wait(timeout=30)


def test_a_flush_makes_haste_once_and_no_longer(ledger: Ledger, writer: GroupWriter) -> None:
    """Otherwise every later trial would be written separately."""
    writer._queue = EventsAreTakenAtOnce()
    writer.put("x")
    writer.flush()
    assert not writer._hurry.is_set()
    writer.close()


def test_several_threads_may_flush_at_once(ledger: Ledger, writer: GroupWriter) -> None:
    def work() -> None:
        for _ in range(100):
            writer.put("x")
            writer.flush()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert ledger.items == ["x"] * 400
    writer.close()
