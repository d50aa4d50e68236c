"""Apply the stopping rule: a report of a sequential run gets its decision, and figures that hold whenever one stops."""

from __future__ import annotations

from evalharness.contracts.store import Store
from evalharness.domain.report import Report
from evalharness.domain.run import Run


def apply_stopping(run: Run, report: Report, store: Store) -> Report:
    """The report as it is, for a run with a fixed number of trials."""
    plan = run.options.sequential
    if plan is None:
        return report
    from evalharness.engine.stopping import error_bounds_of, follow, measured_sequentially  # here: few runs are such

    result = follow(plan, run.lock.cases, run.lock.trials, store.outcomes(run.id))
    measurements = measured_sequentially(report.measurements, result)
    return report.model_copy(
        update={
            "metadata": report.metadata.model_copy(update={"sequential": True}),
            "sequential": result,
            "measurements": measurements,
            "error_bounds": error_bounds_of(result),
            "metrics": {name: found.value for name, found in measurements.items()},
        }
    )
