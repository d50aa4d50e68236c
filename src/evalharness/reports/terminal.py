"""The verdict as people read it in a terminal: states that add up, rates with intervals, what failed, what next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalharness.domain.report import Failure, Report, TrialCounts
from evalharness.domain.run import Run
from evalharness.reports.wording import count, duration, harmless, money, one_line, percent, with_interval

COLOURS = {"PASSED": "green", "FAILED": "red", "INVALID": "magenta", "UNDECIDED": "yellow", "INTERRUPTED": "yellow"}
FIRST_FAILURES = 5
LABEL = 13


class TerminalReport:
    def __init__(self, console: Console) -> None:
        self.console = console

    def show(self, runs: Sequence[Run]) -> None:
        """Each run's report, and several runs side by side at the end."""
        for run in runs:
            if run.report is not None:
                self._run(run, run.report)
        if len(runs) > 1:
            self._side_by_side(runs)

    def _run(self, run: Run, report: Report) -> None:
        trials = f"{run.lock.trials} trial{'s' if run.lock.trials != 1 else ''}"
        self.console.print()
        self._print(
            f"{run.suite.name}  ",
            (f"{count(len(run.suite.cases), 'case')} × {trials} on {run.variant or run.target.label}", "dim"),
            bold_first=True,
        )
        self._line("trials", states_text(report.summary.trials))
        self._measurements(report)
        self._categories(report)
        self._slowest(report)
        if report.cost_usd is not None or report.input_tokens is not None:
            self._line("cost", _cost_text(report))
        for failure in report.failures[:FIRST_FAILURES]:
            self._failure(failure)
        hidden = len(report.failures) - FIRST_FAILURES
        if hidden > 0:
            self._print(f"  … and {count(hidden, 'more case')}")
        self._verdict(run, report)

    def _measurements(self, report: Report) -> None:
        rate = report.measurements.get("pass_rate")
        if rate is None:
            self._line("pass rate", "none: no trial was judged")
            return
        value, interval = with_interval(rate)
        basis = f"{rate.method}, {count(rate.n_cases, 'case')}, {count(rate.n_trials, 'trial')}"
        self._line("pass rate", f"{value}   {interval}", f"({basis})")
        shown = []
        for name, label in _metric_labels(report):
            shown.append(f"{label} {with_interval(report.measurements[name])[0]}")
        if shown:
            self._line("reliability", "   ".join(shown))

    def _categories(self, report: Report) -> None:
        groups = report.summary.by_category
        if len(groups) < 2:
            return
        for position, (name, group) in enumerate(groups.items()):
            rate = "–" if group.pass_rate is None else percent(group.pass_rate)
            text = f"{harmless(name)}: {group.passed} of {count(group.total, 'case')} passed, {rate}"
            self._line("category" if position == 0 else "", text)

    def _slowest(self, report: Report) -> None:
        slow = [f"{harmless(t.case_id)}#{t.index + 1} {duration(t.duration_s)}" for t in report.slowest]
        if slow:
            self._line("slowest", "   ".join(slow), f"(whole run {duration(report.metadata.duration_seconds)})")

    def _failure(self, failure: Failure) -> None:
        states = ", ".join(f"{number} {state}" for state, number in failure.details.items())
        self._print(
            (f"  {'ERROR' if failure.state == 'error' else 'FAILED'} ", "red"),
            harmless(failure.eval_id),
            (f"  {states}", "dim"),
        )
        self._print(f"      {one_line(failure.reason, 300)}")

    def _verdict(self, run: Run, report: Report) -> None:
        why = f"  {report.why}" if report.why else ""
        self._print(
            (report.verdict, f"bold {COLOURS[report.verdict]}"), f"{why}  ", (f"run {run.name} ({run.id})", "dim")
        )
        self._print(("next".ljust(LABEL), "dim"), next_step(run, report))

    def _side_by_side(self, runs: Sequence[Run]) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("run", "suite", "on", "cases passed", "pass rate", "95 % interval", "errors", "verdict"):
            table.add_column(heading, overflow="fold")
        for run in runs:
            report = run.report
            if report is None:
                continue
            rate = report.measurements.get("pass_rate")
            value, interval = with_interval(rate) if rate else ("–", "")
            summary = report.summary
            cells = (run.name, run.suite.name, run.variant, f"{summary.passed} of {summary.total_evals}", value)
            table.add_row(
                *(Text(harmless(cell)) for cell in cells),
                Text(interval.partition("interval ")[2]),
                Text(str(summary.trials.error)),
                Text(report.verdict, style=COLOURS[report.verdict]),
            )
        self.console.print()
        self.console.print(table)
        self._cases_side_by_side(runs)

    def _cases_side_by_side(self, runs: Sequence[Run]) -> None:
        """Cases that some runs of one suite passed and others did not."""
        if len({run.suite.name for run in runs}) != 1 or len(runs) > 6:
            return
        failed = [{f.eval_id: f for f in run.report.failures} if run.report else {} for run in runs]
        differing = [c.id for c in runs[0].suite.cases if 0 < sum(c.id in found for found in failed) < len(runs)]
        if not differing:
            return
        table = Table(
            box=None, pad_edge=False, header_style="bold", title="cases on which they differ", title_justify="left"
        )
        table.add_column("case")
        for run in runs:
            table.add_column(Text(harmless(run.variant)))
        for case_id in differing[:20]:
            marks = [
                Text(found[case_id].state, style="red") if case_id in found else Text("passed") for found in failed
            ]
            table.add_row(Text(harmless(case_id)), *marks)
        self.console.print()
        self.console.print(table)

    def _line(self, label: str, text: str, small: str = "") -> None:
        self._print((label.ljust(LABEL), "dim"), harmless(text), (f"   {small}" if small else "", "dim"))

    def _print(self, *parts: str | tuple[str, str], bold_first: bool = False) -> None:
        text = Text()
        for position, part in enumerate(parts):
            content, style = (part, "") if isinstance(part, str) else part
            text.append(content, style="bold" if bold_first and position == 0 else style)
        self.console.print(text, soft_wrap=True)


def states_text(trials: TrialCounts) -> str:
    """`9 planned = 7 passed + 2 failed`: always adds up."""
    parts = [f"{number:,} {state}" for state, number in trials if state != "planned" and number]
    return f"{trials.planned:,} planned = {' + '.join(parts) or 'none'}"


def next_step(run: Run, report: Report) -> str:
    if report.verdict == "INTERRUPTED" or report.summary.trials.pending:
        return f"eval-harness resume {run.name}"
    if report.verdict == "INVALID":
        return f"mend the cause, then: eval-harness resume {run.name}"
    if report.failures:
        return f"eval-harness show {run.name} {report.failures[0].eval_id}"
    return f"eval-harness show {run.name}"


def _metric_labels(report: Report) -> list[tuple[str, str]]:
    labels = []
    for name in report.measurements:
        kind, _, k = name.rpartition("_")
        if kind in ("pass_at", "pass_hat") and k != "1":
            labels.append((name, f"pass{'@' if kind == 'pass_at' else '^'}{k}"))
    return labels


def _cost_text(report: Report) -> str:
    parts = [money(report.cost_usd)] if report.cost_usd is not None else []
    if report.input_tokens is not None:
        parts.append(f"{report.input_tokens:,} tokens in, {report.output_tokens or 0:,} out")
    return "   ".join(parts)
