"""What the home page shows: the suites with what became of them, and the newest runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.stored import RunLine
from evalharness.domain.suite import ListedSuite
from evalharness.reports.pages.page_actions import PageAction
from evalharness.reports.pages.plots import sparkline
from evalharness.reports.pages.run_list import RunRow

BROKEN = "(broken)"
FEWEST_POINTS = 2
"""One run makes no line."""


@dataclass(frozen=True, slots=True)
class SuiteCard:
    name: str
    about: str
    run_id: str
    state: str
    verdict: str
    rate: str
    when: str
    spark: Markup | None
    command: str
    """What runs it, or says what is wrong with it."""
    problem: str
    action: PageAction | None


@dataclass(frozen=True, slots=True)
class HomePage:
    suites: Sequence[SuiteCard]
    more_suites: int
    runs: Sequence[RunRow]
    folder: str
    first_command: str = "eval-harness init"


def suite_card(
    suite: ListedSuite, newest: RunRow | None, lines: Sequence[RunLine], command: str, action: PageAction | None
) -> SuiteCard:
    """`lines` are its newest runs, newest first; a broken one comes with its file as it is named here."""
    is_broken = suite.suite == BROKEN
    about = [
        "" if suite.cases is None else count(suite.cases, "case"),
        count(suite.variants, "variant") if suite.variants and suite.variants > 1 else suite.target,
        "" if suite.where == "file" else suite.where,
    ]
    return SuiteCard(
        name=suite.suite,
        about=suite.file if is_broken else " · ".join(part for part in about if part),
        run_id=newest.id if newest else "",
        state=newest.state if newest else "",
        verdict=newest.verdict if newest else "",
        rate=newest.rate if newest else "",
        when=newest.when if newest else "",
        spark=rate_sparkline(lines),
        command=command,
        problem="This file cannot be read as a suite." if is_broken else "",
        action=action,
    )


def rate_sparkline(lines: Sequence[RunLine]) -> Markup | None:
    """The pass rates of the newest runs of the newest run's target."""
    rates = [line.pass_rate.value for line in reversed(lines) if line.pass_rate and line.variant == lines[0].variant]
    if len(rates) < FEWEST_POINTS:
        return None
    described = f"pass rate of {len(rates)} runs, from {percent(rates[0])} to {percent(rates[-1])}"
    return sparkline("pass rate", rates, described)
