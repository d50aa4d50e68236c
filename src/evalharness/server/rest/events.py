"""Server-sent events of a run: each trial as it is written, how far it has got, and its end.

The id of an event is the number of the trial's row in the order of writing. Whoever comes back with the last id sees
trials from that number on: one may come twice, none is missed. Progress has no id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from evalharness.actions.list_trials import follow_trials
from evalharness.actions.show_overview import RunProgress, show_progress
from evalharness.domain.case_line import ChangeKey
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.rest.answering import ERRORS, PREFIX, RunName
from evalharness.server.rest.summaries import summary_of, trial_of

router = APIRouter(prefix=PREFIX, tags=["runs"])
POLL_S = 0.25
SILENCE_S = 15.0
"""After so long without an event a comment is sent, so that proxies keep the connection."""
_PAGE = 200
_LARGEST_ID = 2**53


@router.get(
    "/runs/{run}/events",
    response_class=StreamingResponse,
    responses={**ERRORS, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def get_events(
    request: Request,
    server: Server,
    run: RunName,
    after: Annotated[str, Query(max_length=20, description="As Last-Event-ID, for the first connection.")] = "",
    last_event_id: Annotated[str, Header(max_length=20)] = "",
) -> StreamingResponse:
    """`trial` (its id: where to go on), `progress` and `end`; without an id all trials are sent from the first on."""
    place = _place(last_event_id or after)
    progress = await run_in_threadpool(server.harness.call, show_progress, run)
    stream = _events(request, server, progress, place)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _place(written: str) -> ChangeKey:
    if not written:
        return ChangeKey()
    if not (written.isascii() and written.isdigit()) or int(written) > _LARGEST_ID:
        raise Refusal(400, f"Last-Event-ID: {written!r} is not the id of an event")
    return ChangeKey(int(written))


async def _events(
    request: Request, server: ServerContext, progress: RunProgress, place: ChangeKey
) -> AsyncIterator[str]:
    run_id, sent, silent_s = progress.run.line.id, "", 0.0
    while not server.stopping.is_set() and not await request.is_disconnected():
        # How it is going is looked at first: what was written before its end is then sent before the end.
        progress = await run_in_threadpool(server.harness.call, show_progress, run_id)
        while changes := await run_in_threadpool(server.harness.call, follow_trials, run_id, place, _PAGE):
            for change in changes:
                data = trial_of(change.outcome).model_dump(mode="json", by_alias=True)
                yield _event("trial", data, change.number)
            place, silent_s = changes[-1].key, 0.0
        summary = summary_of(progress).model_dump(mode="json", by_alias=True, exclude={"results", "change"})
        if (now := json.dumps(summary)) != sent:
            sent, silent_s = now, 0.0
            yield _event("progress", summary)
        if not progress.is_under_way and summary["state"] != "unfinished":
            yield _event("end", summary)
            return
        if silent_s >= SILENCE_S:
            silent_s = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(POLL_S)
        silent_s += POLL_S


def _event(name: str, data: dict[str, Any], number: int | None = None) -> str:
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {name}\ndata: {json.dumps(data)}\n\n"
