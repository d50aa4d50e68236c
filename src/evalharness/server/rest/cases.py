"""The cases and trials of a run, page by page, and one of them with everything."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import TypeAdapter

from evalharness.actions.list_cases import list_cases
from evalharness.actions.list_trials import list_trials, show_case, show_trial
from evalharness.errors import UnknownName
from evalharness.server.context import Server
from evalharness.server.failures import Refusal
from evalharness.server.rest.answering import ERRORS, PREFIX, Cases, Cursor, Limit, RunName, answer, next_cases
from evalharness.server.rest.records import Case, Trial, WholeCase, WholeTrial
from evalharness.server.rest.summaries import case_of, trial_of

router = APIRouter(prefix=PREFIX, tags=["cases and trials"])
_CASES, _CASE = TypeAdapter(list[Case]), TypeAdapter(WholeCase)
_TRIALS, _TRIAL = TypeAdapter(list[Trial]), TypeAdapter(WholeTrial)
CaseId = Annotated[str, Query(max_length=500, description="The id of a case.")]
_MOST_TRIALS = 10_000_000


@router.get("/runs/{run}/cases", response_model=list[Case], responses=dict(ERRORS))
def get_cases(
    request: Request,
    server: Server,
    run: RunName,
    query: Cases,
) -> Response:
    """In the order of the suite, or as `sort` says; `q` is looked for in ids and names."""
    found = server.harness.call(list_cases, run, query)
    return answer(request, _CASES, list(map(case_of, found.lines)), following=next_cases(query, found.total))


@router.get("/runs/{run}/case", response_model=WholeCase, responses=dict(ERRORS))
def get_case(request: Request, server: Server, run: RunName, case: CaseId) -> Response:
    """One case, with its definition. Its id is a parameter because it may contain slashes."""
    part, asked = server.harness.call(show_case, run, case)
    line = server.harness.context.store.case_line(part.id, case)
    if line is None:
        raise UnknownName("case", case, [])
    definition = asked.model_dump(mode="json", exclude_defaults=True)
    return answer(request, _CASE, WholeCase(case=case_of(line), definition=definition))


@router.get("/runs/{run}/trials", response_model=list[Trial], responses=dict(ERRORS))
def get_trials(
    request: Request,
    server: Server,
    run: RunName,
    case: Annotated[str | None, Query(max_length=500, description="Only those of this case.")] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """In the order of case and index."""
    found = server.harness.call(list_trials, run, limit, _place(cursor), case)
    last = found[-1] if len(found) == limit else None
    following = {"cursor": f"{last.trial_index}:{last.case_id}"} if last else None
    return answer(request, _TRIALS, list(map(trial_of, found)), following=following)


@router.get("/runs/{run}/trials/{index}", response_model=WholeTrial, responses=dict(ERRORS))
def get_trial(
    request: Request,
    server: Server,
    run: RunName,
    index: Annotated[int, Path(ge=0, le=_MOST_TRIALS, description="The number of the trial, from 0.")],
    case: CaseId,
) -> Response:
    """One trial with everything: attempts, transcripts, grades with their evidence."""
    found = server.harness.call(show_trial, run, case, index)
    [outcome] = server.harness.call(list_trials, found.run.id, 1, ("", index - 1), case)
    attempts = [attempt.model_dump(mode="json") for attempt in found.trial.attempts]
    return answer(request, _TRIAL, WholeTrial(trial=trial_of(outcome), seed=found.trial.seed, attempts=attempts))


def _place(cursor: str) -> tuple[str, int]:
    if not cursor:
        return "", -1
    index, colon, case_id = cursor.partition(":")
    if not (colon and index.isascii() and index.isdigit() and int(index[:12]) < _MOST_TRIALS):
        raise Refusal(400, f"cursor: {cursor[:40]!r} is not one that a page linked to")
    return case_id, int(index)
