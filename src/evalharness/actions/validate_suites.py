"""Validate suites: files and what else lies in folders, with every problem; and the schema that editors check with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.suite import LoadedFile
from evalharness.formats.native import schema
from evalharness.formats.suite_files import survey_paths
from evalharness.steps.check_notifications import with_notified
from evalharness.steps.check_targets import with_checked_targets


async def validate_suites(
    context: Context,
    paths: Iterable[Path],
    format_name: str | None = None,
) -> list[LoadedFile]:
    """Every file with all its problems, also those that were passed over. Nothing is imported or started."""
    settings = context.settings
    found = [_as_phase(file) for file in survey_paths(paths, format_name)]
    return [with_notified(with_checked_targets(file, settings), settings) for file in found]


def _as_phase(file: LoadedFile) -> LoadedFile:
    """A file that is no suite may still be a phase."""
    if file.format or not file.path.is_file():
        return file
    from evalharness.formats.eval_harness.phases import recognised_phase  # here: most files are suites

    return recognised_phase(file.path) or file


async def suite_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of suite files."""
    return schema.suite_schema()
