"""Every error as an answer: `{"error", "code", "hint", "problems"}` on the API, a page elsewhere.

`code` is a word for programs, the status says the same to HTTP. Nothing of a stack trace is ever sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from evalharness.domain.invalid_values import each_place_once, message_of
from evalharness.errors import HarnessError, NothingFailed, RunBusy, UnknownName, UsageError
from evalharness.reports.words.say import problem_fields, say
from evalharness.server.callers import is_for_reviewers, is_reviewer
from evalharness.server.message import message_page, message_policy

API = "/api/"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CODES = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "unknown_host",
    500: "internal_error",
    503: "unavailable",
    504: "timeout",
}


NO_JSON = "the body is not JSON that can be read"


class Refusal(HTTPException):
    """Raised by handlers where no exception of the harness says it: the status, what is wrong, and what to do."""

    def __init__(
        self,
        status: int,
        error: str,
        *,
        hint: str = "",
        code: str = "",
        problems: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, error, dict(headers or {}))
        self.code = code or CODES.get(status, "error")
        self.hint = hint
        self.problems = problems


def is_api(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).startswith(API)


def policy_for(scope: Scope) -> str:
    return API_POLICY if is_api(scope) else PAGE_POLICY


def answer_with(scope: Scope, refusal: Refusal) -> Response:
    """The answer to a request that is refused, for programs or for people."""
    policy = API_POLICY if is_api(scope) else message_policy()
    headers = {**HEADERS, "content-security-policy": policy, **(refusal.headers or {})}
    if is_api(scope):
        body = {
            "error": refusal.detail,
            "code": refusal.code,
            "hint": refusal.hint or None,
            "problems": list(refusal.problems),
        }
        return JSONResponse(body, refusal.status_code, headers)
    root = scope.get("root_path", "")
    if is_reviewer(scope) or is_for_reviewers(str(scope["path"]).removeprefix(root)):
        root = None
    page = message_page(refusal.status_code, refusal.detail, refusal.hint, root)
    return Response(page, refusal.status_code, headers, media_type="text/html; charset=utf-8")


SAID_TO_REVIEWERS = (UsageError, UnknownName)
"""What the queue says. Any other error may name a run, a case or a file, of which reviewers are not to know."""


def status_of(error: HarnessError) -> int:
    if isinstance(error, UnknownName):
        return 404
    if isinstance(error, RunBusy | NothingFailed):
        return 409
    return 400 if isinstance(error, UsageError) else 500


def answer_failures(app: FastAPI) -> None:
    """Put words in place of exceptions."""

    @app.exception_handler(HarnessError)
    def on_harness_error(request: Request, error: HarnessError) -> Response:
        if is_reviewer(request.scope) and type(error) not in SAID_TO_REVIEWERS:
            return answer_with(request.scope, Refusal(500, "something went wrong", hint="ask whoever invited you"))
        redact = request.app.state.context.harness.redact
        problems = [problem_fields(problem) for problem in getattr(error, "problems", ())]
        hint = redact(say(error.hint))
        return answer_with(
            request.scope, Refusal(status_of(error), redact(error.message), hint=hint, problems=problems)
        )

    @app.exception_handler(RequestValidationError)
    def on_invalid(request: Request, error: RequestValidationError) -> Response:
        problems = [
            {"field": ".".join(map(str, found["loc"][1:])) or str(found["loc"][0]), "message": message_of(found)}
            for found in each_place_once(error.errors())
        ]
        if any(found["type"] == "json_invalid" for found in each_place_once(error.errors())):
            return answer_with(request.scope, Refusal(400, NO_JSON))
        first = problems[0]
        return answer_with(request.scope, Refusal(400, f"{first['field']}: {first['message']}", problems=problems))

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> Response:
        if not isinstance(error, Refusal):
            error = Refusal(error.status_code, _worded(error, request), headers=error.headers)
        return answer_with(request.scope, error)

    @app.exception_handler(Exception)
    def on_bug(request: Request, error: Exception) -> Response:
        text = f"internal error: {type(error).__name__}"
        return answer_with(request.scope, Refusal(500, text, hint="the terminal of the server shows more"))


def _worded(error: HTTPException, request: Request) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {request.scope['path'][:200]}"
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} cannot be used here"
    if (
        error.status_code == HTTPStatus.BAD_REQUEST
    ):  # it could not even be parsed: nested too deeply, or numbers too long
        return NO_JSON
    return str(error.detail)
