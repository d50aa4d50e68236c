"""One HTTP request: as the target's options describe it, or as a case of input type `api_call` asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

from pydantic import Field, ValidationError, field_validator

from evalharness.contracts import Task
from evalharness.domain.case import as_text, is_typed_input
from evalharness.domain.record import Json, Record
from evalharness.errors import TargetFailed
from evalharness.targets.templates import fill_template, fill_value, told_beside_input

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
AnswerPart = Literal["body", "response"]


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


class ApiCall(Record):
    """`input: {type: api_call, content: …}`: the request itself is the question."""

    method: Method = "GET"
    path: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    query: dict[str, Json] = Field(default_factory=dict)
    body: Json = None
    answer: AnswerPart = "body"

    @field_validator("method", mode="before")
    @classmethod
    def _upper(cls, written: Any) -> Any:
        return written.upper() if isinstance(written, str) else written

    def request(self, base_url: str, headers: dict[str, str]) -> HttpRequest:
        """The path follows the base URL's own; the case's headers go before the target's."""
        url = f"{base_url.rstrip('/')}/{self.path.lstrip('/')}" if self.path else base_url
        if self.query:
            items = {name: value if isinstance(value, list) else as_text(value) for name, value in self.query.items()}
            url += f"{'&' if '?' in url else '?'}{urlencode(items, doseq=True)}"
        return HttpRequest(self.method, url, {**headers, **self.headers}, _sent(self.body), self.answer)


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
