"""What terminal, Markdown and pages say of a trend in the same words; nothing is concluded here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.trend import CaseTrend, SuiteChange, TargetTrend, Trend, TrendRun
from evalharness.reports.terminal.figures import drawn_interval, rate_text
from evalharness.reports.terminal.runs import STATES
from evalharness.reports.wording import duration, listed, money, naming, show_command

NAMED = 5
"""Cases in one sentence."""
CASE = "case"
EVERY_RUN = "in every run"
BASELINE, CHANGE, PARTIAL = "▲", "┊", "○"
"""What is marked at a run, the same in terminal, Markdown and charts."""
NOT_ASKED = "."
"""In the strip of a case, for a run that did not ask it."""
BARS = "▁▂▃▄▅▆▇█"
NO_BAR = " "


class SmallFigure(NamedTuple):
    """Cost or latency over the runs; None where a run has none."""

    label: str
    values: tuple[float | None, ...]
    first: str
    newest: str


def state_of(run: TrendRun) -> str:
    return STATES.get(run.verdict, "awaiting")


def verdict_of(run: TrendRun) -> str:
    return run.verdict or "unfinished"


def rate_of(run: TrendRun) -> str:
    """`74 % (62–83)`; of a gap, why it has no figure."""
    if run.is_gap:
        return verdict_of(run)
    return rate_text(run.pass_rate) if run.pass_rate else "no pass rate"


def drawn_rate(run: TrendRun) -> str:
    """`····├──●──┤····`; empty where there is nothing to draw."""
    rate = run.rate
    if rate is None:
        return ""
    ends = (rate.value, rate.value) if rate.low is None or rate.high is None else (rate.low, rate.high)
    return drawn_interval(ends[0], rate.value, ends[1])


def notes_of(run: TrendRun) -> list[str]:
    """What is marked at a run."""
    notes = [f"{BASELINE} baseline {name}" for name in run.baselines]
    if run.change is not None:
        notes.append(f"{CHANGE} {change_text(run.change)}")
    if run.left_out:
        notes.append(f"{PARTIAL} only {run.cases:,} of {count(run.cases + run.left_out, 'case')}")
    return notes


def change_text(change: SuiteChange) -> str:
    """`suite changed: 2 cases changed, 1 added`."""
    parts = [(change.changed, "changed"), (change.added, "added"), (change.removed, "removed")]
    (first, what), *others = [(number, what) for number, what in parts if number]
    return f"suite changed: {', '.join([f'{count(first, CASE)} {what}', *(f'{n:,} {w}' for n, w in others)])}"


def now_texts(trend: TargetTrend) -> tuple[str, str]:
    """The newest pass rate, and the one before it, where there is one."""
    counted, before = trend.counted, trend.before
    now = rate_of(counted[-1]) if counted else "not known yet"
    return now, f"was {rate_of(before)} in {before.run_name}" if before else ""


def now_text(trend: TargetTrend) -> str:
    return ", ".join(filter(None, now_texts(trend)))


def moved_lines(trend: TargetTrend) -> Iterator[tuple[str, str]]:
    """Which cases moved with the newest run, by label."""
    for label, cases in (("now failing", trend.now_failing), ("fixed", trend.fixed)):
        if cases:
            yield label, listed(cases[:NAMED], len(cases))
    if trend.flaky:
        named = [f"{case.case_id} {percent(case.flip_rate, 0)}" for case in trend.flaky[:NAMED]]
        yield "flaky", f"{listed(named, len(trend.flaky))} (flip rates)"


def small_figures(trend: TargetTrend) -> Iterator[SmallFigure]:
    """Latency and cost, where they are known."""
    runs = trend.runs
    kinds: tuple[tuple[str, Callable[[TrendRun], float | None], Callable[[float], str]], ...] = (
        ("latency", lambda run: run.latency_s, duration),
        ("cost", lambda run: run.cost_usd, money),
    )
    for label, value_of, worded in kinds:
        values = tuple(None if run.is_gap else value_of(run) for run in runs)
        known = [value for value in values if value is not None]
        if known:
            yield SmallFigure(label, values, worded(known[0]), worded(known[-1]))


def moved_figure(figure: SmallFigure) -> str:
    """`1.2 s → 1.9 s`."""
    return figure.newest if figure.first == figure.newest else f"{figure.first} → {figure.newest}"


def bars(values: Sequence[float | None]) -> str:
    """A bar for each, from 0 to the largest."""
    most = max((value for value in values if value is not None), default=0.0)
    last = len(BARS) - 1
    return "".join(
        NO_BAR if value is None else BARS[round(last * value / most)] if most else BARS[0] for value in values
    )


def by_trouble(cases: Sequence[CaseTrend]) -> list[CaseTrend]:
    """Without those that always passed: first those that do not pass now, then by how often they did not."""
    troubled = [case for case in cases if not case.always_passed]
    return sorted(troubled, key=lambda case: (case.newest == "passed", -case.lapses))


def always_passed_text(cases: Sequence[CaseTrend]) -> str:
    number = sum(case.always_passed for case in cases)
    is_one = number > 0 and len(cases[0].moments) == 1
    return f"{count(number, 'case')} passed{'' if is_one else f' {EVERY_RUN}'}" if number else ""


def runs_text(*targets: TargetTrend) -> str:
    """`12 runs, 2026-01-02 to 2026-01-19`."""
    runs = [run for target in targets for run in target.runs]
    days = sorted(run.started_at.partition("T")[0] for run in runs)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{count(len(runs), 'run')}, {when}"


def first_command(trend: Trend, command: str, store: str | None) -> str:
    """What makes the first run of a suite that has none."""
    return f"{command} run {shlex.quote(trend.source or trend.suite_name)}{naming(store)}"


def next_commands(trend: Trend, command: str, store: str | None) -> list[tuple[str, str]]:
    """Label and command: what tells whether the newest change is real, and where the first lost case went wrong."""
    target, named = trend.targets[0], naming(store)
    counted, before = target.counted, target.before
    steps = []
    if before is not None:
        old, new = (shlex.quote(run.run_name) for run in (before, counted[-1]))
        steps.append(("compare", f"{command} compare {old} {new}{named}"))
    if target.now_failing:
        run, case = counted[-1].run_name, target.now_failing[0]
        steps.append(("look", show_command(command, run, named, case)))
    elif counted and not steps:
        steps.append(("look", show_command(command, counted[-1].run_name, named)))
    return steps
