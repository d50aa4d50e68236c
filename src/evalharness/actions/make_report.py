"""Make a report: everything a reader is told about a run, recomputed from its trial rows every time."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.domain.report import Report, RunMetadata
from evalharness.domain.run import Run
from evalharness.engine.judging import judge
from evalharness.engine.measuring import count_trials, failures, measure, slowest_trials, summarise
from evalharness.stores.sql_store import SqlStore


def make_report(store: SqlStore, run: Run, *, stopped: str, elapsed_s: float) -> Report:
    measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
    summary = summarise(run.suite, measured)
    verdict, exit_code, why = judge(summary, run.suite.max_error_rate, stopped)
    measurements = measure(run.suite, run.lock.trials, measured)
    return Report(
        metadata=RunMetadata(
            suite_name=run.suite.name,
            run_id=run.id,
            run_name=run.name,
            variant=run.variant,
            timestamp=run.created_at,
            duration_seconds=round(elapsed_s, 3),
            environment=run.environment(),
        ),
        verdict=verdict,
        exit_code=exit_code,
        why=why,
        summary=summary,
        metrics={name: found.value for name, found in measurements.items() if name != "pass_rate"},
        measurements=measurements,
        failures=tuple(failures(run.suite, measured)),
        slowest=slowest_trials(measured),
        cost_usd=measured.cost_usd,
        input_tokens=measured.input_tokens,
        output_tokens=measured.output_tokens,
    )


def with_report(store: SqlStore, run: Run) -> Run:
    """A stored run as it stands now; nothing is written."""
    stopped, elapsed_s = store.progress(run.id)
    return run.model_copy(update={"report": make_report(store, run, stopped=stopped, elapsed_s=elapsed_s)})


def cases_not_passed(store: SqlStore, runs: Iterable[Run]) -> set[str]:
    """By each case's latest result: `runs` come newest first; runs of one command (a matrix) count together."""
    passed: dict[str, tuple[str, bool]] = {}
    for run in runs:
        measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
        for case_id, tally in measured.tallies.items():
            matrix_id, so_far = passed.get(case_id, (run.matrix_id, True))
            if matrix_id == run.matrix_id:
                has_passed = tally.state(run.suite.case_threshold) == "passed"
                passed[case_id] = (matrix_id, so_far and has_passed)
    return {case_id for case_id, (_, has_passed) in passed.items() if not has_passed}
