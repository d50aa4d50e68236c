"""Reports as files: `-o FILE`, typed by its ending. Written beside the place and moved there, so never half a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from evalharness.domain.report import Report
from evalharness.domain.trial import Trial
from evalharness.errors import UsageError
from evalharness.reports.json_report import write_json
from evalharness.reports.junit import write_junit

Told = Sequence[tuple[Report, Callable[[], Iterable[Trial] | None]]]
"""Each report, and how to read its trials, once per file; None leaves them out."""
Redact = Callable[[str], str]


def check_endings(paths: Iterable[str]) -> list[Path]:
    """Before anything is run: a file whose ending nobody knows, or whose folder is not there, is told at once."""
    checked = []
    for path in map(Path, paths):
        if path.suffix.lower() not in _WRITERS:
            known = ", ".join(_WRITERS)
            raise UsageError(f"-o {path}: a report's kind is told by its ending", hint=f"known endings: {known}")
        if path.is_dir() or not path.absolute().parent.is_dir():
            wrong = "is a folder" if path.is_dir() else f"there is no folder {path.absolute().parent}"
            raise UsageError(f"-o {path}: {wrong}", hint="name a file in a folder that exists")
        checked.append(path)
    return checked


def write_reports(paths: Iterable[Path], told: Told, redact: Redact = str) -> None:
    for path in paths:
        unfinished = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            with unfinished.open("w", encoding="utf-8", errors="replace") as stream:
                _WRITERS[path.suffix.lower()](told, stream, redact)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _json(told: Told, stream: IO[str], redact: Redact) -> None:
    write_json([(report, trials()) for report, trials in told], stream, redact)


def _junit(told: Told, stream: IO[str], redact: Redact) -> None:
    write_junit([report for report, _ in told], stream, redact)


_WRITERS: dict[str, Callable[[Told, IO[str], Redact], None]] = {".json": _json, ".xml": _junit}
