"""Reports as files: `-o FILE`, typed by its ending. Written beside the place and moved there, so never half a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
LONGEST_HEAD = 1000
_OURS = {
    ".json": re.compile(r'\s*(\Z|\{\s*"(eval_reports?|gate_report|comparisons?|regressions|error)"\s*:)'),
    ".xml": re.compile(r"\s*(\Z|(<\?xml[^>]*\?>\s*)?<testsuites[\s>])"),
}
"""How a report begins; a file without content is anybody's."""


def check_endings(paths: Iterable[str], endings: Collection[str] = (".json", ".xml")) -> list[Path]:
    """Before anything is run: a file whose ending nobody knows, whose folder is not there, or that is no report of ours
    and would be lost, is told at once."""
    checked = []
    for path in map(Path, paths):
        if path.suffix.lower() not in endings:
            known = ", ".join(endings)
            raise UsageError(f"-o {path}: a report's kind is told by its ending", hint=f"known endings: {known}")
        if path.is_dir() or not path.absolute().parent.is_dir():
            wrong = "is a folder" if path.is_dir() else f"there is no folder {path.absolute().parent}"
            raise UsageError(f"-o {path}: {wrong}", hint="name a file in a folder that exists")
        if path.is_file() and not _OURS[path.suffix.lower()].match(_head(path)):
            raise UsageError(f"-o {path}: it exists and is no report of ours", hint="name another file, or remove it")
        checked.append(path)
    return checked


def remove_stale(paths: Iterable[Path], read: Iterable[Path] | None = None) -> None:
    """Nobody shall take the report of an earlier run for one of this run, should it break; but what is `read`, stays.

    None: that is not known yet, so whatever can be read stays: JSON.
    """
    kept = {path.resolve() for path in read or ()}
    for path in paths:
        may_be_read = path.suffix.lower() == ".json" if read is None else path.resolve() in kept
        if path.is_file() and not may_be_read:
            path.unlink()


def _head(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(LONGEST_HEAD).decode("utf-8", errors="replace")


def write_reports(paths: Iterable[Path], told: Told, redact: Redact = str) -> None:
    for path in paths:
        with _moved_there(path) as stream:
            _WRITERS[path.suffix.lower()](told, stream, redact)


def write_documents(paths: Iterable[Path], document: str) -> None:
    """What is one document already: a comparison, say."""
    for path in paths:
        with _moved_there(path) as stream:
            stream.write(document)


@contextmanager
def _moved_there(path: Path) -> Iterator[IO[str]]:
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8", errors="replace") as stream:
            yield stream
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _json(told: Told, stream: IO[str], redact: Redact) -> None:
    write_json([(report, trials()) for report, trials in told], stream, redact)


def _junit(told: Told, stream: IO[str], redact: Redact) -> None:
    write_junit([report for report, _ in told], stream, redact)


_WRITERS: dict[str, Callable[[Told, IO[str], Redact], None]] = {".json": _json, ".xml": _junit}
