"""Validate suites: files and what else lies in folders, with every problem; and the schema that editors check with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.suite import LoadedFile
from evalharness.formats.native import schema
from evalharness.formats.suite_files import survey_paths


async def validate_suites(
    context: Context,
    paths: Iterable[Path],
    format_name: str | None = None,
) -> list[LoadedFile]:
    """Every file with all its problems, also those that were passed over. Nothing is imported or started."""
    return survey_paths(paths, format_name)


async def suite_schema(context: Context) -> dict[str, Any]:
    """The JSON Schema of suite files."""
    return schema.suite_schema()
