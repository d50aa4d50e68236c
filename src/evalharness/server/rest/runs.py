"""Runs: starting them, listing them, how each is going, cancelling and resuming."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from evalharness.actions.list_results import list_results
from evalharness.actions.list_suites import list_suites
from evalharness.actions.post_suite import run_target
from evalharness.actions.set_baseline import list_baselines
from evalharness.actions.show_overview import RunProgress, list_progress, show_matrix, show_progress
from evalharness.domain.case_line import CaseQuery
from evalharness.domain.job import Job, JobRequest
from evalharness.errors import UnknownName
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.limits import MOST_WAIT_S
from evalharness.server.rest.answering import (
    BUSY,
    ERRORS,
    PREFIX,
    Cases,
    Cursor,
    Limit,
    RunName,
    answer,
    created,
    next_cases,
)
from evalharness.server.rest.records import RunRequest, RunWishes, StartedRun, Summary
from evalharness.server.rest.summaries import queued_summary, summary_of

router = APIRouter(prefix=PREFIX, tags=["runs"])
LOOK_S = 0.1
_SUMMARIES, _SUMMARY = TypeAdapter(list[Summary]), TypeAdapter(Summary)
Wait = Annotated[
    float, Query(ge=0, le=MOST_WAIT_S, description="Seconds to wait for the end of the run; 0: do not wait.")
]
SuiteName = Annotated[str, Path(max_length=500, description="The name of a suite.")]


@router.post("/run", status_code=202, response_model=StartedRun, responses={**BUSY, 201: {"model": StartedRun}})
async def post_run(server: Server, wishes: RunRequest, wait: Wait = 0) -> JSONResponse:
    """Start a run of `suiteId`: 202 with the summary as far as it is known, 201 with the finished one if it is waited
    for and ends in time. `Location` is where it can be looked at."""
    return await _started(server, wishes.suite_id, wishes, wait)


@router.post(
    "/suites/{name:path}/run",
    status_code=202,
    response_model=StartedRun,
    responses={**BUSY, 201: {"model": StartedRun}},
)
async def post_suite_run(
    server: Server, name: SuiteName, wishes: RunWishes | None = None, wait: Wait = 0
) -> JSONResponse:
    """The same for the suite of this name."""
    return await _started(server, name, wishes or RunWishes(), wait)


async def _started(server: ServerContext, suite: str, wishes: RunWishes, wait_s: float) -> JSONResponse:
    job = await run_in_threadpool(_start, server, suite, wishes)
    return await _answered(server, job, wait_s)


def _start(server: ServerContext, suite: str, wishes: RunWishes) -> Job:
    source = _source_of(server, suite)
    target = server.harness.call(run_target, suite, wishes.agent_id, server.options.targets)
    request = JobRequest(
        suite=source,
        target=target,
        trials=wishes.trials,
        timeout_s=wishes.timeout,
        baseline=wishes.baseline_id or "",
    )
    if wishes.baseline_id and _names_file(server, wishes.baseline_id):
        raise Refusal(400, "baselineId: must be the name of a baseline or a run, not a file")
    return server.jobs.start(request, suite)


def _names_file(server: ServerContext, baseline: str) -> bool:
    """What its command would read if there were no baseline of this name."""
    if "/" in baseline or baseline.lower().endswith(".json"):
        return True
    names = {known.name for known in server.harness.call(list_baselines)}
    return baseline not in names and "\0" not in baseline and pathlib.Path(baseline).is_file()


def _source_of(server: ServerContext, name: str) -> str:
    """The file of a suite in the server's folder, else its name: never a path that a client sent."""
    listed = server.harness.call(list_suites, server.options.suites).suites
    for suite in listed:
        if suite.suite == name and suite.cases is not None:
            return suite.file if suite.where == "file" else suite.suite
    raise UnknownName("suite", name, [suite.suite for suite in listed if suite.cases is not None])


async def _answered(server: ServerContext, job: Job, wait_s: float) -> JSONResponse:
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while True:
        now = await run_in_threadpool(server.jobs.find, job.run_id) or job
        if not now.is_active or loop.time() >= until or server.stopping.is_set():
            break
        await asyncio.sleep(LOOK_S)
    summary, runs = await run_in_threadpool(_as_far_as_known, server, now)
    if summary is None:
        log = await run_in_threadpool(server.jobs.log, job.run_id)
        raise Refusal(400, "the run could not be started", code="not_started", hint=log.strip()[-1000:])
    has_ended = not now.is_active and wait_s > 0
    started = StartedRun(**summary.model_dump(), runs=runs)
    location = f"{server.options.root_path}{PREFIX}/runs/{job.run_id}"
    return created(started, 201 if has_ended else 202, location)


def _as_far_as_known(server: ServerContext, job: Job) -> tuple[Summary | None, list[str]]:
    try:
        runs = server.harness.call(show_matrix, job.run_id)
    except UnknownName:
        return (queued_summary(job) if job.is_active else None), [job.run_id]
    first = runs[0]
    results = [] if job.is_active else server.harness.call(list_results, job.run_id, CaseQuery())[1]
    return summary_of(RunProgress(first.run, job), results), [each.run.line.id for each in runs]


@router.get("/runs", response_model=list[Summary], responses=dict(ERRORS))
def get_runs(
    request: Request,
    server: Server,
    suite: Annotated[str | None, Query(max_length=500, description="Only the runs of this suite.")] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """The newest first, without their results."""
    found = server.harness.call(list_progress, limit, suite, cursor)
    following = {"cursor": found[-1].run.line.id} if len(found) == limit else None
    return answer(request, _SUMMARIES, list(map(summary_of, found)), following=following)


@router.get("/runs/{run}", response_model=Summary, responses=dict(ERRORS))
def get_run(
    request: Request,
    server: Server,
    run: RunName,
    query: Cases,
) -> Response:
    """With a page of its results, one for each case; `Link` leads to the next page of them."""
    try:
        progress = server.harness.call(show_progress, run)
    except UnknownName:
        job = server.jobs.find(run)  # its process may not have stored the run yet
        if job is None:
            raise
        return answer(request, _SUMMARY, queued_summary(job))
    listed, results = server.harness.call(list_results, progress.run.line.id, query)
    following = next_cases(query, listed.total)
    return answer(request, _SUMMARY, summary_of(progress, results), following=following)


@router.get("/matrix/{matrix}", response_model=list[Summary], responses=dict(ERRORS))
def get_matrix(
    request: Request, server: Server, matrix: Annotated[str, Path(max_length=300, description="Its id.")]
) -> Response:
    """The runs that were started together, in order."""
    return answer(request, _SUMMARIES, list(map(summary_of, server.harness.call(show_matrix, matrix))))


@router.post("/runs/{run}/cancel", status_code=202, response_model=Summary, responses=dict(BUSY))
def post_cancel(server: Server, run: RunName) -> JSONResponse:
    """Stop a run that is queued or under way; what is finished is kept, and it can be resumed."""
    return _moved(server, server.jobs.cancel(run))


@router.post("/runs/{run}/resume", status_code=202, response_model=Summary, responses=dict(BUSY))
def post_resume(server: Server, run: RunName) -> JSONResponse:
    """Run what is still pending, and again what ended in error."""
    return _moved(server, server.jobs.resume(run))


def _moved(server: ServerContext, job: Job) -> JSONResponse:
    try:
        summary = summary_of(server.harness.call(show_progress, job.run_id))
    except UnknownName:
        summary = queued_summary(job)
    return created(summary, 202, f"{server.options.root_path}{PREFIX}/runs/{job.run_id}")
