"""The verdict as people read it in a terminal: states that add up, rates with intervals, what failed, what next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.comparison import asked_at_once
from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Failure, Report, TrialCounts
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.reports.case_findings import advice, flaky, items, selftested
from evalharness.reports.figures import figures
from evalharness.reports.gate_text import GateReport
from evalharness.reports.next_steps import next_steps
from evalharness.reports.screen import Part, Screen, screen_on
from evalharness.reports.wording import history_text, with_interval
from evalharness.reports.words import say

COLOURS = {"PASSED": "green", "FAILED": "red", "INVALID": "magenta"} | dict.fromkeys(
    ("INCONCLUSIVE", "UNDECIDED", "INTERRUPTED"), "yellow"
)
FIRST_FAILURES = 5
MOST_DIFFERING = 20


class TerminalReporter(Reporter):
    """Of runs of a store: a report from a file does not tell enough."""

    name: ClassVar[str] = "terminal"

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        screen = screen_on(stream, presentation.redact, presentation.command, is_live=presentation.is_live)
        shown = [(each.run, each.report) for each in runs if each.run is not None]
        _Writer(screen, presentation).show(shown)


class _Writer:
    def __init__(self, screen: Screen, presentation: Presentation) -> None:
        self._screen = screen
        self._store = presentation.store
        self._with_next_step = presentation.with_next_step

    def show(self, runs: Sequence[tuple[Run, Report]]) -> None:
        """Each run's report, and several runs side by side at the end."""
        for run, report in runs:
            self._run(run, report)
            if self._with_next_step:
                for step in next_steps(run, report, self._screen.command, self._store):
                    self._screen.line(*step)
        if len(runs) > 1:
            self._side_by_side(runs)

    def _run(self, run: Run, report: Report) -> None:
        cases, trials = count(len(run.suite.cases), "case"), count(run.lock.trials, "trial")
        self._screen.say()
        for note in report.notes:
            self._screen.say(say(note))
        if report.notes:
            self._screen.say()
        self._screen.say(
            (run.suite.name, "bold"), (f"  {cases} × {trials} on {run.variant or run.target.label}", "dim")
        )
        self._screen.line("trials", states_text(report.summary.trials))
        for line in (*figures(report), *flaky(report), *items(report)):
            self._screen.line(*line)
        GateReport(self._screen).block(report)
        for failure in report.failures[:FIRST_FAILURES]:
            self._failure(failure)
        hidden = len(report.failures) - FIRST_FAILURES
        if hidden > 0:
            self._screen.say(f"  … and {count(hidden, 'more case')}")
        self._unjudged(report)
        self._awaited(report)
        for line in (*advice(report), *selftested(report)):
            self._screen.line(*line)
        reasons = "; ".join(say(found) for found in (report.why, report.not_graded) if found)
        why = f"  {reasons}" if reasons else ""
        self._screen.say(
            (report.verdict, f"bold {COLOURS[report.verdict]}"), f"{why}  ", (f"run {run.name} ({run.id})", "dim")
        )

    def _failure(self, failure: Failure) -> None:
        details = dict(failure.details)
        history = history_text(details.pop("failure_count", 0), details.pop("last_passed", None))
        states = ", ".join(f"{number} {state}" for state, number in details.items())
        text = f"  {states}   ({history})" if history else f"  {states}"
        self._screen.say((f"  {failure.state.upper()} ", "red"), failure.eval_id, (text, "dim"))
        self._screen.say(f"      {self._screen.one_line(failure.reason, 300)}")

    def _unjudged(self, report: Report) -> None:
        """Cases that nobody judged, by the reason they share."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for case in report.unjudged:
            reasons.setdefault((case.state, case.reason), []).append(case.eval_id)
        for (state, reason), ids in list(reasons.items())[:FIRST_FAILURES]:
            more = f" and {len(ids) - 3:,} more" if len(ids) > 3 else ""
            self._screen.say((f"  {state.upper()} ", "yellow"), f"{', '.join(ids[:3])}{more}")
            self._screen.say(f"      {self._screen.one_line(reason, 300)}")
        if len(reasons) > FIRST_FAILURES:
            self._screen.say(f"  … and {count(len(reasons) - FIRST_FAILURES, 'more reason')}")

    def _awaited(self, report: Report) -> None:
        if not report.summary.trials.awaiting:
            return
        if "model" in report.awaited:
            self._screen.line("awaiting", "a model's grade is pending")
        if "human" in report.awaited:
            self._screen.line("awaiting", "a person's grade is pending")

    def _side_by_side(self, runs: Sequence[tuple[Run, Report]]) -> None:
        rates = ("pass rate", "95 % interval", "score", "95 % interval")
        headings = ("run", "suite", "on", "cases passed", *rates, "errors", "verdict")
        self._screen.table(headings, [_row(run, report) for run, report in runs])
        for note in asked_at_once([report.comparison for _, report in runs if report.comparison]):
            self._screen.line("note", say(note))
        self._cases_side_by_side(runs)

    def _cases_side_by_side(self, runs: Sequence[tuple[Run, Report]]) -> None:
        """Cases that some runs of one suite passed and others did not."""
        if len({run.suite.name for run, _ in runs}) != 1 or len(runs) > 6:
            return
        failed = [{f.eval_id: f for f in report.failures} for _, report in runs]
        cases = runs[0][0].suite.cases
        differing = [case.id for case in cases if 0 < sum(case.id in found for found in failed) < len(runs)]
        if not differing:
            return
        rows: list[list[Part]] = []
        for case_id in differing[:MOST_DIFFERING]:
            rows.append(
                [case_id, *((found[case_id].state, "red") if case_id in found else "passed" for found in failed)]
            )
        self._screen.table(["cases that differ", *(run.variant for run, _ in runs)], rows)
        if len(differing) > MOST_DIFFERING:
            self._screen.say(f"… and {len(differing) - MOST_DIFFERING:,} more")


def _row(run: Run, report: Report) -> list[Part]:
    rate = report.measurements.get("pass_rate")
    value, interval = _figure(rate)
    passed = f"{report.summary.passed} of {report.summary.total_evals}"
    errors = str(report.summary.trials.error)
    verdict = (report.verdict, COLOURS[report.verdict])
    scored = _figure(report.measurements.get("score"))
    return [run.name, run.suite.name, run.variant, passed, value, interval, *scored, errors, verdict]


def _figure(found: Measurement | None) -> tuple[str, str]:
    value, interval = with_interval(found) if found else ("–", "")
    return value, interval.partition("interval ")[2]


def states_text(trials: TrialCounts) -> str:
    """`9 planned = 7 passed + 2 failed`: always adds up."""
    parts = [f"{number:,} {state}" for state, number in trials if state != "planned" and number]
    return f"{trials.planned:,} planned = {' + '.join(parts) or 'none'}"
