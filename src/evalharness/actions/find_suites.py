"""Find suites: what a user names is a path, else a suite registered in the store, else a ready-made one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from evalharness.actions.load_suites import checked
from evalharness.actions.register_suites import PYTHON, hidden_ready_made, without_file
from evalharness.contracts.store import SuiteStore
from evalharness.domain.loaded_file import LoadedFile
from evalharness.domain.problem import Problem
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError, closest
from evalharness.formats.loading import load_paths
from evalharness.formats.ready_made import ready_made_suites
from evalharness.formats.syntax.source import ENDINGS

SHOWN = 5


def find_suites(store: SuiteStore, named: Iterable[str], format_name: str | None = None) -> list[LoadedFile]:
    """Every suite that is meant, once; all problems of all of them are raised at once."""
    found: dict[Path, LoadedFile] = {}
    for name in named:
        for file in _meant_by(store, name, format_name):
            found.setdefault(file.path.resolve(), file)
    return checked(list(found.values()))


def find_suite(store: SuiteStore, named: str) -> Suite:
    """Raises UsageError where several are meant, or none."""
    suites = [file.suite for file in find_suites(store, [named]) if file.suite is not None]
    if len(suites) != 1:
        listed = ", ".join(suite.name for suite in suites[:SHOWN])
        raise UsageError(
            f"{named} holds {len(suites)} suites, and one is taken at a time",
            hint=f"name one of them: {listed}" if listed else "",
        )
    return suites[0]


def _meant_by(store: SuiteStore, name: str, format_name: str | None) -> list[LoadedFile]:
    path, ready = Path(name), ready_made_suites()
    if path.exists():
        return load_paths([path], format_name)
    registered = store.registered_suite(name)
    if registered is not None:
        file = _as_it_is_now(registered)
        warnings = (Problem(name, 0, "", hidden_ready_made(name), severity="warning"),) if name in ready else ()
        return [replace(file, problems=(*file.problems, *warnings))]
    if name in ready:
        return load_paths([ready[name]])
    known = [line.name for line in store.registered_suites()]
    meant = closest(name, [*known, *ready, *_files_beside(path)]) or ""
    message = "no such file or folder, and no suite of this name is registered or ready-made"
    return [LoadedFile(path, None, (Problem(name, 0, "", message, suggestion=meant),))]


def _as_it_is_now(registered: RegisteredSuite) -> LoadedFile:
    """The file counts as long as it still holds this suite; after that, what was stored of it, with a warning."""
    stored = _without_lost_values(registered.suite)
    if registered.format == PYTHON:
        return without_file(stored, Path(registered.root))
    path = Path(registered.path)
    for format_name in (None, registered.format):  # by its content; else as it was forced to be read
        for file in load_paths([path], format_name):
            if file.suite is not None and file.suite.name == stored.name:
                return file
    why = "no longer holds" if path.exists() else "is gone, and with it"
    message = f"{why} the suite '{stored.name}', which is used as it was registered at {registered.registered_at}"
    return LoadedFile(path, stored, (Problem(str(path), 0, "", message, severity="warning"),), registered.format)


def _without_lost_values(suite: Suite) -> Suite:
    """Secret values were never stored: whoever runs the suite is asked for them."""
    kept = {name: value for name, value in suite.vars.items() if "[redacted" not in value}
    return suite.model_copy(update={"vars": kept})


def _files_beside(path: Path) -> Iterator[str]:
    if path.parent.is_dir():
        yield from (str(path.parent / file.name) for file in path.parent.iterdir() if file.suffix.lower() in ENDINGS)
