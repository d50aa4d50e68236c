"""Claims: one process at a time runs a run. The operating system frees a claim when its process dies, however it dies.

A claim is a locked file beside the store. It is removed while it is still locked, so a lock alone proves nothing: the
file that was opened may have been removed by the holder before. Only the lock on the file that is at the path counts.
A store in memory, which no other process sees, needs no file.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from evalharness.errors import RunBusy, StoreError

_WAIT = "wait for it, or stop it first"


class FileClaims:
    """The claims of a store in a file."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def has(self, run_id: str) -> bool:
        try:
            with self.claimed(run_id, run_id):
                return False
        except RunBusy:
            return True

    def claimed(self, run_id: str, run_name: str) -> AbstractContextManager[None]:
        store = self._store.resolve()
        return claimed(store.with_name(f"{store.name}-{run_id}.lock"), run_name)


@contextmanager
def claimed(path: Path, run_name: str) -> Iterator[None]:
    """Hold the claim that the file `path` stands for; raises RunBusy when it is held already, also by this process."""
    file = _locked(path, run_name)
    try:
        yield
    finally:
        with file, suppress(OSError):
            path.unlink()


class LocalClaims:
    """The claims of a store that only one process sees."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claimed: set[str] = set()

    def has(self, run_id: str) -> bool:
        with self._lock:
            return run_id in self._claimed

    @contextmanager
    def claimed(self, run_id: str, run_name: str) -> Iterator[None]:
        with self._lock:
            if run_id in self._claimed:
                raise RunBusy(f"run {run_name} is already running", hint=_WAIT)
            self._claimed.add(run_id)
        try:
            yield
        finally:
            with self._lock:
                self._claimed.remove(run_id)


def _locked(path: Path, run_name: str) -> IO[bytes]:
    try:
        while True:
            with ExitStack() as opened:
                file = opened.enter_context(path.open("ab"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, file):
                    opened.pop_all()
                    return file
    except BlockingIOError:
        raise RunBusy(f"run {run_name} is running in another process", hint=_WAIT) from None
    except OSError as error:
        raise StoreError(
            f"run {run_name} cannot be claimed: {error}", hint="check that the store's folder can be written to"
        ) from error


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
