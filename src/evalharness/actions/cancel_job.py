"""Cancel a job: one that is queued never starts, the process of one that is running is asked to stop."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.job import Job
from evalharness.errors import UsageError
from evalharness.steps.find_jobs import find_job_of


async def cancel_job(context: Context, reference: str) -> Job:
    """What is finished is kept, and the run can be resumed. Raises UsageError where nothing is queued or running."""
    while True:
        job = context.store.jobs.find(reference) or find_job_of(context.store, reference)[0]
        if job is None or not job.is_active:
            raise UsageError(
                f"run {reference} is not being run by this server",
                hint="what was started in a terminal is stopped there, with Ctrl-C",
            )
        if job.state == "cancelling":
            return job
        is_queued = job.state == "queued"
        update = {"state": "cancelled", "ended_at": context.timestamp()} if is_queued else {"state": "cancelling"}
        changed = job.model_copy(update=update)
        if context.store.jobs.put(changed, was=job.state):
            return changed
