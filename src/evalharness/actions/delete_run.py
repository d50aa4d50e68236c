"""Delete a run with its trials and its job; also a job whose run was never stored."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.errors import RunBusy
from evalharness.steps.find_jobs import find_job_of


async def delete_run(context: Context, reference: str) -> str:
    """Returns its id. Raises RunBusy while it is queued or running, and UsageError for a run of a baseline."""
    job, run = find_job_of(context.store, reference)
    if job is not None and job.is_active:
        raise RunBusy(f"run {run.name if run else job.run_id} is {job.state}", hint="cancel it first")
    if run is not None:
        context.store.remove_run(run)
        return run.id
    assert job is not None, "one of them was found"
    context.store.jobs.remove(job.run_id)
    return job.run_id
