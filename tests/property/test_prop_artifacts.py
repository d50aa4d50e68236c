"""Whatever an artifact contains, reading it raises nothing; and the edit distance is the textbook's."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.artifact_view import artifact_answer
from evalharness.documents.assertions import equals, evaluate_assertions
from evalharness.documents.scores import (
    create_cost_scorer,
    create_latency_scorer,
    create_tokens_scorer,
    edit_distance,
    similarity,
)

ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["flow:start", "flow:complete", "agent:complete", "agent:error", "node:start", "node:error"])
FIELDS = ("nodeId", "durationMs", "totalCostUsd", "timestamp", "message", "error", "status", "flowName")
USAGE = st.dictionaries(st.sampled_from(["inputTokens", "outputTokens"]), VALUES)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {"type": TYPES | VALUES}, optional={"usage": USAGE | VALUES, **dict.fromkeys(FIELDS, VALUES)}
    ),
    max_size=4,
)
SNAPSHOTS = st.fixed_dictionaries({}, optional={"outputs": VALUES, "state": VALUES, "runId": VALUES})
ASSERTIONS: list[dict[str, Any]] = [
    {"type": "output.contains", "path": "outputs.a.0", "value": "x"},
    {"type": "output.equals", "path": "outputs.a", "value": {"b": [1]}},
    {"type": "output.contains", "path": "metrics", "value": "x"},
    {"type": "output.equals", "path": "errors.nodeErrors", "value": {}},
    {"type": "metric.latency_ms.max", "value": 1},
    {"type": "metric.total_cost_usd.max", "value": 0},
    {"type": "metric.tokens.input.max", "value": 1},
    {"type": "metric.tokens.output.max", "value": 1},
    {"type": "behavior.no_errors"},
    {"type": "behavior.node_executed", "nodeId": "a"},
    {"type": "behavior.node_invocations.max", "nodeId": "a", "value": 1},
]


@given(SNAPSHOTS, EVENTS)
def test_nothing_in_an_artifact_makes_looking_at_it_raise(
    snapshot: dict[str, Any], events: list[dict[str, Any]]
) -> None:
    artifact = EvalArtifact(snapshot=snapshot, events=tuple(events))
    results = evaluate_assertions(artifact, ASSERTIONS)
    assert [result.assertion.type for result in results] == [assertion["type"] for assertion in ASSERTIONS]
    assert all(result.passed is not bool(result.message) for result in results)
    for create in (create_latency_scorer, create_cost_scorer, create_tokens_scorer):
        assert 0 <= create().score(artifact).value <= 1
    answer = artifact_answer(artifact)
    assert answer.usage is None or answer.usage.input_tokens >= 0


@given(VALUES)
def test_every_value_equals_itself(value: Any) -> None:
    assert equals(value, value)


def textbook_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, start=1):
        above, row = row, [index]
        for column, against in enumerate(other, start=1):
            row.append(min(row[-1] + 1, above[column] + 1, above[column - 1] + (letter != against)))
    return row[-1]


@given(st.text("abé", max_size=12), st.text("abé", max_size=12))
def test_edit_distance(one: str, other: str) -> None:
    assert edit_distance(one, other) == edit_distance(other, one) == textbook_distance(one, other)
    assert (similarity(one, other) == 1) == (one == other)
