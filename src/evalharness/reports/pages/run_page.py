"""What the page of a run shows, from the verdict to the environment; `templates/run.html` says how it looks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from evalharness.domain.case import as_text
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import GateCheck
from evalharness.domain.plain_numbers import count, digits, percent
from evalharness.domain.report import Failure, Group, Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.json_difference import have_parts
from evalharness.reports.pages.plots import PlotMark, bar, interval_plot
from evalharness.reports.pages.word_difference import Piece, word_difference
from evalharness.reports.terminal.case_findings import advice, flaky, quarantined, selftested
from evalharness.reports.terminal.case_lines import counted, mark_of, not_passing
from evalharness.reports.terminal.comparison import baseline_line
from evalharness.reports.terminal.figures import FigureLine, figures, rate_text
from evalharness.reports.terminal.next_steps import IN_MEMORY, NextStep, next_steps
from evalharness.reports.terminal.verdict import CASES_FAILED, is_flaky
from evalharness.reports.wording import duration, interval_of, naming, one_line, show_command
from evalharness.reports.words.say import say

VERDICT_STATES = {"PASSED": "passed", "FAILED": "failed", "INVALID": "error"} | dict.fromkeys(
    ("INCONCLUSIVE", "UNDECIDED", "INTERRUPTED"), "awaiting"
)
FEW_CASES = 30
WIDE = 0.15
LONGEST_REASON = 200
SHORT_DIFFERENCE = 80
CASE = "CASE"
"""Stands for the id of a case in a command that the script fills in."""
MOST_CATEGORIES, FIRST_CATEGORIES = 15, 10
"""Of more than so many, the first are shown and the others folded."""
FROM_A_FILE = "made from a report file, which has no questions and only the beginning of each answer"


class FigureRow(NamedTuple):
    label: str
    text: str
    small: str = ""


@dataclass(frozen=True, slots=True)
class FailureLine:
    """A case that did not pass, in one line."""

    id: str
    state: str
    grader: str
    reason: str
    pieces: tuple[Sequence[Piece], Sequence[Piece]] | None
    """Expected and actual, where both are short."""
    share: str


@dataclass(frozen=True, slots=True)
class CategoryBar:
    name: str
    bar: Markup
    rate: str
    cases: str


@dataclass(frozen=True, slots=True)
class CheckLine:
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class RunPage:
    suite: str
    run_name: str
    run_id: str
    target: str
    size: str
    started: str
    verdict: str
    state: str
    sentence: str
    rate: str
    plot: Markup | None
    plot_rows: Sequence[FigureRow]
    baseline: str
    checks: Sequence[CheckLine]
    figures: Sequence[FigureRow]
    notes: Sequence[str]
    failures: Sequence[FailureLine]
    unjudged: Sequence[FailureLine]
    categories: Sequence[CategoryBar]
    more_categories: Sequence[CategoryBar]
    """Of many, those that are folded: the ones with the highest pass rates."""
    next_steps: Sequence[NextStep]
    environment: Sequence[FigureRow]


def run_page(run: ReportedRun, presentation: Presentation) -> RunPage:
    report = run.report
    about = report.metadata
    plot, rows = _plot(report)
    categories = list(_categories(report))
    return RunPage(
        suite=about.suite_name,
        run_name=about.run_name,
        run_id=about.run_id,
        target=about.variant or (run.run.target.label if run.run else ""),
        size=f"{count(report.summary.total_evals, 'case')} × {count(about.trials_per_case, 'trial')}",
        started=about.timestamp,
        verdict=report.verdict,
        state=VERDICT_STATES[report.verdict],
        sentence=" ".join(_sentences(report)),
        rate=rate_text(rate) if (rate := report.measurements.get("pass_rate")) else "",
        plot=plot,
        plot_rows=rows,
        baseline=baseline_line(report.comparison).replace("   ", " · ")
        if report.comparison
        else say(report.not_compared),
        checks=[_check(check) for check in report.gate.checks] if report.gate else [],
        figures=list(_figures(report)),
        notes=[*(say(note) for note in report.notes), *([FROM_A_FILE] if run.run is None else [])],
        failures=[_failure(failure) for failure in not_passing(report)],
        unjudged=[_failure(failure) for failure in report.unjudged],
        categories=categories if len(categories) <= MOST_CATEGORIES else categories[:FIRST_CATEGORIES],
        more_categories=[] if len(categories) <= MOST_CATEGORIES else categories[FIRST_CATEGORIES:],
        next_steps=next_steps(run.run, report, presentation.command, presentation.store) if run.run else [],
        environment=list(_environment(run)),
    )


def command_to_show(run: ReportedRun, presentation: Presentation, case_id: str = "", flag: str = "") -> str:
    """What prints the same in a terminal; empty where no later command finds the run."""
    if run.run is None or presentation.store == IN_MEMORY:
        return ""
    return show_command(presentation.command, run.report.metadata.run_name, naming(presentation.store), case_id, flag)


# The verdict in a sentence or two.


def _sentences(report: Report) -> Iterator[str]:
    summary, total = report.summary, report.summary.total_evals
    why = say(report.why) if report.why and report.why.code != CASES_FAILED else ""
    flaky_failed = sum(failure.state == "failed" and is_flaky(failure) for failure in report.failures)
    if why:
        yield as_sentence(why)
    if summary.passed == total and total:
        yield f"{'The only case' if total == 1 else f'All {total:,} cases'} passed."
    elif summary.failed and "failed" not in why:
        yield f"{summary.failed:,} of {count(total, 'case')} failed{_flaky_of(summary.failed, flaky_failed)}."
    others = (
        (0 if "because of errors" in why else summary.errors, "ended in error", "ended in error"),
        (summary.skipped, "was skipped", "were skipped"),
        (summary.awaiting, "awaits a grade", "await a grade"),
        (summary.pending, "is not finished", "are not finished"),
    )
    named = [f"{number:,} {one if number == 1 else several}" for number, one, several in others if number]
    if named:
        yield f"{', '.join(named)}."
    if report.not_graded is not None:
        yield as_sentence(say(report.not_graded))
    rate = report.measurements.get("pass_rate")
    if rate and (rate.half_width or 0) > WIDE and rate.n_cases < FEW_CASES:
        are = "case is" if rate.n_cases == 1 else "cases are"
        yield f"{_in_words(rate.n_cases)} {are} too few to say more."


def _flaky_of(failed: int, flaky_failed: int) -> str:
    if not flaky_failed:
        return ""
    if flaky_failed == failed:
        return ", and it is flaky" if failed == 1 else ", all of them flaky"
    return f", {flaky_failed:,} of them flaky"


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _in_words(number: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
    return words[number] if number < len(words) else f"{number:,}"


# Figures.


def _plot(report: Report) -> tuple[Markup | None, list[FigureRow]]:
    """The pass rate with its interval, the baseline's and the threshold drawn in, and the same as numbers."""
    rate = report.measurements.get("pass_rate")
    if rate is None:
        return None, []
    ends = None if rate.low is None or rate.high is None else (rate.low, rate.high)
    decimals = digits(rate.half_width)
    marks = [*_baseline_mark(report.comparison, decimals), *_threshold_mark(report)]
    rows = [
        FigureRow("pass rate", percent(rate.value)),
        FigureRow("interval", f"{interval_of(rate)} ({rate.level:.0%})"),
    ]
    rows += [FigureRow("method", f"{rate.method}, {count(rate.n_cases, 'case')}, {count(rate.n_trials, 'trial')}")]
    rows += [FigureRow(mark.label, mark.text) for mark in marks]
    return interval_plot("pass rate", rate.value, ends, marks), rows


