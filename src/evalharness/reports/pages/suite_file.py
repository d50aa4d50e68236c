"""The page of a suite as a file, and its chart as a picture of its own."""

from __future__ import annotations

from typing import IO

from markupsafe import Markup

from evalharness.domain.reported_run import Presentation
from evalharness.domain.trend import Trend
from evalharness.reports.pages.page_file import PageFile
from evalharness.reports.pages.page_templates import PageTemplates, page_source
from evalharness.reports.pages.suite_page import suite_page

PICTURE_BEGINNING = '<svg xmlns="http://www.w3.org/2000/svg" data-evalharness="trend"'
CHART, SPARK, HEAD = 264, 48, 56
"""Heights of the parts of a picture."""


def write_suite_file(trend: Trend, stream: IO[str], presentation: Presentation) -> None:
    PageFile(stream, presentation).write("suite.html", page=suite_page(trend, presentation))


def write_trend_picture(trend: Trend, stream: IO[str], presentation: Presentation) -> None:
    """With its own style: light or dark as its viewer is."""
    page = suite_page(trend, presentation)
    top, placed = HEAD, []
    for target in page.targets:
        placed.append((top, target))
        top += CHART + SPARK * len(target.sparks)
    stream.write(
        PageTemplates(presentation.redact).render(
            "trend.svg",
            beginning=Markup(PICTURE_BEGINNING),
            style=Markup(page_source("style.css")),
            page=page,
            placed=placed,
            height=max(top, 2 * HEAD),
            chart=CHART,
            spark=SPARK,
        )
    )
