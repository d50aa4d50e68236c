"""Run verdict: from a run's summary to its verdict and exit code (rules: "Exit codes")."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import GateResult
from evalharness.domain.report import RunSummary, Verdict


def run_verdict(
    summary: RunSummary, max_error_rate: float, stopped: str, missed: Sequence[str] = ()
) -> tuple[Verdict, int, Finding | None]:
    """The verdict, its exit code, and why, where there is anything to explain.

    What stopped a run matters only if it left trials undone. Trials that were skipped cannot make up for errors.
    `missed`: why calls of a replay had no recorded reply; not one of them is allowed.
    """
    trials = summary.trials
    tried = trials.planned - trials.pending - trials.skipped
    pending, awaiting, skipped = trials.pending, trials.awaiting, trials.skipped
    if pending and stopped in ("", "interrupted"):
        return "INTERRUPTED", 130, finding("run.unfinished", "error", pending=pending, planned=trials.planned)
    if pending and stopped == "time limit":
        return "INVALID", 3, finding("run.time_limit", "error", pending=pending)
    if stopped == "spend cap" and (pending or awaiting):
        return "INVALID", 3, finding("run.spend_cap", "error", pending=pending, awaiting=awaiting)
    if missed:
        return "INVALID", 3, finding("run.replay_missed", "error", trials=len(missed), first=missed[0])
    if tried and trials.error / tried > max_error_rate:
        if trials.error == tried:
            return "INVALID", 3, finding("run.all_in_error", "error", tried=tried, skipped=skipped)
        counts = {"errors": trials.error, "tried": tried, "skipped": skipped}
        return "INVALID", 3, finding("run.too_many_errors", "error", **counts, allowed=max_error_rate)
    if summary.errors:
        return "INVALID", 3, finding("run.cases_in_error", "error", cases=summary.errors)
    if summary.total_evals and summary.skipped == summary.total_evals:
        return "INVALID", 3, finding("run.all_skipped", "error")
    if summary.failed:
        return "FAILED", 1, finding("run.cases_failed", "error", cases=summary.failed)
    if stopped == "max failures" and trials.failed:
        return "FAILED", 1, finding("run.stopped_after_failures", "error")
    if summary.awaiting:
        return "UNDECIDED", 4, finding("run.cases_ungraded", "warning", cases=summary.awaiting)
    return "PASSED", 0, None


def may_be_gated(verdict: Verdict, summary: RunSummary) -> bool:
    """A gate judges whole runs that can be trusted; what else happened to a run is said already."""
    return verdict in ("PASSED", "FAILED", "UNDECIDED") and not summary.trials.pending


def judge_by_gate(gate: GateResult, summary: RunSummary) -> tuple[Verdict, int, Finding]:
    """With a gate, the gate alone decides: cases may fail as long as it passes."""
    failed = summary.failed
    if gate.verdict == "INVALID":
        unknown = [check.name for check in gate.checks if not check.computable]
        return "INVALID", gate.exit_code, finding("run.gate_invalid", "error", checks=unknown)
    if gate.verdict == "FAILED":
        missed = [check.name for check in gate.checks if check.passed is False]
        return "FAILED", gate.exit_code, finding("run.gate_failed", "error", checks=missed, failed=failed)
    if gate.verdict == "PASSED":
        return "PASSED", gate.exit_code, finding("run.gate_passed", failed=failed)
    passes = gate.exit_code == 0
    names = [check.name for check in gate.checks if check.passed is not True]
    counts = {"failed": failed, "awaiting": summary.awaiting}
    why = finding("run.gate_inconclusive", "warning", checks=names, passes=passes, **counts)
    return ("UNDECIDED" if summary.awaiting and not passes else "INCONCLUSIVE"), gate.exit_code, why
