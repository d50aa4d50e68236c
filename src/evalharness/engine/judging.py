"""Judging: from a run's summary to its verdict and exit code (rules: "Exit codes")."""

from __future__ import annotations

from evalharness.domain.report import Summary, Verdict

PRECEDENCE = (2, 130, 3, 1, 4, 0)


def judge(summary: Summary, max_error_rate: float, stopped: str) -> tuple[Verdict, int, str]:
    """The verdict, its exit code, and why in one sentence. What stopped a run matters only if it left trials undone."""
    trials = summary.trials
    finished = trials.planned - trials.pending
    if trials.pending and stopped in ("", "interrupted"):
        return "INTERRUPTED", 130, f"{trials.pending} of {_count(trials.planned, 'trial')} still to be done"
    if trials.pending and stopped == "time limit":
        left = _count(trials.pending, "trial")
        return "INVALID", 3, f"the global time limit was reached with {left} still to be done"
    if finished and trials.error / finished > max_error_rate:
        share = f"{trials.error} of {_count(finished, 'trial')} ended in error"
        return "INVALID", 3, f"{share}, more than the {max_error_rate * 100:g} % allowed"
    if summary.errors:
        return "INVALID", 3, f"{_count(summary.errors, 'case')} could not be judged because of errors"
    if summary.total_evals and summary.skipped == summary.total_evals:
        return "INVALID", 3, "every case was skipped"
    if summary.failed or (stopped == "max failures" and trials.failed):
        return "FAILED", 1, f"{_count(summary.failed, 'case')} failed" if summary.failed else "stopped after failures"
    if summary.awaiting:
        return "UNDECIDED", 4, f"{_count(summary.awaiting, 'case')} still to be graded"
    return "PASSED", 0, ""


def worst(exit_codes: list[int]) -> int:
    return min(exit_codes, key=PRECEDENCE.index, default=0)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
