"""Reports as files, whose ending or whose reporter's name is given; and as text on a stream, by the reporter's name.

A file is written beside its place and moved there, so it is never half a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from evalharness import registry
from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.domain.suite import Suite
from evalharness.errors import HarnessError, Interrupted, StoreError, UsageError, raised_at
from evalharness.reports.table_files import WRITERS, is_table, write_table
from evalharness.reports.table_rows import What
from evalharness.reports.without_details import comparison_without_details, shows_details, without_details


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


def check_outputs(paths: Iterable[str], name: str | None = None) -> list[Path]:
    """Before anything is run: raises UsageError for a file that no reporter writes, that cannot be there, or that is
    no report and would be lost. A folder that is missing is made when the file is written.

    `name` chooses the reporter whatever the endings of the files.
    """
    checked = [Path(path) for path in paths]
    for path in checked:
        check_output(path, _reporter_for(path, name).recognises)
    return checked


def check_tables(paths: Iterable[str], data_format: str | None = None) -> list[tuple[Path, str]]:
    """The same for data files, each with its format: the given one, or what its ending says."""
    checked = [(Path(path), data_format or Path(path).suffix.lower().removeprefix(".")) for path in paths]
    for path, chosen in checked:
        if chosen not in WRITERS:
            raise unknown_ending(path, [f".{known}" for known in WRITERS])
        check_output(path, partial(is_table, chosen))
    return checked


def is_written_by_ending(path: Path) -> bool:
    return any(path.suffix.lower() in reporter.endings for reporter in registry.reporters())


def check_comparison_outputs(paths: Iterable[str]) -> list[Path]:
    """The same for files with comparisons, which not every reporter writes."""
    checked = [Path(path) for path in paths]
    for path in checked:
        check_output(path, _comparing(path).recognises_comparisons)
    return checked


def check_output(path: Path, recognises: Callable[[str], bool]) -> None:
    """Raises UsageError where a file cannot be written, or contains something that is not recognised."""
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
                raise unknown_ending(path, [DOCUMENT_ENDING])
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


def _reporter_for(path: Path, name: str | None = None) -> Reporter:
    return _with_ending(path, registry.reporters()) if name is None else registry.build_reporter(name)


def _comparing(path: Path) -> Reporter:
    return _with_ending(path, (reporter for reporter in registry.reporters() if reporter.compares))


def _with_ending(path: Path, reporters: Iterable[Reporter]) -> Reporter:
    endings: list[str] = []
    for reporter in reporters:
        if path.suffix.lower() in reporter.endings:
            return reporter
        endings.extend(reporter.endings)
    raise unknown_ending(path, endings)


def unknown_ending(path: Path, endings: Sequence[str]) -> UsageError:
    if path.is_dir():
        return _is_a_folder(path)
    return UsageError(
        f"{path}: no report format has the ending '{path.suffix}'",
        hint=f"known endings: {', '.join(endings)}",
    )


def _is_a_folder(path: Path) -> UsageError:
    return UsageError(f"{path} is a folder", hint="name a file")


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise _is_a_folder(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file", hint="name a file")
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
    """`include_details` is about reports that are passed on; the terminal is read by whoever has the store."""
    reporter = _printing(name)
    is_for_here = name == "terminal" and presentation.with_details
    shown = runs if is_for_here else _without_unwanted(runs, presentation)
    with _named_if_it_fails(reporter):
        reporter.write(shown, stream, presentation if name == "terminal" else _as_document(presentation))


def print_comparisons(
    name: str, compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation
) -> None:
    shown = _compared_without_unwanted(compared, presentation)
    reporter = _printing(name)
    with _named_if_it_fails(reporter):
        reporter.write_comparisons(shown, stream, _as_document(presentation))


def _without_unwanted(runs: Sequence[ReportedRun], presentation: Presentation) -> list[ReportedRun]:
    """Without details where the reader, or a run's suite, does not want them: no reporter has to see to it."""
    return [each if presentation.with_details and shows_details(each.run) else without_details(each) for each in runs]


