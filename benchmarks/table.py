"""The table: one row per measurement, with its budget if there is one."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

HEAD = "| what | measured | ratio | budget | kept |\n|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Row:
    """`kept` is None if there is no budget."""

    what: str
    measured: str
    ratio: str = ""
    budget: str = ""
    kept: bool | None = None


def as_markdown(rows: Iterable[Row]) -> str:
    return HEAD + "".join(
        f"| {row.what} | {row.measured} | {row.ratio} | {row.budget} | {_KEPT[row.kept]} |\n" for row in rows
    )


def machine() -> str:
    """When and on what machine, without naming the machine."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{day}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )


_KEPT = {None: "", True: "yes", False: "**no**"}
