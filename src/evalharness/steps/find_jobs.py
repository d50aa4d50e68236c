"""Find the job of a run, and the run of a job: both are there only once the process has got so far."""

from __future__ import annotations

from evalharness.contracts.store import Store
from evalharness.domain.job import Job
from evalharness.domain.run import Run
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_run


def find_job_of(store: Store, reference: str) -> tuple[Job | None, Run | None]:
    """Whatever names a run, or the id of one that will be there soon. A matrix has one job.

    Raises UnknownName if there is neither.
    """
    try:
        run = find_run(reference, store)
    except UnknownName:
        job = store.jobs.find(reference)
        if job is None:
            raise
        return job, None
    return store.jobs.find(run.matrix_id), run
