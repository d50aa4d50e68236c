"""Judging: from a run's summary to its verdict and exit code (rules: "Exit codes")."""

from __future__ import annotations

from evalharness.domain.gate import GateResult
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Summary, Verdict


def judge(summary: Summary, max_error_rate: float, stopped: str) -> tuple[Verdict, int, str]:
    """The verdict, its exit code, and why in one sentence. What stopped a run matters only if it left trials undone.

    Trials that were skipped cannot make up for errors.
    """
    trials = summary.trials
    tried = trials.planned - trials.pending - trials.skipped
    if trials.pending and stopped in ("", "interrupted"):
        return "INTERRUPTED", 130, f"{trials.pending:,} of {count(trials.planned, 'trial')} still to be done"
    if trials.pending and stopped == "time limit":
        left = count(trials.pending, "trial")
        return "INVALID", 3, f"the global time limit was reached with {left} still to be done"
    if stopped == "spend cap" and (trials.pending or trials.awaiting):
        undone = [f"{count(trials.pending, 'trial')} still to be done"] if trials.pending else []
        undone += [f"{count(trials.awaiting, 'trial')} still to be graded"] if trials.awaiting else []
        return "INVALID", 3, f"the spend cap was reached with {' and '.join(undone)}"
    if tried and trials.error / tried > max_error_rate:
        not_skipped = f" that {'was' if tried == 1 else 'were'} not skipped" if trials.skipped else ""
        if trials.error == tried:
            each = "the only trial" if tried == 1 else f"all {tried:,} trials"
            return "INVALID", 3, f"{each}{not_skipped} ended in error, so nothing is known about the target"
        share = f"{trials.error:,} of {count(tried, 'trial')}{not_skipped} ended in error"
        return "INVALID", 3, f"{share}, more than the {max_error_rate * 100:g} % allowed"
    if summary.errors:
        return "INVALID", 3, f"{count(summary.errors, 'case')} could not be judged because of errors"
    if summary.total_evals and summary.skipped == summary.total_evals:
        return "INVALID", 3, "every case was skipped"
    if summary.failed or (stopped == "max failures" and trials.failed):
        return "FAILED", 1, f"{count(summary.failed, 'case')} failed" if summary.failed else "stopped after failures"
    if summary.awaiting:
        return "UNDECIDED", 4, f"{count(summary.awaiting, 'case')} still to be graded"
    return "PASSED", 0, ""


def may_be_gated(verdict: Verdict, summary: Summary) -> bool:
    """A gate judges whole runs that can be trusted; what else happened to a run is said already."""
    return verdict in ("PASSED", "FAILED", "UNDECIDED") and not summary.trials.pending


def judge_by_gate(gate: GateResult, summary: Summary) -> tuple[Verdict, int, str]:
    """With a gate, the gate alone decides: cases may fail as long as it passes."""
    failed = f"; {count(summary.failed, 'case')} failed" if summary.failed else ""
    names = [check.name for check in gate.checks if check.passed is not True]
    if gate.verdict == "INVALID":
        unknown = [check.name for check in gate.checks if not check.computable]
        return "INVALID", gate.exit_code, f"the gate cannot be judged: {', '.join(unknown)}"
    if gate.verdict == "FAILED":
        missed = [check.name for check in gate.checks if check.passed is False]
        return "FAILED", gate.exit_code, f"the gate failed: {', '.join(missed)}{failed}"
    if gate.verdict == "PASSED":
        return "PASSED", gate.exit_code, f"the gate passed{failed}"
    if gate.exit_code == 0:
        meaning = "which counts as passed (inconclusive: pass)"
        warned = f"{failed} (with --inconclusive fail this would not pass)" if failed else ""
        return "PASSED", 0, f"the gate is inconclusive, {meaning}: {', '.join(names)}{warned}"
    due = f"; {count(summary.awaiting, 'case')} still to be graded" if summary.awaiting else ""
    return "UNDECIDED", gate.exit_code, f"the gate is inconclusive: {', '.join(names)}{due}{failed}"
