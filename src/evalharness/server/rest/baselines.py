"""Baselines: naming a run, listing and removing; what got worse since."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from evalharness.actions.check_regressions import NoRunSince, RegressionRequest, check_regressions
from evalharness.actions.set_baseline import list_baselines, remove_baseline, set_baseline
from evalharness.actions.show_overview import show_progress
from evalharness.domain import comparison, report, stored, trend
from evalharness.errors import UnknownName
from evalharness.server.comparisons import comparison_of
from evalharness.server.context import Server
from evalharness.server.failures import Refusal
from evalharness.server.kept_results import revision_of
from evalharness.server.pages.site import Site
from evalharness.server.rest.answering import (
    BUSY,
    ERRORS,
    PREFIX,
    Cursor,
    Limit,
    RunName,
    answer,
    answer_lines,
    created,
    next_page,
    offset_of,
)
from evalharness.server.rest.records import Baseline, BaselineRequest, Done, FlakyCase, TaskChange
from evalharness.server.trends import RUNS, trend_of

router = APIRouter(prefix=PREFIX, tags=["baselines and comparisons"])
_BASELINES, _FLAKY = TypeAdapter(list[Baseline]), TypeAdapter(list[FlakyCase])
_COMPARISON, _TREND = TypeAdapter(comparison.Comparison), TypeAdapter(trend.Trend)
CASES = 100
"""Of each target, on a page of its trend."""
SuiteName = Annotated[str, Path(max_length=500, description="The name of a suite.")]
Reference = Annotated[str, Query(min_length=1, max_length=500, description="A run or a baseline.")]


@router.get("/baselines", response_model=list[Baseline], responses=dict(ERRORS))
def get_baselines(
    request: Request,
    server: Server,
    suite: Annotated[str | None, Query(max_length=500, description="Only those of this suite.")] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """The last one set first."""
    offset = offset_of(cursor)
    found = [each for each in server.harness.call(list_baselines) if suite in (None, each.suite_name)]
    page = list(map(_baseline, found[offset : offset + limit]))
    return answer(request, _BASELINES, page, following=next_page(offset, limit, len(found)))


@router.post("/runs/{run}/baseline", status_code=201, response_model=Baseline, responses=dict(BUSY))
def post_baseline(server: Server, run: RunName, wishes: BaselineRequest | None = None) -> JSONResponse:
    """Make a finished run a baseline of its suite; it replaces an earlier one with this name."""
    run_id = server.harness.call(show_progress, run).run.line.id
    found = server.harness.call(set_baseline, run_id, (wishes or BaselineRequest()).name).baseline
    return created(_baseline(found), 201)


@router.delete("/baselines/{baseline:path}", response_model=Done, responses=dict(ERRORS))
def delete_baseline(
    server: Server, baseline: Annotated[str, Path(max_length=700, description="`SUITE/NAME`, or NAME alone.")]
) -> Done:
    """The run is kept. It is no error if there is no such baseline."""
    for known in server.harness.call(list_baselines):
        if baseline in (f"{known.suite_name}/{known.name}", known.run_id):
            server.harness.call(remove_baseline, known.name, known.suite_name)
            return Done()
    try:
        server.harness.call(remove_baseline, baseline)
    except UnknownName:
        pass
    return Done()


def _baseline(found: stored.Baseline) -> Baseline:
    return Baseline(
        id=f"{found.suite_name}/{found.name}",
        name=found.name,
        suite_name=found.suite_name,
        run_id=found.run_id,
        run_name=found.run_name,
        run_ids=list(found.run_ids),
        timestamp=found.set_at,
    )


@router.get("/regressions/{suite:path}", response_model=list[TaskChange], responses=dict(ERRORS))
def get_regressions(
    request: Request,
    server: Server,
    suite: SuiteName,
    threshold: Annotated[float, Query(ge=0, le=1, description="How much a score may fall.")] = comparison.THRESHOLD,
    show_all: Annotated[bool, Query(alias="all", description="Tasks that did not degrade as well.")] = False,
    baseline: Annotated[str | None, Query(min_length=1, max_length=500)] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """Tasks whose score fell by more than the threshold from the baseline to the newest run."""
    offset = offset_of(cursor)
    _require_baseline(server, suite, baseline)
    asked = RegressionRequest(suite, baseline, threshold=threshold)

    def read() -> list[bytes]:
        found = server.harness.call(check_regressions, asked).tasks
        changes = (
            TaskChange.model_validate(task.model_dump(by_alias=True)) for task in found if show_all or task.degraded
        )
        return [change.model_dump_json(by_alias=True).encode() for change in changes]

    revision = revision_of(server.harness, [suite])
    try:
        lines = server.kept.get(("regressions", suite, baseline, threshold, show_all), revision, read)
    except NoRunSince as error:
        raise Refusal(404, error.message, hint="POST /api/eval/suites/{name}/run starts one") from None
    return answer_lines(request, lines, offset, limit)


def _require_baseline(server: Server, suite: str, name: str | None) -> None:
    """A name that is also that of a file, which the actions would read, is none."""
    known = [each for each in server.harness.call(list_baselines) if each.suite_name == suite]
    if not known:
        raise Refusal(404, f"the suite {suite} has no baseline", hint="POST /api/eval/runs/{id}/baseline sets one")
    if name is not None and name not in [each.name for each in known]:
        raise UnknownName(f"baseline of suite {suite}", name, [each.name for each in known])


@router.get("/compare", response_model=comparison.Comparison, responses=dict(ERRORS))
def get_comparison(
    request: Request, server: Server, site: Site, a: Reference, b: Reference, limit: Limit = 100, cursor: Cursor = ""
) -> Response:
    """Two runs case by case: what changed from `a` to `b`. `cases` has a page of those that changed."""
    offset = offset_of(cursor)
    found = comparison_of(server, site.presentation, a, b)
    page = found.with_cases(list(found.changes)[offset : offset + limit])
    return answer(request, _COMPARISON, page, following=next_page(offset, limit, len(found.changes)))


@router.get("/suites/{suite:path}/trend", response_model=trend.Trend, responses=dict(ERRORS))
def get_trend(
    request: Request,
    server: Server,
    site: Site,
    suite: SuiteName,
    limit: Annotated[int, Query(ge=1, le=100, description="How many runs of each target.")] = RUNS,
    cursor: Cursor = "",
) -> Response:
    """The suite's runs side by side, target by target. `cases` of each target has a page of at most 100."""
    offset = offset_of(cursor)
    found = trend_of(server, site.presentation, suite, limit)
    longest = max(map(len, found.cases), default=0)
    return answer(request, _TREND, found.with_cases(offset, CASES), following=next_page(offset, CASES, longest))


@router.get("/suites/{suite:path}/flaky", response_model=list[FlakyCase], responses=dict(ERRORS))
def get_flaky(
    request: Request, server: Server, site: Site, suite: SuiteName, limit: Limit = 100, cursor: Cursor = ""
) -> Response:
    """Cases whose trials disagree, by the newest run and comparable ones before it, target by target."""
    offset = offset_of(cursor)
    found = trend_of(server, site.presentation, suite)
    page = [_flaky(case) for case in found.flaky_cases(offset, limit)]
    return answer(request, _FLAKY, page, following=next_page(offset, limit, len(found.flaky)))


def _flaky(case: report.FlakyCase) -> FlakyCase:
    return FlakyCase(
        task_id=case.case_id,
        flip_rate=case.flip_rate,
        passed=case.passed,
        trials=case.trials,
        runs=case.runs,
        is_new=case.new,
    )
