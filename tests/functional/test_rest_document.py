"""The OpenAPI document and the server agree: whatever a client sends, the answer is one that the document describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.schemas import OpenApiSchema
from served import Served

EXAMPLES = 12
"""For each route and phase: more find hardly more, and take longer than the rest of the tests."""


@pytest.fixture(scope="module")
def document(served: Served) -> Iterator[OpenApiSchema]:
    yield schemathesis.openapi.from_url(
        f"{served.url}/api/openapi.json", headers={"authorization": f"Bearer {served.token}"}
    )


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_described(case: Any, served: Served) -> None:
    """No answer is a server error, and status, headers and body are those of the document."""
    case.call_and_validate(headers={"authorization": f"Bearer {served.token}"}, timeout=60)
