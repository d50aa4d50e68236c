"""What the page of a suite shows: its runs over time, target by target, each case over the runs, what moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.reported_run import Presentation
from evalharness.domain.trend import CaseTrend, TargetTrend, Trend, TrendRun
from evalharness.reports.pages.plots import StripRun, heat_map_row, sparkline, strip
from evalharness.reports.terminal.trend_lines import (
    BASELINE,
    CHANGE,
    EVERY_RUN,
    PARTIAL,
    always_passed_text,
    by_trouble,
    first_command,
    moved_figure,
    next_commands,
    notes_of,
    now_texts,
    rate_of,
    runs_text,
    small_figures,
    state_of,
    verdict_of,
)

MOST_MOMENTS = 40
"""Runs in the row of a case, the newest ones: each has room for its mark on a phone."""
MOST_CASES = 100
FIRST_CASES = 20
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class RunRow:
    id: str
    state: str
    verdict: str
    name: str
    rate: str
    day: str
    notes: str


@dataclass(frozen=True, slots=True)
class SparkRow:
    label: str
    drawn: Markup
    text: str


@dataclass(frozen=True, slots=True)
class MovedCases:
    """Some cases under one heading; `details` says more of each, where there is more to say."""

    title: str
    state: str
    cases: Sequence[tuple[str, str]]
    more: int


@dataclass(frozen=True, slots=True)
class HeatRow:
    id: str
    run_id: str
    """The newest run that asked it."""
    drawn: Markup


@dataclass(frozen=True, slots=True)
class TargetSection:
    name: str
    state: str
    verdict: str
    newest: str
    about: str
    newest_id: str
    rate: str
    before: str
    strip: Markup
    legend: Sequence[str]
    sparks: Sequence[SparkRow]
    moved: Sequence[MovedCases]
    cases: Sequence[HeatRow]
    more_cases: Sequence[HeatRow]
    unlisted: int
    always_passed: str
    map_title: str
    runs: Sequence[RunRow]


@dataclass(frozen=True, slots=True)
class SuitePage:
    suite: str
    about: str
    targets: Sequence[TargetSection]
    next_steps: Sequence[str]
    start: str
    """The command that makes the first run, for a suite that has none."""


def suite_page(trend: Trend, presentation: Presentation) -> SuitePage:
    steps = next_commands(trend, presentation.command, presentation.store) if trend.targets else []
    return SuitePage(
        suite=trend.suite_name,
        about=runs_text(*trend.targets) if trend.targets else "",
        targets=[target_section(target) for target in trend.targets],
        next_steps=[command for _, command in steps],
        start=first_command(trend, presentation.command, presentation.store),
    )


def target_section(target: TargetTrend) -> TargetSection:
    newest = target.runs[-1]
    rate, before = now_texts(target)
    troubled = by_trouble(target.cases)
    first = _first_read(target)
    mapped = min(len(target.runs) - first, MOST_MOMENTS)
    rows = [_heat_row(case, target.runs, first) for case in troubled[:MOST_CASES]]
    always_passed = always_passed_text(target.cases)
    return TargetSection(
        name=target.target or "no name",
        state=state_of(newest),
        verdict=verdict_of(newest),
        newest=newest.run_name,
        about=runs_text(target),
        newest_id=newest.run_id,
        rate=rate,
        before=f", {before}" if before else "",
        strip=strip("pass rate", [_strip_run(run) for run in target.runs], _day(target.runs[0]), _day(newest)),
        legend=list(_legend(target.runs)),
        sparks=list(_sparks(target)),
        moved=list(_moved(target)),
        cases=rows[:FIRST_CASES],
        more_cases=rows[FIRST_CASES:],
        unlisted=len(troubled) - len(rows),
        always_passed=always_passed.replace(EVERY_RUN, f"in each of the newest {mapped} runs")
        if first
        else always_passed,
        map_title="The newest run is on the right."
        if mapped == len(target.runs)
        else f"The newest {mapped} runs, the newest on the right.",
        runs=[_run_row(run) for run in reversed(target.runs)],
    )


def _first_read(target: TargetTrend) -> int:
    """The first run of which cases are known, where those of the runs before it were too many to be read."""
    known = (
        number for number, _ in enumerate(target.runs) if any(case.moments[number] != "absent" for case in target.cases)
    )
    first = next(known, 0)
    return first if any(run.cases and not run.is_gap for run in target.runs[:first]) else 0


def _day(run: TrendRun) -> str:
    return run.started_at.partition("T")[0]


def _strip_run(run: TrendRun) -> StripRun:
    rate = run.rate
    return StripRun(
        label=f"{_day(run)}: {rate_of(run)}",
        value=rate.value if rate else None,
        ends=None if rate is None or rate.low is None or rate.high is None else (rate.low, rate.high),
        gap="" if rate else state_of(run),
        is_partial=bool(run.left_out),
        is_baseline=bool(run.baselines),
        is_change=run.change is not None,
    )


def _legend(runs: Sequence[TrendRun]) -> Iterator[str]:
    """Of what is marked in the chart."""
    rate = next((run.pass_rate for run in reversed(runs) if run.pass_rate and run.pass_rate.low is not None), None)
    if rate:
        yield f"bars: {rate.level * 100:.0f} % intervals"
    if any(run.baselines for run in runs):
        yield f"{BASELINE} baseline"
    if any(run.change for run in runs):
        yield f"{CHANGE} the suite changed"
    if any(run.left_out for run in runs):
        yield f"{PARTIAL} only some cases"
    for verdict, mark in (("INVALID", "!"), ("INTERRUPTED", "–"), ("", "·")):
        if any(run.is_gap and run.verdict == verdict for run in runs):
            yield f"{mark} {verdict or 'unfinished'}"


def _sparks(target: TargetTrend) -> Iterator[SparkRow]:
    for figure in small_figures(target):
        moved = moved_figure(figure)
        yield SparkRow(figure.label, sparkline(figure.label, figure.values, f"{figure.label} {moved}"), moved)


def _moved(target: TargetTrend) -> Iterator[MovedCases]:
    for title, state, cases in (("Now failing", "failed", target.now_failing), ("Fixed", "passed", target.fixed)):
        if cases:
            yield MovedCases(title, state, [(case_id, "") for case_id in cases[:MOST_NAMED]], len(cases) - MOST_NAMED)
    flaky = target.flaky
    if flaky:
        named = [
            (
                case.case_id,
                f"flip rate {percent(case.flip_rate, 0)}, {case.passed} of {count(case.trials, 'trial')} passed",
            )
            for case in flaky[:MOST_NAMED]
        ]
        yield MovedCases("Flaky", "flaky", named, len(flaky) - MOST_NAMED)


def _heat_row(case: CaseTrend, runs: Sequence[TrendRun], first: int) -> HeatRow:
    moments = case.moments[first:][-MOST_MOMENTS:]
    asked = [moment for moment in moments if moment != "absent"]
    label = f"passed in {asked.count('passed')} of {count(len(asked), 'run')}"
    asking = [run.run_id for run, moment in zip(runs, case.moments, strict=True) if moment != "absent"]
    drawn = heat_map_row(f"{label}; newest: {asked[-1]}" if asked else "not asked", moments)
    return HeatRow(case.case_id, asking[-1] if asking else "", drawn)


def _run_row(run: TrendRun) -> RunRow:
    return RunRow(
        run.run_id, state_of(run), verdict_of(run), run.run_name, rate_of(run), _day(run), "; ".join(notes_of(run))
    )
