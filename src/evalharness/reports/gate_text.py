"""What became of a gate, a line for each thing that it asked for. Only words: what was checked is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.gate import GateCheck, GateResult
from evalharness.domain.report import Report
from evalharness.reports.comparison_text import baseline_basis, baseline_line
from evalharness.reports.screen import Part, Screen
from evalharness.reports.words import say

ALWAYS = "comparison.trials_assumed_independent"
"""What every comparison with a single run assumes is said by `compare` and in JSON, not in the report of every run."""
COLOURS = {"PASSED": "green", "FAILED": "red", "INCONCLUSIVE": "yellow", "INVALID": "magenta"}
MEANING = {
    "PASSED": "every check is met",
    "FAILED": "a check is missed",
    "INCONCLUSIVE": "the data do not decide it",
    "INVALID": "something it asks for cannot be computed",
}


class GateReport:
    """The block about baseline and gate in a run's report, and the whole of what `gate RUN` says."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, report: Report) -> None:
        about = report.metadata
        self._screen.say((about.suite_name, "bold"), (f"  run {about.run_name} ({about.run_id})", "dim"))
        self.block(report)
        if report.gate is None:
            self._screen.say(
                (report.verdict, "bold"), f"  {say(report.why)}; the gate judges only what is finished and valid"
            )

    def block(self, report: Report) -> None:
        if report.comparison is not None:
            self._screen.line("vs baseline", baseline_line(report.comparison))
            self._screen.line("", "", baseline_basis(report.comparison))
            reported = report.gate.notes if report.gate else ()
            for note in report.comparison.notes:
                if note not in reported and note.code != ALWAYS:
                    self._screen.line("", "", say(note))
        elif report.not_compared and not (report.gate and report.gate.verdict == "INVALID"):  # which says the same
            self._screen.line("vs baseline", say(report.not_compared))
        for position, parts in enumerate(_lines(report.gate) if report.gate else ()):
            self._screen.labelled("" if position else "gate", *parts)


def _lines(gate: GateResult) -> Iterator[list[Part]]:
    for check in gate.checks:
        mark, colour = _mark(check)
        yield [(mark, colour), f" {say(check.text)}", (f"   ({say(check.basis)})" if check.basis else "", "dim")]
    for note in gate.notes:
        yield [(say(note), "dim")]
    counts = ", which counts as passed here" if (gate.verdict, gate.exit_code) == ("INCONCLUSIVE", 0) else ""
    meaning = MEANING[gate.verdict]
    if gate.verdict == "PASSED" and any(check.passed is None for check in gate.checks):
        meaning = "every check that decides is met"
    yield [(gate.verdict, f"bold {COLOURS[gate.verdict]}"), f"  {meaning}{counts}"]


def _mark(check: GateCheck) -> tuple[str, str]:
    if not check.computable:
        return "! unknown  ", "magenta"
    if check.passed is None:
        return "? undecided", "yellow"
    return ("✓ met      ", "green") if check.passed else ("✗ missed   ", "red")
