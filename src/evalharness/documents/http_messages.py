"""HTTP as people write it: a request as the question of a case, a response among answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeGuard

from pydantic import AliasChoices, BeforeValidator, Field, field_validator

from evalharness.domain.case import as_text
from evalharness.domain.problem import quoted
from evalharness.domain.record import Record
from evalharness.values.json_value import Json
from evalharness.values.variables import has_matcher

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
PLACES = ("path", "endpoint", "url")
"""The spellings of `path`."""

AnswerPart = Literal["body", "response"]


def _text(value: Any) -> Any:
    return as_text(value) if isinstance(value, bool | int | float) else value


class ApiCall(Record):
    """`answer` says what the graders see: the response's body, or {status, headers, body}."""

    method: str = "GET"
    path: str = Field(default="", validation_alias=AliasChoices(*PLACES))
    headers: dict[str, Annotated[str, BeforeValidator(_text)]] = Field(default_factory=dict)
    query: dict[str, Json] = Field(default_factory=dict)
    body: Json = None
    answer: AnswerPart = "body"

    @field_validator("method")
    @classmethod
    def _is_known(cls, written: str) -> str:
        if "{{" in written:  # a variable, which is filled in later
            return written
        if written.upper() not in METHODS:
            raise ValueError(f"{quoted(written)} is not an HTTP method; write {', '.join(METHODS)}")
        return written.upper()


# What an HTTP response looks like among answers: `{status, headers, body}`.


def is_response(value: Json) -> TypeGuard[dict[str, Json]]:
    """A status that is a number tells it from other things with a status and a body, such as a ticket."""
    return isinstance(value, dict) and "body" in value and has_http_status(value)


def has_http_status(value: dict[str, Json]) -> bool:
    status = value.get("status")
    return has_matcher(status) or (isinstance(status, int) and not isinstance(status, bool))
