"""Load suites: from paths to checked suites; every problem of every file is raised at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalharness.domain.loaded_file import LoadedFile
from evalharness.domain.suite import Suite
from evalharness.errors import InvalidFile
from evalharness.formats.loading import load_file, load_paths


def load_suite(path: str | Path) -> Suite:
    """One suite file; raises InvalidFile with all its problems."""
    return checked([load_file(Path(path))])[0].suite  # type: ignore[return-value]


def load_suites(paths: Iterable[Path], format_name: str | None = None) -> list[LoadedFile]:
    return checked(load_paths(paths, format_name))


def checked(loaded: list[LoadedFile]) -> list[LoadedFile]:
    """The same files, unless one of them has an error."""
    problems = [problem for file in loaded for problem in file.problems]
    if any(problem.severity == "error" for problem in problems):
        raise InvalidFile([problem for problem in problems if problem.severity != "note"])
    return loaded
