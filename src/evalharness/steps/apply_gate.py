"""Choose a run's gate from its suite and what the caller asks for, and apply it to the finished report.

The report gets its comparison with the baseline and the gate's verdict, which decides. The baseline is the one that the
gate names, else the suite's newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from evalharness.contracts.store import Store
from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, as_finding, finding
from evalharness.domain.gate import NO_BASELINE, Gate, GateOverrides, GateResult, Presets, RegressionRule
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.engine.gating.run_verdict import judge_by_gate, may_be_gated, run_verdict
from evalharness.engine.measuring.trial_counts import Measured
from evalharness.errors import Hint, UsageError
from evalharness.reports.words.say import say
from evalharness.steps.find_comparable_runs import earlier_counts
from evalharness.steps.find_reports import FoundReport, find_report, newest_baseline
from evalharness.steps.find_runs import counted_back


def apply_gate(run: Run, report: Report, measured: Measured, store: Store, day: date) -> Report:
    """A run that was not finished, or cannot be trusted, is neither compared nor gated."""
    if not may_be_gated(report.verdict, report.summary):
        return report
    if run.suite.gate is not None:
        report = gated(report, run.suite, measured, store, day, run)
    if report.comparison is None and not report.not_compared:
        report = report.model_copy(update=compare_as_known(run, report, store, day))
    return report


def gated(report: Report, suite: Suite, measured: Measured, store: Store, day: date, run: Run | None = None) -> Report:
    """By the suite's gate alone, whatever the report said before; `run` is the report's own, where it is stored."""
    gate = suite.gate
    assert gate is not None, "asked for where there is one"
    from evalharness.engine.gating.gate_checks import judge_gate  # slow to load: few runs have a gate

    comparison: Comparison | None = None
    not_compared: Finding | None = None
    sessions = None
    if gate.compares:
        from evalharness.steps.compare_sessions import compare_with_sessions  # slow to load: few runs are compared

        sessions = compare_with_sessions(gate, suite, store, run)
        try:
            comparison = compare_as_gated(gate, report, store, day, run, suite)
            if report.sequential is None and sessions is None:
                from evalharness.steps.recall_answers import with_flips  # slow to load: few runs are compared

                comparison = with_flips(comparison, gate, store)
        except UsageError as error:  # the run is over: its report says what it cannot be compared with
            hint = error.hint or Hint("hint.other_baseline", run=report.metadata.run_name)
            not_compared = finding("comparison.refused", "warning", message=error.message, hint=as_finding(hint))
    trials = report.metadata.trials_per_case
    found = judge_gate(
        gate,
        suite,
        trials,
        measured,
        comparison=sessions or comparison,
        today=day,
        not_compared=not_compared,
        sequential=report.sequential,
    )
    compared = {"comparison": comparison, "not_compared": not_compared, "session_comparison": sessions}
    return decided(report.model_copy(update=compared), found)


def without_gate(report: Report) -> Report:
    """As it would read had it none. Errors cannot have made it INVALID: no gate would have judged it."""
    if report.gate is not None:
        verdict, exit_code, why = run_verdict(report.summary, 1.0, "")
        report = report.model_copy(update={"verdict": verdict, "exit_code": exit_code, "why": why})
    return report.model_copy(
        update={"gate": None, "comparison": None, "not_compared": None, "session_comparison": None}
    )


def decided(report: Report, gate: GateResult) -> Report:
    verdict, exit_code, why = judge_by_gate(gate, report.summary)
    return report.model_copy(update={"gate": gate, "verdict": verdict, "exit_code": exit_code, "why": why})


def find_baseline(gate: Gate, store: Store, suite_name: str, suite: Suite | None = None) -> FoundReport:
    """Raises UsageError where there is none, or only a run that tells nothing. `suite` is needed for results that do
    not name their sessions' files."""
    named = gate.regression.baseline if gate.regression else ""
    if suite is not None:
        from evalharness.steps.compare_sessions import session_results  # slow to load: few runs are compared

        if (results := session_results(gate, suite)) is not None:
            from evalharness.formats.results.written_reports import report_of_results

            return FoundReport(report_of_results(Path(named), results), named)
    if not named:
        newest = newest_baseline(suite_name, store)
        if newest is None:
            raise UsageError(
                f"the gate compares with a baseline, and suite {suite_name} has none",
                hint=Hint("hint.first_baseline"),
            )
        named = newest.name
    return whole(find_report(named, store, suite_name))


def whole(found: FoundReport) -> FoundReport:
    """Raises UsageError for a run that nothing can be compared with: it broke, or did not come to its end."""
    for report in found.reports:
        if report.is_broken or report.verdict == "INTERRUPTED":
            why = f" ({say(report.why)})" if report.why else ""
            run = f"run {report.metadata.run_name}" if found.others else "run"
            raise UsageError(
                f"{found.label} cannot be the baseline: its {run} is {report.verdict}{why}",
                hint=Hint("hint.finished_run"),
            )
    return found


def compare_as_gated(
    gate: Gate, report: Report, store: Store, today: date, run: Run | None = None, suite: Suite | None = None
) -> Comparison:
    """As the gate asks; raises UsageError where the two cannot be compared."""
    found = find_baseline(gate, store, report.metadata.suite_name, suite)
    history = None
    if run is not None and gate.strict_flips is True:
        history = earlier_counts(store, run, besides={each.metadata.run_id for each in found.reports})
    return compare_with(found, report, gate, today, history)