def _baseline_mark(comparison: Comparison | None, decimals: int) -> Iterator[PlotMark]:
    found = comparison.differences.get("pass_rate") if comparison else None
    if found is not None and found.old is not None:
        yield PlotMark("baseline", found.old, "baseline", percent(found.old, decimals))


def _threshold_mark(report: Report) -> Iterator[PlotMark]:
    checks = report.gate.checks if report.gate else ()
    wanted = next((check.wanted for check in checks if check.name == "pass_rate" and check.wanted is not None), None)
    if wanted is not None:
        yield PlotMark("threshold", wanted, "threshold", percent(wanted))


def _figures(report: Report) -> Iterator[FigureRow]:
    """All that the terminal shows with -v, except what the plot and the bars show."""
    label = ""
    for line in figures(report, verbose=True):
        label = line.label or label  # a line without one belongs to the line before
        if label not in ("pass rate", "category"):
            yield _apart(line)
    for line in (*flaky(report), *quarantined(report), *selftested(report), *advice(report)):
        yield _apart(line)


def _apart(line: FigureLine) -> FigureRow:
    """A terminal separates parts by spaces, which a page would not show."""
    return FigureRow(line.label, line.text.replace("   ", " · "), line.small)


def _check(check: GateCheck) -> CheckLine:
    state = "error" if not check.computable else "awaiting" if check.passed is None else ""
    return CheckLine(state or ("passed" if check.passed else "failed"), say(check.text))


