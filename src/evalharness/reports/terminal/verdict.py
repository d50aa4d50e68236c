"""The first and the last line of a run: what it is, and what it came to."""

from __future__ import annotations

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.report import Failure, Report, RunSummary
from evalharness.domain.run import Run
from evalharness.reports.terminal.screen import Part, Screen
from evalharness.reports.wording import duration
from evalharness.reports.words.say import say

COLOURS = {"PASSED": "green", "FAILED": "red", "INVALID": "magenta"} | dict.fromkeys(
    ("INCONCLUSIVE", "UNDECIDED", "INTERRUPTED"), "yellow"
)
STATES = {"PASSED": "passed", "FAILED": "failed", "INVALID": "error"} | {
    "REGRESSION": "failed",
    "NO REGRESSION": "passed",
    "IMPROVEMENT": "passed",
}
"""Which mark a verdict has; the others have that of a grade that is outstanding."""
FIGURES_WIDTH = 12
"""Columns of the labels before the figures of a run."""
CASES_FAILED = "run.cases_failed"
"""The counts beside the verdict say the same."""


def header(run: Run, number: int) -> list[Part]:
    """`capitals · agent.py:answer · 3 cases × 4 trials`; `number` is that of its cases, which may not be there."""
    again = f"regrade of {run.regraded_run} · " if run.regrade_of else ""
    cases, trials = count(number, "case"), count(run.lock.trials, "trial")
    return [(run.suite.name, "bold"), f" · {run.variant or run.target.label} · {again}{cases} × {trials}"]


def is_flaky(failure: Failure) -> bool:
    """Whether some of its graded trials passed and others failed."""
    return bool(failure.details.get("passed")) and bool(failure.details.get("failed"))


def flaky_passes(report: Report) -> list[Failure]:
    """Cases that passed, as their suite asks for less than every trial, though one of their trials failed."""
    if report.metadata.case_threshold >= 1 or report.metadata.retry_failed:  # then first answers may have failed
        return []
    return [
        Failure(
            eval_id=case.case_id,
            name=case.case_id,
            state="passed",
            reason=f"counts as passed: {percent(report.metadata.case_threshold)} of its trials are enough",
            details={"passed": case.passed, "failed": case.trials - case.passed},
        )
        for case in report.cases
        if case.state == "passed" and 0 < case.passed < case.trials
    ]


def counts_text(report: Report) -> str:
    """`2 failed (1 flaky), 1 passed`; `1 failed so far, 20 pending` where a pending case has a failed trial."""
    summary: RunSummary = report.summary
    flaky = sum(failure.state == "failed" and is_flaky(failure) for failure in report.failures)
    so_far = sum(failure.state == "pending" and "failed" in failure.details for failure in report.failures)
    errors = [count(summary.errors, "error")] if summary.errors else []
    others = [(summary.skipped, "skipped"), (summary.awaiting, "awaiting"), (summary.pending, "pending")]
    parts = [
        *_number(summary.failed + so_far, "failed so far" if so_far else "failed", flaky),
        *errors,
        *(text for number, state in others for text in _number(number, state)),
        *_number(summary.passed, "passed", len(flaky_passes(report))),
    ]
    return ", ".join(parts) or "no cases"


def _number(number: int, state: str, flaky: int = 0) -> list[str]:
    return [f"{number:,} {state}{f' ({flaky:,} flaky)' if flaky else ''}"] if number else []


def reason_text(report: Report) -> str:
    """Why it came to this, as far as the counts do not say it."""
    why = report.why if report.why and report.why.code != CASES_FAILED else None
    return "; ".join(say(found) for found in (why, report.not_graded) if found)


def show_verdict(screen: Screen, report: Report, room: int = 0, *, whose: str = "", alone: bool = False) -> None:
    """`room` is the width of the first column; `whose` names one of several runs; `alone`: all of it in one line."""
    about = report.metadata
    begin = f"{report.verdict}   ".ljust(room)
    named = [about.run_name, whose] if whose else [duration(about.duration_seconds), about.run_name]
    reason = reason_text(report)
    beside = [reason] if reason and alone else []
    screen.entry([(begin, f"bold {COLOURS[report.verdict]}")], "   ".join([counts_text(report), *named, *beside]))
    if reason and not alone:
        screen.entry([" " * len(begin)], reason)