def compare_as_known(run: Run, report: Report, store: Store, today: date) -> dict[str, Any]:
    """For information, where the suite has a baseline and this run tried its cases again: what the report then says.

    Not for a run that stops when it is decided: its p-values would not be what they say.
    """
    newest = newest_baseline(run.suite.name, store)
    is_trial = run.has_fresh_trials or run.is_replayed
    if newest is None or run.id in newest.run_ids or not is_trial or run.options.sequential is not None:
        return {}
    try:
        found = whole(find_report(newest.name, store, run.suite.name))
        return {"comparison": compare_with(found, report, run.suite.gate or Gate(), today)}
    except UsageError as error:  # no gate asked for it, so it is only reported
        return {"not_compared": finding("comparison.refused", message=error.message, hint=None)}


def compare_with(
    found: FoundReport, report: Report, gate: Gate, today: date, history: Mapping[str, tuple[int, int]] | None = None
) -> Comparison:
    """By the gate's rule, without the cases that are quarantined on this day."""
    from evalharness.engine.comparing.comparison import compare  # slow to load: few runs are compared

    rule, ignored = gate.regression or RegressionRule(), gate.quarantined_on(today)
    comparison = compare(found.reports, report, rule, old_source=found.source, ignored=ignored, history=history)
    return comparison.model_copy(update={"notes": (*comparison.notes, *same_run(comparison))})


def same_run(comparison: Comparison) -> tuple[Finding, ...]:
    return (finding("comparison.same_run", "warning"),) if comparison.is_of_one_run else ()


def replayed_notes(old: Iterable[Report], new: Report) -> Iterator[Finding]:
    """That a side of a comparison looks at recorded answers."""
    for report in (*old, new):
        taped = report.metadata.taped
        if taped is not None and taped.mode in ("replay", "auto"):
            about = {"run": report.metadata.run_name, "mode": taped.mode, "recording": taped.recording}
            yield finding("comparison.replayed", "warning", **about)


def with_gate(suite: Suite, overrides: GateOverrides, root: Path, store: Store) -> Suite:
    """Paths of the suite's file start at `root`; those of flags where the command was called.

    A suite without a gate gets one only where flags ask for a check. `latest` is the newest run now, not when the run
    that is about to start has ended.
    """
    gate = suite.gate or Gate()
    if gate.regression is not None:
        gate = _with_rule(gate, baseline=_placed(gate.regression.baseline, root))
    gate = _overridden(gate, overrides, suite.presets)
    if gate.regression is not None and (run_id := counted_back(gate.regression.baseline, store)):
        gate = _with_rule(gate, baseline=run_id)
    asked = gate if gate.compares else gate.model_copy(update={"regression": None, "strict_flips": "auto"})
    if suite.gate is None and asked == Gate(inconclusive=gate.inconclusive):
        return suite
    return suite.model_copy(update={"gate": gate})


def check_gate(suite: Suite, store: Store, thresholds_from: str = "") -> None:
    """Raises UsageError where the gate could not be judged, whatever the run brings: nothing is run in vain."""
    if suite.gate is None:
        return
    from evalharness.engine.gating.gate_checks import check_trials  # slow to load: few runs have a gate

    check_trials(suite.gate, suite, thresholds_from)
    if suite.gate.compares:
        find_baseline(suite.gate, store, suite.name, suite)


def _overridden(gate: Gate, overrides: GateOverrides, presets: Presets) -> Gate:
    if overrides.preset is not None:
        gate = gate.with_preset(overrides.preset, presets)
    asked = dict(overrides.thresholds or {})
    if overrides.fail_under is not None:
        asked["pass_rate"] = overrides.fail_under
    if asked:
        default = {**gate.thresholds.default, **asked}
        gate = gate.model_copy(update={"thresholds": gate.thresholds.model_copy(update={"default": default})})
    if overrides.strict_flips or overrides.tolerance is not None:
        gate = _comparing(gate)
    if overrides.strict_flips is not None:
        gate = gate.model_copy(update={"strict_flips": overrides.strict_flips})
    if overrides.tolerance is not None:
        gate = _with_rule(gate, tolerance=overrides.tolerance)
    if overrides.baseline == NO_BASELINE and gate.compares:
        gate = _with_rule(gate, baseline=NO_BASELINE)
    elif overrides.baseline not in (None, NO_BASELINE):
        gate = _with_rule(gate, baseline=_placed(overrides.baseline, Path.cwd()))
    if overrides.inconclusive is not None:
        gate = gate.model_copy(update={"inconclusive": overrides.inconclusive})
    return gate


def _comparing(gate: Gate) -> Gate:
    """Whoever asks for a comparison takes back that there should be none."""
    return _with_rule(gate, baseline="") if gate.regression is not None and not gate.compares else gate


def _with_rule(gate: Gate, **changes: str | float) -> Gate:
    rule = gate.regression or RegressionRule()
    return gate.model_copy(update={"regression": rule.model_copy(update=changes)})


def _placed(baseline: str, folder: Path) -> str:
    """A file is named from wherever the run is resumed; everything else is no path."""
    path = folder / baseline
    return str(path.resolve()) if baseline and path.suffix and path.is_file() else baseline
