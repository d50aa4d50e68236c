"""Plain tables: aligned columns, nothing else, so that they can be read and cut by other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalharness.reports.wording import harmless


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """The keys of the first row are the headings."""
    headings = list(rows[0])
    cells = [headings, *([harmless("" if row[h] is None else str(row[h])) for h in headings] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(headings))]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
