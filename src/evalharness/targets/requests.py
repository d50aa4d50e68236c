"""One HTTP request: as the target's options describe it, or as a case of input type `api_call` asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from evalharness.contracts.target import Task
from evalharness.domain.api_call import AnswerPart, ApiCall
from evalharness.domain.case import as_text, is_typed_input
from evalharness.domain.record import Json
from evalharness.errors import TargetFailed
from evalharness.targets.templates import fill_template, fill_value, told_beside_input


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    url: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    """As the client takes it: `json` or `data`, or neither."""
    answer: AnswerPart = "body"

    @property
    def wants_response(self) -> bool:
        """Whether status and headers belong to the answer: then an error status is an answer like any other."""
        return self.answer == "response"


def called(call: ApiCall, base_url: str, headers: dict[str, str]) -> HttpRequest:
    """The path follows the base URL's own; the case's headers go before the target's."""
    url = f"{base_url.rstrip('/')}/{call.path.lstrip('/')}" if call.path else base_url
    if call.query:
        items = {name: value if isinstance(value, list) else as_text(value) for name, value in call.query.items()}
        url += f"{'&' if '?' in url else '?'}{urlencode(items, doseq=True)}"
    return HttpRequest(call.method, url, {**headers, **call.headers}, _sent(call.body), call.answer)


def api_call_of(task: Task) -> ApiCall | None:
    """The request that a case asks for; None for a case that asks something else."""
    written = task.case.input
    if not isinstance(written, dict) or not is_typed_input(written) or written["type"] != "api_call":
        return None
    try:
        return ApiCall.model_validate(written["content"])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in ("content", *first["loc"]))
        raise TargetFailed(f"the input of case {task.case.id} is no request: {place}: {first['msg']}") from None


def templated_request(method: str, url: str, headers: dict[str, str], body: Json, task: Task) -> HttpRequest:
    """Without `body`, the question is sent as {"input": …}, with whatever else the case or its variant says."""
    filled = fill_template(url, task, quote=lambda text: quote(text, safe=""))
    named = {name: fill_template(value, task) for name, value in headers.items()}
    if body is not None:
        return HttpRequest(method, filled, named, _sent(fill_value(body, task)))
    if method == "GET":
        return HttpRequest(method, filled, named)
    return HttpRequest(method, filled, named, {"json": {"input": task.case.content, **told_beside_input(task)}})


def _sent(body: Json) -> dict[str, Any]:
    if body is None:
        return {}
    return {"data": body} if isinstance(body, str) else {"json": body}
