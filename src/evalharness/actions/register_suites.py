"""Register suites: keep them in the store, whole and under their names, so that `run NAME` finds them from anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evalharness.actions.collect_variables import redactor_for
from evalharness.contracts.context import Context
from evalharness.domain.loaded_file import LoadedFile
from evalharness.domain.problem import Problem
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import Suite
from evalharness.formats.ready_made import is_ready_made, ready_made_suites

PYTHON = "python"
"""The format of a suite that no file holds: it was built by a program."""


def without_file(suite: Suite, root: Path) -> LoadedFile:
    """A suite that no file holds, as if one did, in the folder from which its relative paths start."""
    return LoadedFile(root / f"suite {suite.name.replace('/', ' ')}", suite, format=PYTHON)


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
    last = {name: str(file.path) for file, name in named}
    warnings = [
        (file, f"the suite '{name}' is in {last[name]}, too, and is registered from there")
        for file, name in named
        if str(file.path) != last[name]
    ]
    warnings += [(file, hidden_ready_made(name)) for file, name in named if name in ready_made_suites()]
    return [Problem(str(file.path), 0, "", message, severity="warning") for file, message in warnings]


def hidden_ready_made(name: str) -> str:
    return f"'{name}' is the name of a ready-made suite, too, which cannot be run while this one is registered"
