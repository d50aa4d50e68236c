"""Locate cases: in which file, and on which line, the cases of a suite are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import SuiteStore
from evalharness.domain.run import Run
from evalharness.domain.suite import CasePlace, LoadedFile
from evalharness.formats.suite_files import load_with_places
from evalharness.steps.find_suites import without_errors


async def load_located(context: Context, path: Path) -> LoadedFile:
    """A suite file with the place of every case; raises InvalidFile with all its problems."""
    [file] = without_errors([load_with_places(path)])
    return file


async def locate_cases(context: Context, run: Run) -> Mapping[str, CasePlace]:
    """By case id, as the suite's file is now; empty if the run has no file, or the file is gone or broken."""
    path = _file_of(run, context.store)
    return load_with_places(path, run.options.origin.format_name).places if path else {}


def _file_of(run: Run, store: SuiteStore) -> Path | None:
    """The user named it from the folder of that time; or by a name, under which the store knows its file."""
    named = run.options.origin.suite
    if not named:
        return None
    registered = store.registered_suite(named)
    candidates = [Path(named), Path(run.root) / Path(named).name, Path(registered.path) if registered else None]
    root = Path(run.root).resolve()
    for path in candidates:
        if path is not None and path.exists() and root in (path.resolve(), path.resolve().parent):
            return path
    return None
