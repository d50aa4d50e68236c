"""Reports as files, whose ending or whose reporter's name is given; and as text on a stream, by the reporter's name.

A file is written beside its place and moved there, so it is never half a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from evalharness import registry
from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError


def check_compared(
    outputs: Sequence[Path], suites: Iterable[tuple[Path, Suite | None]], baseline: str | None = None
) -> None:
    """Raises UsageError where an output may be what these suites are compared with.

    Each suite comes with the folder at which its paths start; `baseline`, that of a flag, takes the place of theirs.
    """
    gates = [(root, suite.gate) for root, suite in suites if suite is not None and suite.gate is not None]
    baselines = [root / gate.regression.baseline for root, gate in gates if gate.regression is not None]
    check_baselines(outputs, [Path(baseline)] if baseline else baselines)


LONGEST_HEAD = 1000
DOCUMENT_ENDING = ".json"
_DOCUMENT = re.compile(r'\s*(\Z|\{\s*"(comparisons?|regressions|error)"\s*:)')
"""How a comparison of reports begins; it never takes the place of one of them."""


def check_outputs(paths: Iterable[str]) -> list[Path]:
    """Before anything is run: raises UsageError for a file that no reporter writes, that cannot be there, or that is
    no report and would be lost. A folder that is missing is made when the file is written."""
    checked = [Path(path) for path in paths]
    for path in checked:
        _check_output(path, _reporter_for(path).recognises)
    return checked


def check_comparison_outputs(paths: Iterable[str]) -> list[Path]:
    """The same for files with comparisons, which not every reporter writes."""
    checked = [Path(path) for path in paths]
    for path in checked:
        _check_output(path, _comparing(path).recognises_comparisons)
    return checked


def _check_output(path: Path, recognises: Callable[[str], bool]) -> None:
    with _named(path):
        _check_place(path)
        if path.is_file() and not recognises(_head(path)):
            raise _would_be_lost(path)


def check_documents(paths: Iterable[str]) -> list[Path]:
    """As `check_outputs` does, for a JSON document about several reports."""
    checked = [Path(path) for path in paths]
    for path in checked:
        with _named(path):
            if path.suffix.lower() != DOCUMENT_ENDING:
                raise _unknown_ending(path, [DOCUMENT_ENDING])
            _check_place(path)
            if path.is_file() and not _DOCUMENT.match(_head(path)):
                raise _would_be_lost(path)
    return checked


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="name another file") from None


def _reporter_for(path: Path) -> Reporter:
    return _with_ending(path, registry.reporters())


def _comparing(path: Path) -> Reporter:
    return _with_ending(path, (reporter for reporter in registry.reporters() if reporter.compares))


def _with_ending(path: Path, reporters: Iterable[Reporter]) -> Reporter:
    endings: list[str] = []
    for reporter in reporters:
        if path.suffix.lower() in reporter.endings:
            return reporter
        endings.extend(reporter.endings)
    raise _unknown_ending(path, endings)


def _unknown_ending(path: Path, endings: Sequence[str]) -> UsageError:
    return UsageError(
        f"{path}: there is no kind of report with the ending '{path.suffix}'",
        hint=f"known endings: {', '.join(endings)}",
    )


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file")
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        wrong = "may not be written to" if there.is_dir() else "is not a folder"
        raise UsageError(f"{path}: {there} {wrong}", hint="name a file in another folder")


def _would_be_lost(path: Path) -> UsageError:
    return UsageError(
        f"{path} exists and contains something else, which would be lost", hint="name another file, or remove it"
    )


def _head(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(LONGEST_HEAD).decode("utf-8", errors="replace")


def check_baselines(paths: Iterable[Path], baselines: Iterable[Path], what: str = "the baseline") -> None:
    """Raises UsageError rather than overwrite what a run is compared with. What is not there may be written."""
    kept = {path.resolve() for path in baselines}
    for path in paths:
        if path.exists() and path.resolve() in kept:
            raise UsageError(f"{path} would overwrite {what}", hint="write the new report to another file")


def remove_earlier(paths: Iterable[Path]) -> None:
    """Of paths that were checked, when all targets are open and runs begin: whatever ends them, nobody takes the report
    of an earlier run for theirs."""
    for path in paths:
        path.unlink(missing_ok=True)


def print_report(name: str, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
    _printing(name).write(runs, stream, presentation)


def print_comparisons(
    name: str, compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation
) -> None:
    _printing(name).write_comparisons(compared, stream, presentation)


def _printing(name: str) -> Reporter:
    reporter = registry.build_reporter(name)
    if not reporter.can_stream:
        known = " or ".join(reporter.endings)
        raise UsageError(f"a report of the kind {name} cannot be printed", hint=f"write it to a file: {known}")
    return reporter


def write_reports(paths: Iterable[Path], runs: Sequence[ReportedRun], presentation: Presentation) -> None:
    paths = list(paths)
    check_baselines(paths, [Path(each.report.comparison.old.source) for each in runs if each.report.comparison])
    for path in paths:
        _write(path, _reporter_for(path), runs, presentation)


def write_report_file(path: Path, run: ReportedRun, presentation: Presentation, name: str | None = None) -> None:
    """One that was not checked before; `name` chooses the reporter whatever the file's ending."""
    reporter = _reporter_for(path) if name is None else registry.build_reporter(name)
    _check_output(path, reporter.recognises)
    check_baselines([path], [Path(run.report.comparison.old.source)] if run.report.comparison else [])
    _write(path, reporter, [run], presentation)


def _write(path: Path, reporter: Reporter, runs: Sequence[ReportedRun], presentation: Presentation) -> None:
    with _moved_there(path) as stream:
        reporter.write(runs, stream, replace(presentation, is_live=False))


def write_comparisons(
    paths: Iterable[Path], compared: Sequence[ReportedComparison], presentation: Presentation
) -> None:
    for path in paths:
        with _moved_there(path) as stream:
            _comparing(path).write_comparisons(compared, stream, replace(presentation, is_live=False))


def write_documents(paths: Iterable[Path], document: str) -> None:
    """What is one document already."""
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