def _compared_without_unwanted(
    compared: Sequence[ReportedComparison], presentation: Presentation
) -> list[ReportedComparison]:
    def is_shown(each: ReportedComparison) -> bool:
        sides = [side for side in (each.old, each.new) if side is not None]
        return presentation.with_details and all(shows_details(side.run) for side in sides)

    return [each if is_shown(each) else comparison_without_details(each) for each in compared]


def _as_document(presentation: Presentation) -> Presentation:
    """For readers elsewhere: no colours, and commands as they are called there."""
    return replace(presentation, is_live=False, command=Presentation().command)


def _printing(name: str) -> Reporter:
    reporter = registry.build_reporter(name)
    if not reporter.can_stream:
        known = " or ".join(reporter.endings)
        raise UsageError(f"a report in the format {name} cannot be printed", hint=f"write it to a file: {known}")
    return reporter


def write_reports(
    paths: Iterable[Path], runs: Sequence[ReportedRun], presentation: Presentation, name: str | None = None
) -> list[Path]:
    """Returns the files, as everything here does that writes some."""
    paths = list(paths)
    check_baselines(paths, [Path(each.report.comparison.old.source) for each in runs if each.report.comparison])
    for path in paths:
        _write(path, _reporter_for(path, name), runs, presentation)
    return paths


def write_report_file(path: Path, run: ReportedRun, presentation: Presentation, name: str | None = None) -> None:
    """One that was not checked before; `name` chooses the reporter whatever the file's ending."""
    reporter = _reporter_for(path, name)
    check_output(path, reporter.recognises)
    check_baselines([path], [Path(run.report.comparison.old.source)] if run.report.comparison else [])
    _write(path, reporter, [run], presentation)


def _write(path: Path, reporter: Reporter, runs: Sequence[ReportedRun], presentation: Presentation) -> None:
    with _named_if_it_fails(reporter, path), moved_there(path) as stream:
        reporter.write(_without_unwanted(runs, presentation), stream, _as_document(presentation))


def write_comparisons(
    paths: Sequence[Path], compared: Sequence[ReportedComparison], presentation: Presentation
) -> Sequence[Path]:
    shown = _compared_without_unwanted(compared, presentation)
    for path in paths:
        reporter = _comparing(path)
        with _named_if_it_fails(reporter, path), moved_there(path) as stream:
            reporter.write_comparisons(shown, stream, _as_document(presentation))
    return paths


def write_tables(
    paths: Sequence[tuple[Path, str]], what: What, runs: Sequence[ReportedRun], presentation: Presentation
) -> list[Path]:
    shown = _without_unwanted(runs, presentation)
    for path, data_format in paths:
        with moved_there(path) as stream:
            write_table(what, data_format, shown, stream, presentation)
    return [path for path, _ in paths]


def print_table(
    what: What, data_format: str, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation
) -> None:
    write_table(what, data_format, _without_unwanted(runs, presentation), stream, presentation)


def write_documents(paths: Sequence[Path], document: str) -> Sequence[Path]:
    """What is one document already."""
    for path in paths:
        with moved_there(path) as stream:
            stream.write(document)
    return paths


@contextmanager
def _named_if_it_fails(reporter: Reporter, path: Path | None = None) -> Iterator[None]:
    """A reporter may be a plug-in, which may raise anything: then its report is missing, and nothing else."""
    try:
        yield
    except (OSError, StoreError, Interrupted):
        raise
    except (Exception, SystemExit) as error:
        place = raised_at(error)
        said = error.message if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}".rstrip(": ")
        lost = f"{path} was not written" if path else "its report is not complete"
        where = f" ({place})" if place else ""
        raise HarnessError(f"{lost}: the reporter '{reporter.name}' failed: {said}{where}") from error


@contextmanager
def moved_there(path: Path) -> Iterator[IO[str]]:
    """A file that is there once it is whole."""
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
