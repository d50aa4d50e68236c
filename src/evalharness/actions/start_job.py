"""Ask for a run in a process of its own: it is queued here, and a server that is running starts it."""

from __future__ import annotations

from random import Random

from evalharness.contracts.context import Context
from evalharness.domain.job import Job, JobRequest
from evalharness.domain.run import generate_run_id
from evalharness.errors import RunBusy, UnknownName, UsageError
from evalharness.reports.words.job_command import rerun_of
from evalharness.steps.find_jobs import find_job_of
from evalharness.steps.find_runs import find_run
from evalharness.steps.find_suites import is_ambiguous

TRIES = 100
NUL = r"\u0000"
"""As JSON writes it."""


async def start_job(context: Context, request: JobRequest, name: str = "") -> Job:
    """The request has the suite as `run` takes it, `name` is its name; the run will have the id of the job."""
    _check_words(context, request)
    rng = Random()
    for _ in range(TRIES):
        run_id = generate_run_id(context.clock(), rng)
        job = Job(run_id=run_id, suite=name or request.suite, request=request, queued_at=context.timestamp())
        if not _is_taken(context, run_id) and context.store.jobs.put(job):
            return job
    raise UsageError("no free run id was found")


async def rerun_job(context: Context, reference: str, *, only_failed: bool = False) -> Job:
    """Run a suite again as a stored run was: on the same target, with the same options."""
    run = find_run(reference, context.store)
    request = rerun_of(run, failed_of=run.id if only_failed else None)
    if not request.suite:
        if context.store.registered_suite(run.suite.name) is None:
            raise UsageError(f"run {run.name} was started from Python, so it can only be run again from there")
        request = request.model_copy(update={"suite": run.suite.name})
    return await start_job(context, request, run.suite.name)


async def resume_job(context: Context, reference: str) -> Job:
    """Continue a run, or start again what died before it had one. Raises RunBusy for what is queued or running."""
    job, run = find_job_of(context.store, reference)
    if job is not None and job.is_active:
        raise RunBusy(f"run {run.name if run else job.run_id} is {job.state} already")
    again = {"state": "queued", "is_resumed": run is not None, "tries": 0, "queued_at": context.timestamp()}
    forgotten = {"process": None, "exit_code": None, "started_at": None, "ended_at": None}
    if job is not None:
        changed = job.model_copy(update=again | forgotten)
        if not context.store.jobs.put(changed, was=job.state):
            raise RunBusy(f"run {job.run_id} has just been changed by somebody else", hint="look at it again")
        return changed
    assert run is not None, "one of them was found"
    with context.store.claim(run):  # refuses a run that another process is running
        pass
    added = Job(run_id=run.matrix_id, suite=run.suite.name, queued_at=context.timestamp(), is_resumed=True)
    if not context.store.jobs.put(added):
        raise RunBusy(f"run {run.name} has just been resumed by somebody else")
    return added


def _is_taken(context: Context, run_id: str) -> bool:
    try:
        context.store.outline(run_id)
    except UnknownName:
        return False
    return True


def _check_words(context: Context, request: JobRequest) -> None:
    """A job is stored, and its process is given what was stored, as the words of its command."""
    if is_ambiguous(context.store, request.suite):
        raise UsageError(
            f"'{request.suite}' is the name of a suite, and also of a file or folder here, which would be run instead",
            hint="rename one of them",
        )
    written = request.model_dump_json()
    if NUL in written:
        raise UsageError("the words of a command must not contain the character NUL")
    if context.store.redactor.redact(written) != written:
        raise UsageError(
            "the request contains the value of a secret variable", hint="the run reads secrets from the environment"
        )
