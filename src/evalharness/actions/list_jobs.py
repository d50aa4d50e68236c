"""The jobs of servers, in the order in which they were asked for; or the one of a run."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.job import Job, JobState
from evalharness.domain.stored import RunEnd
from evalharness.steps.find_jobs import find_job_of


async def list_jobs(context: Context, *states: JobState) -> list[Job]:
    """Those in one of these states, or all."""
    return context.store.jobs.listed(states) if states else context.store.jobs.listed()


async def ends_of_job(context: Context, job: Job) -> list[RunEnd]:
    """How far its runs have got; empty until its process has stored them."""
    return context.store.ends(job.run_id)


async def find_job(context: Context, reference: str) -> Job | None:
    """The job that runs a run, which may not be there yet; None for a run that was started elsewhere."""
    return context.store.jobs.find(reference) or find_job_of(context.store, reference)[0]
