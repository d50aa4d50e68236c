"""A run as Python shows it: printed like in the terminal, as a table in a notebook, and in one line by itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from html import escape

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.reports.terminal.case_lines import mark_of, not_clean
from evalharness.reports.terminal.run_report import TerminalReporter
from evalharness.reports.terminal.screen import MARKS
from evalharness.reports.wording import interval_of, one_line

MOST_ROWS = 20
LONGEST_REASON = 200


class ShownRun(Run):
    """`print(run)` shows what the command line prints for it; a notebook shows a table."""

    @classmethod
    def of(cls, run: Run) -> ShownRun:
        return cls.unchecked(dict(vars(run)))

    def __str__(self) -> str:
        if self.report is None:
            return repr(self)
        stream = io.StringIO()
        reported = ReportedRun(self.report, self, lambda: self.trials)
        TerminalReporter().write([reported], stream, Presentation(with_next_step=False))
        return stream.getvalue().strip("\n")

    def __repr__(self) -> str:
        return f"<Run {self.name} of {self.suite.name}: {self._verdict()}>"

    def _verdict(self) -> str:
        if self.report is None:
            return "not executed yet"
        rate = self.report.measurements.get("pass_rate")
        rates = f", pass rate {percent(rate.value, 0)} ({interval_of(rate)})" if rate else ""
        return f"{self.report.verdict}{rates}"

    def _repr_html_(self) -> str:
        """The cases that did not pass come first, then those that did, up to 20 in all."""
        rows = list(self._rows())
        hidden = len(rows) - MOST_ROWS
        more = f"<p>… and {count(hidden, 'more case')}</p>" if hidden > 0 else ""
        head = "<tr><th></th><th>case</th><th>passed</th><th>first reason</th></tr>"
        title = f"<p><b>{escape(self.suite.name)}</b> · {escape(self.name)} · {escape(self._verdict())}</p>"
        return f"{title}<table><thead>{head}</thead><tbody>{''.join(rows[:MOST_ROWS])}</tbody></table>{more}"

    def _rows(self) -> Iterator[str]:
        if self.report is None:
            return
        bad = not_clean(self.report)
        for case in sorted(self.report.cases, key=lambda case: case.state == "passed"):
            failure = bad.get(case.case_id)
            mark, _ = MARKS[mark_of(failure) if failure else case.state]
            reason = one_line(failure.reason if failure else "", LONGEST_REASON)
            cells = (f"{mark} {case.state}", case.case_id, f"{case.passed} of {case.trials}", reason)
            yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
