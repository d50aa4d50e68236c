"""Suites: what can be run, and posting another one."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from evalharness.actions.list_suites import list_suites
from evalharness.actions.post_suite import NameTaken, post_suite
from evalharness.domain.suite import ListedSuite
from evalharness.server.context import Server
from evalharness.server.failures import Refusal
from evalharness.server.rest.answering import BUSY, ERRORS, PREFIX, Cursor, Limit, answer, created, offset_of
from evalharness.server.rest.records import Harness, Registered, Suite, SuiteDocument

router = APIRouter(prefix=PREFIX, tags=["suites"])
_SUITES = TypeAdapter(list[Suite])
_HARNESSES = TypeAdapter(list[Harness])
_READY_MADE = "ready-made"
_NEWEST = 5


@router.get("/suites", response_model=list[Suite], responses=dict(ERRORS))
def get_suites(request: Request, server: Server, q: str = "", limit: Limit = 100, cursor: Cursor = "") -> Response:
    """Those in the server's folder, those that are registered, and the ready-made ones; `q` is part of a name."""
    offset = offset_of(cursor)
    listed = server.harness.call(list_suites, server.options.suites).suites
    found = [suite for suite in listed if suite.cases is not None and q.casefold() in suite.suite.casefold()]
    page = [_suite(suite) for suite in found[offset : offset + limit]]
    following = {"cursor": offset + limit} if offset + limit < len(found) else None
    return answer(request, _SUITES, page, following=following)


@router.post("/suites", status_code=201, response_model=Registered, responses=dict(BUSY))
def post_suites(server: Server, suite: SuiteDocument) -> JSONResponse:
    """Register a suite, in any of the formats of suite files. It replaces one that was posted under its name.

    It may use the targets that the server registered, and nothing else of the server's machine.
    """
    options = server.options
    try:
        name = server.harness.call(post_suite, suite, options.targets, options.suites)
    except NameTaken as error:
        raise Refusal(409, error.message, hint=str(error.hint)) from None
    return created(Registered(id=name), 201)


@router.get("/harnesses", response_model=list[Harness], responses=dict(ERRORS))
def get_harnesses(request: Request, server: Server) -> Response:
    """The ready-made suites, with the ids of the newest runs of each."""
    store_runs = server.harness.runs(limit=100)
    found = [suite for suite in server.harness.call(list_suites, server.options.suites).suites if _is_ready(suite)]
    listed = [
        Harness(
            id=suite.suite,
            name=suite.suite,
            description=suite.description,
            cases=suite.cases or 0,
            recent_runs=[run.id for run in store_runs if run.suite_name == suite.suite][:_NEWEST],
        )
        for suite in found
    ]
    return answer(request, _HARNESSES, listed)


def _is_ready(suite: ListedSuite) -> bool:
    return suite.where == _READY_MADE


def _suite(suite: ListedSuite) -> Suite:
    return Suite(
        id=suite.suite,
        name=suite.suite,
        where=suite.where,
        description=suite.description,
        cases=suite.cases or 0,
        trials=suite.trials or 1,
        target=suite.target,
        categories=suite.category.split(", ") if suite.category else [],
        variants=suite.variants or 1,
    )
