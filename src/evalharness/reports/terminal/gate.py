"""What became of a gate, a line for each thing that it asked for. Only words: what was checked is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.finding import Finding
from evalharness.domain.gate import GateCheck, GateResult
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Verbosity
from evalharness.reports.terminal.comparison import baseline_basis, baseline_line, is_said_by
from evalharness.reports.terminal.screen import MARKS, Part, Screen
from evalharness.reports.terminal.verdict import FIGURES_WIDTH, show_verdict
from evalharness.reports.words.gates import against_baseline
from evalharness.reports.words.say import say

ALWAYS = "comparison.trials_assumed_independent"
SAID_ABOVE = (
    "comparison.regression",
    "comparison.improvement",
    "comparison.no_regression",
    "comparison.loss_not_ruled_out",
    "comparison.other_figure",
)
"""Reasons that only repeat the figures of the baseline's line."""
BETWEEN_RUNS = "comparison.between_runs"
"""About latency or cost, which are shown with -v."""
"""What every comparison with a single run assumes is said by `compare` and in JSON, not in the report of every run."""


class GateReport:
    """The lines about baseline and gate in a run's report, and the whole of what `gate RUN` says."""

    def __init__(self, screen: Screen, verbosity: Verbosity = 0) -> None:
        self._screen = screen
        self._verbosity = verbosity

    def show(self, report: Report) -> None:
        if self._verbosity < 0:
            show_verdict(self._screen, report, alone=True)
            return
        about = report.metadata
        cases, trials = count(report.summary.total_evals, "case"), count(about.trials_per_case, "trial")
        self._screen.say((about.suite_name, "bold"), f" · {about.variant} · {cases} × {trials}")
        self._screen.say()
        self.block(report)
        if report.gate is None:
            self._line("gate", "not checked: the run is unfinished or INVALID")
        self._screen.say()
        show_verdict(self._screen, report)

    def block(self, report: Report) -> None:
        if report.comparison is not None:
            self._line("baseline", baseline_line(report.comparison))
            if self._verbosity > 0:
                self._line("", "", baseline_basis(report.comparison))
            reported = report.gate.notes if report.gate else ()
            for note in report.comparison.notes:
                if note not in reported and note.code != ALWAYS and (note.code != BETWEEN_RUNS or self._verbosity > 0):
                    self._line("", "", say(note))
        elif report.not_compared and not (report.gate and report.gate.verdict == "INVALID"):  # which says the same
            self._line("baseline", say(report.not_compared))
        is_compared = report.comparison is not None
        for position, parts in enumerate(self._lines(report.gate, is_compared) if report.gate else ()):
            self._screen.labelled("" if position else "gate", *parts, width=FIGURES_WIDTH)

    def _line(self, label: str, text: str, small: str = "") -> None:
        self._screen.line(label, text, small, width=FIGURES_WIDTH)

    def _lines(self, gate: GateResult, is_compared: bool) -> Iterator[list[Part]]:
        for check in gate.checks:
            mark, word = _mark(check)
            text = _beside_figures(check) if is_compared and self._verbosity <= 0 else say(check.text)
            basis = f"   ({say(check.basis)})" if check.basis and self._verbosity > 0 else ""
            yield [mark, f" {text}", (f"   {word}" if word else "", "bold"), (basis, "dim")]
        for note in gate.notes:
            yield [(say(note), "dim")]


def _beside_figures(check: GateCheck) -> str:
    """What a check says that the line of the baseline above it does not."""
    params = check.text.params
    why, settle = params.get("why"), params.get("settle")
    if check.text.code == "gate.regression" and isinstance(why, Finding) and is_said_by(SAID_ABOVE, why):
        return against_baseline(str(params["verdict"]), say(settle) if isinstance(settle, Finding) else "")
    alone = {"left_out": None} if "left_out" in params else {}
    return say(check.text.model_copy(update={"params": {**params, **alone}}))


def _mark(check: GateCheck) -> tuple[Part, str]:
    """A check that is met or missed has the mark of a case; the others have a word besides, or begin with one."""
    if not check.computable:
        return MARKS["error"], "unknown"
    if check.passed is None:
        return MARKS["awaiting"], "" if check.text.code == "gate.regression" else "undecided"
    return MARKS["passed" if check.passed else "failed"], ""
