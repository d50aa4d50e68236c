"""The report of a run as people read it in a terminal: what did not pass, the figures, the verdict, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.comparison import asked_at_once
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Report, worst
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.terminal.case_findings import advice, flaky, items, quarantined, selftested
from evalharness.reports.terminal.case_lines import CaseLines
from evalharness.reports.terminal.figures import figures
from evalharness.reports.terminal.next_steps import NextStep, next_steps
from evalharness.reports.terminal.screen import Part, Screen, screen_on
from evalharness.reports.terminal.verdict import FIGURES_WIDTH, header, show_verdict
from evalharness.reports.words.say import say


class TerminalReporter(Reporter):
    """Of runs of a store: a report from a file does not say enough."""

    name: ClassVar[str] = "terminal"

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        screen = screen_on(stream, presentation.redact, presentation.command, is_live=presentation.is_live)
        shown = [each for each in runs if each.run is not None]
        if presentation.verbosity < 0:
            for each in shown:
                show_verdict(screen, each.report, alone=True)
        elif shown:
            _Writer(screen, presentation).show(shown)


class _Writer:
    def __init__(self, screen: Screen, presentation: Presentation) -> None:
        self._screen = screen
        self._store = presentation.store
        self._with_next_step = presentation.with_next_step
        self._is_shown = presentation.is_shown
        self._is_announced = not presentation.with_header
        self._verbosity = presentation.verbosity

    def show(self, runs: Sequence[ReportedRun]) -> None:
        """One run by itself; several of one suite side by side, those of several suites below each other."""
        if len(runs) == 1:
            self._run(runs[0], with_header=not self._is_announced)
            self._end(runs)
            return
        if self._is_announced:
            self._screen.say()
        is_matrix = len({each.report.metadata.suite_name for each in runs}) == 1
        if not is_matrix or self._verbosity > 0:
            for each in runs:
                self._run(each)
        if is_matrix:
            self._matrix(runs)
        self._end(runs)

    def _run(self, each: ReportedRun, *, with_header: bool = True) -> None:
        if with_header and each.run is not None:
            self._screen.entry([], *header(each.run, each.report.summary.total_evals))
        self._screen.say()
        if CaseLines(self._screen, each, self._verbosity).show():
            self._screen.say()
        verbose = self._verbosity > 0
        for line in figures(each.report, verbose=verbose):
            self._screen.line(*line, width=FIGURES_WIDTH)
        self._findings(each.report)
        self._screen.say()

    def _findings(self, report: Report) -> None:
        if report.gate or report.comparison or report.not_compared:
            from evalharness.reports.terminal.gate import GateReport  # slow to load: few runs have a gate

            GateReport(self._screen, self._verbosity).block(report)
        details = (*flaky(report), *items(report), *advice(report)) if self._verbosity > 0 else ()
        for line in (*quarantined(report), *selftested(report), *details):
            self._screen.line(*line, width=FIGURES_WIDTH)
        for note in report.notes:
            self._screen.line("note", say(note), width=FIGURES_WIDTH)

    def _matrix(self, runs: Sequence[ReportedRun]) -> None:
        from evalharness.reports.terminal.matrix import Matrix  # slow to load: most commands start one run

        about, summary = runs[0].report.metadata, runs[0].report.summary
        size = f"{count(summary.total_evals, 'case')} × {count(about.trials_per_case, 'trial')}"
        self._screen.say((about.suite_name, "bold"), f" · {count(len(runs), 'run')} · {size} each")
        self._screen.say()
        Matrix(self._screen, runs, self._verbosity).show()
        self._screen.say()
        for each in runs if self._verbosity == 0 else ():
            self._beside_the_rate(each)
        for note in asked_at_once([each.report.comparison for each in runs if each.report.comparison]):
            self._screen.line("note", say(note), width=FIGURES_WIDTH)

    def _beside_the_rate(self, each: ReportedRun) -> None:
        """What one variant has to say that no column shows."""
        from evalharness.reports.terminal.matrix import plain_cost

        report = each.report
        shown = ("cost", plain_cost(report))
        lines = [line for line in figures(report) if not line.label.startswith("pass") and line[:2] != shown]
        is_said = (report.gate, report.comparison, report.not_compared, report.notes, [*selftested(report)])
        if lines or any(is_said):
            self._screen.say((report.metadata.variant, "bold"))
            for line in lines:
                self._screen.line(*line, width=FIGURES_WIDTH)
            self._findings(report)
            self._screen.say()

    def _end(self, runs: Sequence[ReportedRun]) -> None:
        """The verdict of each, and what to do next about the worst."""
        worst_code = worst([each.report.exit_code for each in runs])
        found = [each for each in runs if each.report.exit_code == worst_code]
        chosen = next((each for each in found if "human" in each.report.awaited and each.report.reviews), found[0])
        steps: list[NextStep] = []
        if self._with_next_step and chosen.run is not None:
            steps = next_steps(chosen.run, chosen.report, self._screen.command, self._store, is_shown=self._is_shown)
        words = [*(label for label, _ in steps), *(each.report.verdict for each in runs)]
        room = max(map(len, words)) + 3
        for each in runs:
            show_verdict(self._screen, each.report, room, whose=self._whose(each, runs))
        for label, command in steps:
            write = self._screen.entry if label == "note" else self._whole
            write([(label.ljust(room), "dim")], command)

    def _whole(self, head: Sequence[Part], command: str) -> None:
        """A command is never wrapped: it is there to be copied."""
        self._screen.say(*head, command)

    def _whose(self, each: ReportedRun, runs: Sequence[ReportedRun]) -> str:
        """What tells one of several runs from the others."""
        about = each.report.metadata
        names = [(other.report.metadata.suite_name, other.report.metadata.variant) for other in runs]
        if len(runs) == 1:
            return ""
        if len({suite for suite, _ in names}) == 1:
            return about.variant
        is_one_target = len({variant for _, variant in names}) == 1
        return about.suite_name if is_one_target else f"{about.suite_name} · {about.variant}"
