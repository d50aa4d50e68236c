"""Find suites: what a user names is a path, else a suite registered in the store, else a ready-made one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store, SuiteStore
from evalharness.domain.problem import Problem
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import PYTHON, LoadedFile, Suite
from evalharness.errors import InvalidFile, UnknownName, UsageError, closest
from evalharness.formats.suite_files import is_ready_made, load_file, load_paths, load_text, ready_made_suites
from evalharness.steps.collect_variables import redactor_for
from evalharness.syntax.source import ENDINGS, PYTHON_ENDING, target_hint

SHOWN = 5


def find_suites(store: SuiteStore, named: Iterable[str], format_name: str | None = None) -> list[LoadedFile]:
    """Every suite that is meant, once; all problems of all of them are raised at once."""
    found: dict[Path, LoadedFile] = {}
    for name in named:
        for file in _meant_by(store, name, format_name):
            found.setdefault(file.path.resolve(), file)
    return without_errors(list(found.values()))


def find_suite(store: SuiteStore, named: str) -> Suite:
    """Raises UsageError where several are meant, or none."""
    suites = [file.suite for file in find_suites(store, [named]) if file.suite is not None]
    if len(suites) != 1:
        listed = ", ".join(suite.name for suite in suites[:SHOWN])
        raise UsageError(
            f"{named} contains {len(suites)} suites, but only one can be used at a time",
            hint=f"name one of them: {listed}" if listed else "",
        )
    return suites[0]


def suite_name_of(named: str, store: Store) -> str:
    """A file says what its suite is called; any other name is one that runs of the store have."""
    known = store.suite_names()
    if named in known or not Path(named).exists():
        if named not in known:
            raise UnknownName("suite or file", named, known)
        return named
    return find_suite(store, named).name


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
    if f"{PYTHON_ENDING}:" in name:
        wrong = Problem(name, 0, "", "is a function, not a suite", hint=target_hint(name))
        return [LoadedFile(path, None, (wrong,))]
    known = [line.name for line in store.registered_suites()]
    meant = closest(name, [*known, *ready, *_files_beside(path)]) or ""
    message = "no such file or folder, and no suite of this name is registered or ready-made"
    return [LoadedFile(path, None, (Problem(name, 0, "", message, suggestion=meant),))]


def is_ambiguous(store: SuiteStore, name: str) -> bool:
    """Whether this names a suite that is in no file of the user's, and is a path as well."""
    if not Path(name).exists():
        return False
    registered = store.registered_suite(name)
    return name in ready_made_suites() or (registered is not None and registered.format == PYTHON)


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
    why = "no longer contains" if path.exists() else "was removed together with"
    message = f"{why} the suite '{stored.name}', so what was registered at {registered.registered_at} is used"
    return LoadedFile(path, stored, (Problem(str(path), 0, "", message, severity="warning"),), registered.format)


def _without_lost_values(suite: Suite) -> Suite:
    """Secret values were never stored: whoever runs the suite is asked for them."""
    kept = {name: value for name, value in suite.vars.items() if "[redacted" not in value}
    return suite.model_copy(update={"vars": kept})


def _files_beside(path: Path) -> Iterator[str]:
    if path.parent.is_dir():
        yield from (str(path.parent / file.name) for file in path.parent.iterdir() if file.suffix.lower() in ENDINGS)


# Load suites: from paths to checked suites; every problem of every file is raised at once.


def load_suite(path: str | Path) -> Suite:
    """One suite file; raises InvalidFile with all its problems."""
    if not isinstance(path, str | Path):
        raise UsageError(f"name a suite file by its path, not {path!r:.80}")
    return without_errors([load_file(Path(path))])[0].suite  # type: ignore[return-value]


def load_suites(paths: Iterable[Path], format_name: str | None = None) -> list[LoadedFile]:
    return without_errors(load_paths(paths, format_name))


def without_errors(loaded: list[LoadedFile]) -> list[LoadedFile]:
    """The same files, unless one of them has an error."""
    problems = [problem for file in loaded for problem in file.problems]
    if any(problem.severity == "error" for problem in problems):
        raise InvalidFile([problem for problem in problems if problem.severity != "note"])
    return loaded


# Register suites: keep them in the store, whole and under their names, so that `run NAME` finds them from anywhere.

PIPED = "stdin"
"""What a piped suite is called that has no name of its own."""


def without_file(suite: Suite, root: Path) -> LoadedFile:
    """A suite that was built in Python; its relative paths start at `root`."""
    return LoadedFile(root / f"suite {suite.name.replace('/', ' ')}", suite, format=PYTHON)


def load_suite_text(text: str, format_name: str | None = None) -> LoadedFile:
    """YAML or JSON that was piped in, as if it were in a file of the current folder."""
    [file] = without_errors([load_text(text, Path(PIPED), format_name)])
    return replace(file, format=PYTHON)


def registrations(files: Iterable[LoadedFile]) -> list[RegisteredSuite]:
    """What the store is to keep of these; ready-made suites are there anyway, and broken files hold none."""
    kept = {}
    for file in files:
        if file.suite is not None and not is_ready_made(file.path):
            path = "" if file.format == PYTHON else str(file.path.resolve())
            kept[file.suite.name] = RegisteredSuite(file.suite, str(file.root), path, file.format)
    return list(kept.values())


async def register_suites(context: Context, files: Iterable[LoadedFile]) -> list[str]:
    """Returns the names under which they can be run now."""
    registered = registrations(files)
    redactor = redactor_for([each.suite for each in registered], {}, context.settings)
    context.store.redacting(redactor).register_suites(registered)
    return [each.suite.name for each in registered]


def taken_names(files: Iterable[LoadedFile]) -> list[Problem]:
    """Warnings of names that lead to another suite than one may think: of two files, or of a ready-made suite."""
    named = [(file, file.suite.name) for file in files if file.suite is not None]
    last = {name: file.label for file, name in named}
    warnings = [
        (file, f"the suite '{name}' is also in {last[name]} and is registered from there")
        for file, name in named
        if file.label != last[name]
    ]
    warnings += [(file, hidden_ready_made(name)) for file, name in named if name in ready_made_suites()]
    return [Problem(file.label, 0, "", message, severity="warning") for file, message in warnings]


def hidden_ready_made(name: str) -> str:
    return f"'{name}' is also the name of a ready-made suite, which cannot be run while this one is registered"
