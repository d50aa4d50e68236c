"""Claims: one process at a time runs a run. The operating system frees a claim when its process dies, however it dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalharness.errors import RunBusy


@contextmanager
def claimed(folder: Path, run_id: str, run_name: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run_id}.lock"
    with path.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusy(
                f"run {run_name} is being run by another process", hint="wait for it, or stop it first"
            ) from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
