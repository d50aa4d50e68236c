"""Reports as files: `-o FILE`, typed by its ending. Written beside the place and moved there, so never half a file."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evalharness.domain.report import Report
from evalharness.errors import OverwritesBaseline, UsageError
from evalharness.reports.json_report import WrittenTrials, write_json
from evalharness.reports.junit import write_junit

Told = Sequence[tuple[Report, Callable[[], WrittenTrials | None]]]
"""Each report, and how to read its trials, once per file; None leaves them out."""
Redact = Callable[[str], str]
LONGEST_HEAD = 1000
_OURS = {
    ".json": re.compile(r'\s*(\Z|\{\s*"(eval_reports?|gate_report|error)"\s*:)'),
    ".xml": re.compile(r"\s*(\Z|(<\?xml[^>]*\?>\s*)?<testsuites[\s>])"),
}
"""How a report begins; a file without content is anybody's."""
_DOCUMENT = {".json": re.compile(r'\s*(\Z|\{\s*"(comparisons?|regressions|error)"\s*:)')}
"""The same of what is told about several reports: it never takes the place of one of them."""


def check_documents(paths: Iterable[str]) -> list[Path]:
    """As `check_endings` does, for what is no report itself."""
    return check_endings(paths, _DOCUMENT)


def check_endings(paths: Iterable[str], ours: Mapping[str, re.Pattern[str]] = _OURS) -> list[Path]:
    """Before anything is run: a file whose ending nobody knows, that cannot be there, or that is no report of ours and
    would be lost, is told at once. A folder that is missing is made when the file is written."""
    checked = [Path(path) for path in paths]
    for path in checked:
        try:
            _check_ending(path, ours)
        except OSError as error:
            raise UsageError(f"-o {path}: {error.strerror}", hint="name another file") from None
    return checked


def _check_ending(path: Path, ours: Mapping[str, re.Pattern[str]]) -> None:
    if path.suffix.lower() not in ours:
        known = ", ".join(ours)
        raise UsageError(f"-o {path}: a report's kind is told by its ending", hint=f"known endings: {known}")
    if path.is_dir():
        raise UsageError(f"-o {path}: is a folder", hint="name a file")
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        wrong = "may not be written to" if there.is_dir() else "is no folder"
        raise UsageError(f"-o {path}: {there} {wrong}", hint="name a file in another folder")
    if path.is_file() and not ours[path.suffix.lower()].match(_head(path)):
        raise UsageError(
            f"-o {path}: it exists and holds something else, which would be lost",
            hint="name another file, or remove it",
        )


def set_aside(paths: Iterable[Path]) -> None:
    """Of paths that were checked: nobody shall take the report of an earlier run for one of this run, nor miss it."""
    for path in paths:
        if path.is_file():
            path.rename(next(each for each in asides(path) if not os.path.lexists(each)))


def asides(path: Path) -> Iterator[Path]:
    """Where an earlier report may be set aside: `FILE.old`, and where there is something already, another name."""
    yield path.with_name(f"{path.name}.old")
    yield from (path.with_name(f"{path.name}.old{number}") for number in itertools.count(2))


def check_baselines(paths: Iterable[Path], baselines: Iterable[Path], what: str = "the baseline") -> None:
    """Raises OverwritesBaseline rather than overwrite what a run is compared with. What is not there may be written."""
    kept = {path.resolve() for path in baselines}
    for path in paths:
        if path.exists() and path.resolve() in kept:
            raise OverwritesBaseline(f"-o {path} would overwrite {what}", hint="write the new report to another file")


def _head(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(LONGEST_HEAD).decode("utf-8", errors="replace")


def write_reports(paths: Iterable[Path], told: Told, redact: Redact = str) -> None:
    paths = list(paths)
    check_baselines(paths, [Path(report.comparison.old.source) for report, _ in told if report.comparison])
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
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with unfinished.open("w", encoding="utf-8", errors="replace") as stream:
            yield stream
        unfinished.replace(path)
    except OSError as error:
        error.filename = str(path)  # the user knows of no other
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def _json(told: Told, stream: IO[str], redact: Redact) -> None:
    write_json([(report, trials()) for report, trials in told], stream, redact)


def _junit(told: Told, stream: IO[str], redact: Redact) -> None:
    write_junit([report for report, _ in told], stream, redact)


_WRITERS: dict[str, Callable[[Told, IO[str], Redact], None]] = {".json": _json, ".xml": _junit}
