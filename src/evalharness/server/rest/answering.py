"""What routes of the API share: their errors in the OpenAPI document, pages with links to the next one, ETags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, TypeAdapter

from evalharness.domain.case_line import MOST_LINES, CaseFilter, CaseOrder, CaseQuery
from evalharness.server.failures import Refusal
from evalharness.server.rest.records import Failure

PREFIX = "/api/eval"
_USUAL = (400, 401, 403, 404, 405, 408, 413, 415, 421, 500, 503, 504)
ERRORS: Mapping[int | str, dict[str, Any]] = {status: {"model": Failure} for status in _USUAL}
BUSY: Mapping[int | str, dict[str, Any]] = {**ERRORS, 409: {"model": Failure}}
Limit = Annotated[int, Query(ge=1, le=MOST_LINES, description="How many at most.")]
Cursor = Annotated[str, Query(max_length=1000, description="Where to go on: from the link of the page before.")]
Word = Annotated[str, Query(max_length=500)]
RunName = Annotated[str, Path(max_length=300, description="The id or the name of a run.")]
_MOST_PLACES = 10_000_000


def answer(
    request: Request, adapter: TypeAdapter[Any], value: Any, *, following: Mapping[str, Any] | None = None
) -> Response:
    """As JSON with an ETag, 304 if the client has it already; `following` are the parameters of the next page."""
    return answer_written(request, adapter.dump_json(value, by_alias=True), following)


def answer_lines(request: Request, lines: Sequence[bytes], offset: int, limit: int) -> Response:
    """A page of a list whose entries are JSON already."""
    body = b"[" + b",".join(lines[offset : offset + limit]) + b"]"
    return answer_written(request, body, next_page(offset, limit, len(lines)))


def next_page(offset: int, limit: int, total: int) -> dict[str, int] | None:
    """The parameters of the page after this one, if there is one."""
    return {"cursor": offset + limit} if offset + limit < total else None


def answer_written(request: Request, body: bytes, following: Mapping[str, Any] | None) -> Response:
    headers = {"etag": f'"{blake2b(body, digest_size=12).hexdigest()}"', "cache-control": "no-cache"}
    if following is not None:
        given = {key: value for key, value in request.query_params.items() if key != "cursor"}
        address = f"{request.scope.get('root_path', '')}{_path(request)}?{urlencode({**given, **following})}"
        headers["link"] = f'<{address}>; rel="next"'
    known = request.headers.get("if-none-match", "")
    if headers["etag"] in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def _path(request: Request) -> str:
    return str(request.url.path).removeprefix(request.scope.get("root_path", ""))


def case_query(
    state: Annotated[CaseFilter, Query(description="Cases in this state; not_passed and flaky as well.")] = "",
    category: Word = "",
    tag: Word = "",
    q: Annotated[str, Query(max_length=500, description="Looked for in ids and names.")] = "",
    sort: CaseOrder = "position",
    descending: bool = False,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> CaseQuery:
    return CaseQuery(state, category, tag, q, sort, descending, offset_of(cursor), limit)


def next_cases(query: CaseQuery, total: int) -> dict[str, int] | None:
    return next_page(query.offset, query.limit, total)


def offset_of(cursor: str) -> int:
    """Raises Refusal for a cursor that no page gave."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or int(cursor[:12]) > _MOST_PLACES:
        raise Refusal(400, f"cursor: {cursor[:40]!r} is not one that a page linked to")
    return int(cursor)


def created(body: BaseModel, status: int, location: str = "") -> JSONResponse:
    headers = {"location": location} if location else {}
    return JSONResponse(body.model_dump(mode="json", by_alias=True), status, headers)


Cases = Annotated[CaseQuery, Depends(case_query)]
"""The parameters of a list of cases."""
