"""Comparisons as pages and the API show them: of large runs they are computed once, and kept in little space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalharness.actions.compare_stored import ComparedSide, compare_sides, find_sides, open_compared_case
from evalharness.domain.comparison import CaseChange, Comparison
from evalharness.domain.reported_run import Presentation, ReportedComparison
from evalharness.reports.pages.compare_page import ComparedCases, ComparePanel, ShownComparison
from evalharness.server.context import ServerContext
from evalharness.server.kept_results import revision_of

MOST_ROWS = 80
"""On the page, in each group."""
MOST_READ = 500
"""Cases with the same results whose answers are compared on the page."""


@dataclass(frozen=True, slots=True)
class KeptComparison:
    """`head` is the comparison without the cases that changed, `changes` has each of them as JSON, in its order."""

    head: Comparison
    changes: Mapping[str, bytes]
    shown: ShownComparison

    def with_cases(self, case_ids: Sequence[str]) -> Comparison:
        found = [CaseChange.model_validate_json(self.changes[each]) for each in case_ids if each in self.changes]
        return self.head.model_copy(update={"cases": tuple(found)})


def comparison_of(server: ServerContext, presentation: Presentation, old: str, new: str) -> KeptComparison:
    """Of runs or baselines. Raises HarnessError where they do not fit together."""
    before, now = server.harness.call(find_sides, old, new)
    revision = revision_of(server.harness, (before.suite_name, now.suite_name), (*before.run_ids, *now.run_ids))
    return server.kept.get(("comparison", before, now), revision, lambda: _computed(server, presentation, before, now))


def _computed(
    server: ServerContext, presentation: Presentation, before: ComparedSide, now: ComparedSide
) -> KeptComparison:
    compared = server.harness.call(compare_sides, before, now)
    comparison = compared.comparison
    return KeptComparison(
        head=comparison.model_copy(update={"cases": ()}),
        changes={change.case_id: change.model_dump_json().encode() for change in comparison.cases},
        shown=_cases(compared, presentation).shown(),
    )


def panel_of(
    server: ServerContext, presentation: Presentation, kept: KeptComparison, case_id: str
) -> ComparePanel | None:
    """One case of both runs, side by side; None where nothing more is known of it."""
    compared = server.harness.call(open_compared_case, kept.with_cases([case_id]), case_id)
    return _cases(compared, presentation).panel(case_id)


def _cases(compared: ReportedComparison, presentation: Presentation) -> ComparedCases:
    return ComparedCases(compared, presentation, most_rows=MOST_ROWS, most_read=MOST_READ)
