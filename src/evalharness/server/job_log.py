"""What the processes of jobs print: a file for each, read only in part, and without secrets once the process has ended.

While a process runs, its file is as it was printed and may be read by this user alone; whoever asks the server gets a
redacted copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

FOLDER = "jobs"
KEPT_BYTES = 1_000_000
SHOWN_BYTES = 65_536


class JobLogs:
    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        """`folder` is the one of the store."""
        self._folder = folder / FOLDER
        self._redact = redact

    def path(self, run_id: str) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"{run_id}.log"

    def read(self, run_id: str) -> str:
        """The end of it; empty if there is none."""
        return self._tail(run_id, SHOWN_BYTES)

    def close(self, run_id: str) -> None:
        """The process has ended: what is kept has no secrets and a size that can be borne."""
        text = self._tail(run_id, KEPT_BYTES)
        path = self.path(run_id)
        beside = path.with_suffix(".tmp")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)

    def remove(self, run_id: str) -> None:
        self.path(run_id).unlink(missing_ok=True)

    def _tail(self, run_id: str, limit: int) -> str:
        try:
            with self.path(run_id).open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - limit))
                text = file.read(limit).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        if size > limit:  # the first line may have lost its beginning, and with it half of a secret
            text = f"… {size - limit:,} bytes before this are left out\n{text.partition(chr(10))[2]}"
        return self._redact(text)