def _failure(failure: Failure) -> FailureLine:
    found = failure.difference
    pieces = None
    if found is not None and not have_parts(found.expected, found.actual):  # of JSON, the reason names the paths
        texts = as_text(found.expected), as_text(found.actual)
        if max(map(len, texts)) <= SHORT_DIFFERENCE and not any("\n" in text for text in texts):
            pieces = word_difference(*texts)
    return FailureLine(
        id=failure.eval_id,
        state=mark_of(failure),
        grader="" if failure.reason.startswith(failure.grader) and not pieces else failure.grader,
        reason="" if pieces else one_line(failure.reason, LONGEST_REASON),
        pieces=pieces,
        share=counted(failure).replace("/", " of "),
    )


def _categories(report: Report) -> Iterator[CategoryBar]:
    """In the suite's order; many of them by pass rate, the lowest first."""
    groups: Mapping[str, Group] = report.summary.by_category
    rated = [(name, group, group.pass_rate) for name, group in groups.items() if group.pass_rate is not None]
    if len(rated) > MOST_CATEGORIES:
        rated.sort(key=lambda each: each[2])
    for name, group, rate in rated:
        found = group.measurement
        ends = None if found is None or found.low is None or found.high is None else (found.low, found.high)
        yield CategoryBar(
            name=name or "none",
            bar=bar("pass rate", rate, ends),
            rate=rate_text(found) if found else percent(rate, 0),
            cases=f"{group.passed:,} of {count(group.total, 'case')} passed",
        )


# Environment and lock.


def _environment(run: ReportedRun) -> Iterator[FigureRow]:
    report, about = run.report, run.report.metadata
    yield FigureRow("run", f"{about.run_name} ({about.run_id})")
    yield FigureRow("started", about.timestamp)
    yield FigureRow("took", duration(about.duration_seconds))
    for name, value in about.environment.items():
        if value not in ("", None):
            yield FigureRow(name, as_text(value))
    if report.metadata.case_threshold < 1:
        yield FigureRow("case threshold", percent(about.case_threshold))
    if run.run is not None:
        lock = run.run.lock
        yield FigureRow("seed", str(lock.seed))
        yield FigureRow("target digest", lock.target)
        for name, image in lock.images.items():
            yield FigureRow(f"image {name}", image)
        if lock.unpinned:
            yield FigureRow("not pinned", ", ".join(lock.unpinned))
        if lock.variables:
            shown = {name: "(secret)" if value is None else value for name, value in lock.variables.items()}
            yield FigureRow("variables", json.dumps(shown, ensure_ascii=False))
