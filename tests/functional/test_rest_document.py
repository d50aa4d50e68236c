"""The OpenAPI document and the server agree: whatever a client sends, the answer is one that the document describes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi.checks import positive_data_acceptance
from schemathesis.specs.openapi.schemas import OpenApiSchema
from served import Served

EXAMPLES = 15
"""For each route, right ones and wrong ones: more find hardly more, and take longer than all other tests."""


def document(served: Served, mode: schemathesis.GenerationMode) -> OpenApiSchema:
    written = served.ask("/api/openapi.json").json
    if mode is schemathesis.GenerationMode.NEGATIVE:  # without the token, nothing else that is wrong would be looked at
        del written["security"]
    return schemathesis.openapi.from_dict(written)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_as_described(served: Served, mode: schemathesis.GenerationMode) -> None:
    """No answer is a server error, and status, headers and body are those of the document.

    What the document allows may be refused: a cursor that no page linked to, a suite that does not exist.
    """
    asked = []
    for found in document(served, mode).get_all_operations():
        operation = found.ok()
        asked.append(operation.label)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            headers = {"Authorization": f"Bearer {served.token}"}
            case.call_and_validate(
                base_url=served.url, headers=headers, timeout=60, excluded_checks=[positive_data_acceptance]
            )

        with suppress(Unsatisfiable):  # nothing can be wrong in a request without a parameter
            ask()
    assert len(asked) > 20
