"""A folder of recorded sessions as one suite: a case for each file, the longest conversation first.

Only the files of the folder itself count: below it lie earlier results and the files that agents work with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalharness.documents.session import Session, recorded_seconds
from evalharness.domain.problem import Problem
from evalharness.domain.suite import Suite
from evalharness.errors import InvalidFile
from evalharness.formats.problems import Findings
from evalharness.formats.recognition import SESSIONS, recognise
from evalharness.formats.recorded_sessions.reader import case_of, read_session, suite_of
from evalharness.syntax import limits
from evalharness.syntax.source import Source, read_source
from evalharness.values.json_value import Json

ENDING = ".json"
MARK = b'"message"'
"""What every session holds: files without it need not be parsed to be distinguished."""
NAMED_FILES = 3
"""Of the files that share a warning."""


class RecordedFile(NamedTuple):
    path: Path
    session: Session
    case: dict[str, Json]


class SessionFolder(NamedTuple):
    """`suite` is None where a file has an error. `files` are all but those that are suites of their own."""

    suite: Suite | None
    recorded: tuple[RecordedFile, ...]
    problems: tuple[Problem, ...]
    files: frozenset[Path]


def session_files(folder: Path) -> list[Path]:
    return [path for path in _json_entries(folder) if path.is_file() and not path.is_symlink()]


def _json_entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ENDING and not path.name.startswith("."))


def holds_sessions(folder: Path, *, forced: bool = False) -> bool:
    """Whether a file of the folder is a recorded session; `forced`: the user says that all of them are."""
    files = session_files(folder)
    return bool(files) if forced else any(map(_is_session, files))


def load_sessions(folder: Path, *, forced: bool = False) -> SessionFolder:
    """All sessions of a folder, with the problems of all its files at once.

    JSON files that are something else are left out, and said to be, unless they are suites of their own.
    """
    recorded: list[RecordedFile] = []
    links = (path for path in _json_entries(folder) if path.is_symlink())
    problems = [Problem(str(path), 0, "", "is a symbolic link, so it is skipped", severity="warning") for path in links]
    files: set[Path] = set()
    for path in session_files(folder):
        source, found = _read(path)
        problems += found
        if source is not None and not forced and not _is_meant_as_session(source):
            if recognise(source.data) is None:
                files.add(path.resolve())
                problems.append(
                    Problem(str(path), 0, "", "is not a recorded session, so it is skipped", severity="warning")
                )
            continue
        files.add(path.resolve())
        if source is not None:
            findings = Findings(source)
            session = read_session(findings)
            if session is not None:
                recorded.append(RecordedFile(path, session, case_of(session, findings)))
            problems += findings.problems
    recorded.sort(key=lambda file: (-recorded_seconds(file.session), file.path.name))
    is_sound = recorded and not any(problem.severity == "error" for problem in problems)
    name = folder.resolve().name or "sessions"
    suite = suite_of(name, (file.case for file in recorded)) if is_sound else None
    return SessionFolder(suite, tuple(recorded), tuple(_warned_once(problems, folder)), frozenset(files))


def _warned_once(problems: Iterable[Problem], folder: Path) -> Iterator[Problem]:
    """A warning that many files share is reported once, of the folder, naming some of them."""
    alike: dict[Problem, list[Problem]] = {}
    for problem in problems:
        is_shared = problem.severity == "warning"
        alike.setdefault(replace(problem, file=str(folder), line=0) if is_shared else problem, []).append(problem)
    for shared, said in alike.items():
        names = list(dict.fromkeys(Path(problem.file).name for problem in said))
        if len(names) == 1:
            yield from said
            continue
        named = ", ".join(names[:NAMED_FILES]) + (", …" if len(names) > NAMED_FILES else "")
        yield replace(shared, message=f"{shared.message} (in {len(names)} files: {named})")


def _read(path: Path) -> tuple[Source | None, tuple[Problem, ...]]:
    """What the file says, as far as it can be read, and what is wrong with it as JSON."""
    try:
        return read_source(path), ()
    except InvalidFile as error:
        return error.rest, error.problems


def _is_session(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            if MARK not in file.read(limits.MAX_CHARS):
                return False
    except OSError:
        return False
    source, _ = _read(path)
    return source is not None and recognise(source.data) is SESSIONS


def _is_meant_as_session(source: Source) -> bool:
    """Also if its messages are wrong, which is then reported."""
    found = recognise(source.data)
    if found is None:
        return isinstance(source.data, Mapping) and isinstance(source.data.get("messages"), list)
    return found is SESSIONS
