from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.documents.http_messages import METHODS, ApiCall, is_response


@pytest.mark.parametrize("key", ["path", "endpoint", "url"])
def test_a_place_has_three_spellings(key: str) -> None:
    assert ApiCall.model_validate({key: "/a"}).path == "/a"


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_kept_in_capitals(method: str) -> None:
    assert ApiCall.model_validate({"method": method.lower()}).method == method


def test_headers_may_be_written_as_numbers() -> None:
    assert ApiCall.model_validate({"headers": {"a": 1, "b": True}}).headers == {"a": "1", "b": "true"}


@pytest.mark.parametrize("written", [{"method": "FETCH"}, {"method": 5}, {"answer": "all"}, {"pth": "/"}])
def test_what_is_not_a_request_is_refused(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ApiCall.model_validate(written)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"status": 200, "body": None}, True),
        ({"status": "{{any_number}}", "body": 1}, True),
        ({"status": 200}, False),
        ({"status": "open", "body": "It is broken"}, False),
        ({"status": True, "body": 1}, False),
        ({"body": 1}, False),
        ([200, "body"], False),
        ("text", False),
    ],
)
def test_what_looks_like_a_response(value: Any, expected: bool) -> None:
    assert is_response(value) is expected
