"""List suites: those in a folder, those registered in the store, those that are ready-made."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalharness.contracts.context import Context
from evalharness.domain.problem import Problem
from evalharness.domain.suite import ListedSuite, LoadedFile
from evalharness.errors import UsageError
from evalharness.formats.suite_files import load_file, ready_made_suites, suites_below
from evalharness.steps.find_suites import register_suites, taken_names

MOST_READ = 1000
"""Cases of a registered suite that is read for its description; reading a larger one would make the list slow."""


class Listing(NamedTuple):
    """`registered` are the names of the suites that were registered just now; `warnings` tell of names used twice."""

    suites: list[ListedSuite]
    registered: list[str]
    warnings: list[Problem]


async def list_suites(context: Context, folder: Path, *, register: bool = False) -> Listing:
    """A file that is registered is listed once, as a file; `register` registers all sound ones before."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found = suites_below(folder)
    registered = await register_suites(context, found) if register else []
    lines = {(line.name, line.path): line for line in context.store.registered_suites()}
    listed = []
    for file in found:
        line = lines.pop((file.suite.name, str(file.path.resolve())), None) if file.suite else None
        listed.append(_listed(file, "file")._replace(registered=line.registered_at if line else ""))
    for line in lines.values():
        kept = context.store.registered_suite(line.name) if line.cases <= MOST_READ else None
        described = kept.suite.description if kept else ""
        row = ListedSuite(line.name, "registered", line.cases, file=line.path, registered=line.registered_at)
        listed.append(row._replace(description=described))
    ready = map(load_file, ready_made_suites().values())
    listed += [_listed(file, "ready-made")._replace(file="") for file in ready]
    return Listing(listed, registered, taken_names(found) if register else [])


def _listed(file: LoadedFile, where: str) -> ListedSuite:
    suite = file.suite
    if suite is None:
        return ListedSuite("(broken)", where, file=str(file.path))
    target = suite.target.label if suite.target else ""
    categories = ", ".join(sorted({case.category for case in suite.cases} - {""}))
    listed = ListedSuite(suite.name, where, len(suite.cases), suite.trials, target, categories, str(file.path))
    return listed._replace(description=suite.description, variants=suite.variant_count)
