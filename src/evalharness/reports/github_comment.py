"""A run as the body of a comment on a pull request, with a hidden mark by which the comment is found again.

Whoever posts it replaces the comment that begins with the same mark. So a pull request has one comment for each suite
and target, and it always shows the newest run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar
from urllib.parse import quote

from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.markdown import MarkdownReporter
from evalharness.reports.wording import clean

_BEGINNING = "<!-- eval-harness comment "


class GithubCommentReporter(Reporter):
    name: ClassVar[str] = "github-comment"

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        stream.write(f"{comment_mark(runs, presentation)}\n")
        MarkdownReporter().write(runs, stream, presentation)

    def recognises(self, head: str) -> bool:
        return not head.strip() or head.startswith(_BEGINNING)


def comment_mark(runs: Sequence[ReportedRun], presentation: Presentation) -> str:
    """The same for later runs of the same suites on the same targets; in one line, and without what ends a comment."""
    named = dict.fromkeys((each.report.metadata.suite_name, each.report.metadata.variant) for each in runs)
    words = (
        "/".join(quote(clean(part, presentation.redact), safe="", errors="replace") for part in pair) for pair in named
    )
    return f"{_BEGINNING}{' '.join(words).replace('--', '-%2D')} -->"
