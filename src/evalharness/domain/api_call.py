"""An HTTP request as people write it: `input: {type: api_call, content: …}`, where the request is the question."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, field_validator

from evalharness.domain.case import as_text
from evalharness.domain.problem import quoted
from evalharness.domain.record import Json, Record

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
            raise ValueError(f"{quoted(written)} is no HTTP method; write {', '.join(METHODS)}")
        return written.upper()
