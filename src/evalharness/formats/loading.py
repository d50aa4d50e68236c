"""Loading: paths → suites with all their problems. A folder is walked; a file named outright must be a suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalharness.domain.problem import Problem
from evalharness.domain.suite import Suite
from evalharness.domain.variables import needed
from evalharness.errors import InvalidFile
from evalharness.formats.native import load_native, looks_native
from evalharness.formats.source import Source, read_source

ENDINGS = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")
PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "build", "dist"))
MARK = b"test_cases"


@dataclass(frozen=True, slots=True)
class LoadedFile:
    path: Path
    suite: Suite | None
    problems: tuple[Problem, ...] = ()

    @property
    def root(self) -> Path:
        """What relative paths in the file are relative to."""
        return self.path.resolve().parent


def load_paths(paths: Iterable[Path]) -> list[LoadedFile]:
    """A file that is named twice is loaded once."""
    loaded: list[LoadedFile] = []
    for path in {path.resolve(): path for path in paths}.values():
        if path.is_dir():
            found = find_suites(path)
            if not found:
                loaded.append(_broken(path, "no suite was found in this folder; a suite file has `test_cases`"))
            loaded += found
        elif not path.exists():
            loaded.append(_broken(path, "no such file or folder"))
        else:
            loaded.append(load_file(path))
    return loaded


def find_suites(folder: Path) -> list[LoadedFile]:
    return [file for file in map(_load_if_suite, walk(folder)) if file is not None]


def load_file(path: Path) -> LoadedFile:
    try:
        source = read_source(path)
    except InvalidFile as error:
        return _load_rest(path, error)
    return _load(source)


def walk(folder: Path) -> Iterator[Path]:
    """Every file of a known ending, hidden and generated folders left out, in a stable order."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in PASSED_OVER or path.is_symlink():
            continue
        if path.is_dir():
            yield from walk(path)
        elif path.suffix.lower() in ENDINGS:
            yield path


def _load_if_suite(path: Path) -> LoadedFile | None:
    """None for files that are something else. A broken one counts as a suite when it mentions `test_cases`."""
    try:
        source = read_source(path)
    except InvalidFile as error:
        return _load_rest(path, error) if MARK in path.read_bytes() else None
    return _load(source) if looks_native(source.data) else None


def _load(source: Source) -> LoadedFile:
    suite, findings = load_native(source)
    problems = list(findings.problems)
    if suite is not None:
        names = needed(source.data)
        given = {name.lower() for name in suite.vars}
        problems += [
            Problem(str(source.path), 0, "", f"needs the variable {name}", severity="note")
            for name in sorted(names - given)
        ]
    return LoadedFile(source.path, suite, tuple(problems))


def _load_rest(path: Path, error: InvalidFile) -> LoadedFile:
    """What is wrong with the file as text, and with what could be read of it all the same."""
    more = _load(error.rest).problems if error.rest is not None else ()
    return LoadedFile(path, None, tuple(sorted((*error.problems, *more), key=lambda problem: problem.line)))


def _broken(path: Path, message: str) -> LoadedFile:
    return LoadedFile(path, None, (Problem(str(path), 0, "", message),))
