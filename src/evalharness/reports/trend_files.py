"""A trend as a file, by its ending: a page, a picture, Markdown or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from evalharness.domain.reported_run import Presentation
from evalharness.domain.trend import Trend
from evalharness.reports.json_text import json_text
from evalharness.reports.markdown_trend import MARKDOWN_BEGINNING, write_markdown_trend
from evalharness.reports.pages.page_file import BEGINNING
from evalharness.reports.pages.suite_file import PICTURE_BEGINNING, write_suite_file, write_trend_picture
from evalharness.reports.report_files import check_output, moved_there, unknown_ending
from evalharness.reports.words.say import with_texts

_JSON = re.compile(r'\s*\{\s*"(trend|error)"\s*:')


class TrendFormat(NamedTuple):
    write: Callable[[Trend, IO[str], Presentation], None]
    recognises: Callable[[str], bool]
    """Whether a file that begins with this text is a trend, which a new one may replace."""


def print_trend(trend: Trend, stream: IO[str], presentation: Presentation) -> None:
    """As JSON: {"trend": …}."""
    stream.write(json_text({"trend": with_texts(trend)}, presentation.redact) + "\n")


def _begins_with(beginning: str) -> Callable[[str], bool]:
    return lambda head: not head.strip() or head.startswith(beginning)


_PAGE = TrendFormat(write_suite_file, _begins_with(BEGINNING))
_MARKDOWN = TrendFormat(write_markdown_trend, _begins_with(MARKDOWN_BEGINNING))
FORMATS: Mapping[str, TrendFormat] = MappingProxyType(
    {
        ".html": _PAGE,
        ".htm": _PAGE,
        ".svg": TrendFormat(write_trend_picture, _begins_with(PICTURE_BEGINNING)),
        ".md": _MARKDOWN,
        ".markdown": _MARKDOWN,
        ".json": TrendFormat(print_trend, lambda head: not head.strip() or _JSON.match(head) is not None),
    }
)
"""By ending."""


def check_trend_outputs(paths: Iterable[str]) -> list[Path]:
    """Before anything is read: raises UsageError for a file that cannot be written, or is something else."""
    checked = [Path(path) for path in paths]
    for path in checked:
        if path.suffix.lower() not in FORMATS:
            raise unknown_ending(path, list(FORMATS))
        check_output(path, FORMATS[path.suffix.lower()].recognises)
    return checked


def write_trend(path: Path, trend: Trend, presentation: Presentation) -> list[Path]:
    """Returns the file."""
    with moved_there(path) as stream:
        FORMATS[path.suffix.lower()].write(trend, stream, presentation)
    return [path]
