"""Validate suites: files and what else lies in folders, with every problem; and the schema that editors check with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.suite import LoadedFile
from evalharness.formats.native import schema
from evalharness.formats.suite_files import survey_paths
from evalharness.steps.check_targets import with_checked_targets


async def validate_suites(
    context: Context,
    paths: Iterable[Path],
    format_name: str | None = None,
) -> list[LoadedFile]:
    """Every file with all its problems, also those that were passed over. Nothing is imported or started."""
    return [with_checked_targets(file, context.settings) for file in survey_paths(paths, format_name)]


async def suite_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of suite files."""
    return schema.suite_schema()
