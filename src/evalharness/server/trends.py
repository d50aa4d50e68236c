"""Trends as pages and the API show them: of large suites they are computed once, and kept in little space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.actions.show_trend import TrendRequest, show_trend
from evalharness.domain.report import FlakyCase
from evalharness.domain.reported_run import Presentation
from evalharness.domain.trend import CaseTrend, Trend
from evalharness.errors import UnknownName
from evalharness.reports.pages.suite_page import SuitePage, suite_page
from evalharness.server.context import ServerContext
from evalharness.server.kept_results import revision_of

RUNS = 30
"""Of each target."""
MOST_CASES_READ = 300_000
"""Of all runs together; of older runs a trend has figures alone."""
MOST_FLAKY = 100
"""Of each target, beside its figures."""


@dataclass(frozen=True, slots=True)
class KeptTrend:
    """`head` is the trend without its cases, which `cases` has target by target, as JSON; `flaky` those of all."""

    head: Trend
    cases: Sequence[Sequence[bytes]]
    flaky: Sequence[bytes]
    page: SuitePage

    def with_cases(self, offset: int, limit: int) -> Trend:
        """Each target with a page of its cases."""
        targets = [
            target.model_copy(
                update={"cases": tuple(map(CaseTrend.model_validate_json, cases[offset : offset + limit]))}
            )
            for target, cases in zip(self.head.targets, self.cases, strict=True)
        ]
        return self.head.model_copy(update={"targets": tuple(targets)})

    def flaky_cases(self, offset: int, limit: int) -> list[FlakyCase]:
        return list(map(FlakyCase.model_validate_json, self.flaky[offset : offset + limit]))


def trend_of(server: ServerContext, presentation: Presentation, suite: str, runs: int = RUNS) -> KeptTrend:
    """Raises UnknownName for a suite without a run: its name is never taken for that of a file."""
    known = server.harness.context.store.suite_names()
    if suite not in known:
        raise UnknownName("suite", suite, known)

    def read() -> KeptTrend:
        found = server.harness.call(show_trend, TrendRequest(suite, limit=runs, most_cases=MOST_CASES_READ))
        targets = tuple(
            target.model_copy(update={"cases": (), "flaky": target.flaky[:MOST_FLAKY]}) for target in found.targets
        )
        return KeptTrend(
            head=found.model_copy(update={"targets": targets}),
            cases=[[case.model_dump_json().encode() for case in target.cases] for target in found.targets],
            flaky=[case.model_dump_json().encode() for target in found.targets for case in target.flaky],
            page=suite_page(found, presentation),
        )

    return server.kept.get(("trend", suite, runs), revision_of(server.harness, [suite]), read)
