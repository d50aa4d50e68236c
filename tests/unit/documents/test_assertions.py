"""The nine assertions: what they find, their messages, and how they are read."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.artifact_view import artifact_of
from evalharness.documents.assertions import (
    ASSERTIONS,
    AssertionResult,
    OutputEquals,
    artifact_for,
    equals,
    evaluate_assertions,
    parse_assertion,
)
from evalharness.domain.transcript import Transcript
from evalharness.errors import UsageError

NAN = float("nan")
OUTPUTS = {
    "main": {"text": "Hello world", "count": 5, "none": None, "yes": True, "whole": 2.0, "data": {"a": 1.0, "b": "é"}},
    "deep": {"er": {"est": 42}},
    "primaryOutput": "done",
}


def completed(node: str, **amounts: Any) -> dict[str, Any]:
    return {"type": "agent:complete", "nodeId": node, **amounts}


def evaluated(assertion: dict[str, Any], *events: dict[str, Any]) -> AssertionResult:
    [result] = evaluate_assertions(EvalArtifact(snapshot={"outputs": OUTPUTS}, events=events), [assertion])
    return result


@pytest.mark.parametrize(
    ("path", "value", "passed"),
    [
        ("outputs.main.text", "world", True),
        ("outputs.main.text", "", True),
        ("outputs.main.text", "goodbye", False),
        ("outputs.main.text", "hello", False),
        ("outputs.main.count", "5", True),
        ("outputs.main.none", "null", True),
        ("outputs.main.yes", "true", True),
        ("outputs.main.whole", "2", True),
        ("outputs.main.whole", ".", False),
        ("outputs.main.data", '{"a":1,"b":"é"}', True),
        ("primaryOutput", "done", True),
    ],
)
def test_contains(path: str, value: str, passed: bool) -> None:
    """Upper and lower case differ; other values are compact JSON."""
    result = evaluated({"type": "output.contains", "path": path, "value": value})
    assert result.passed is passed
    assert bool(result.message) is not passed


@pytest.mark.parametrize("type_", ["output.contains", "output.equals"])
def test_a_path_that_leads_nowhere_is_not_found(type_: str) -> None:
    result = evaluated({"type": type_, "path": "outputs.nobody.text", "value": ""})
    assert (result.passed, result.actual) == (False, None)
    assert result.message == 'Path "outputs.nobody.text" not found'


def test_equals() -> None:
    assert evaluated({"type": "output.equals", "path": "outputs.deep.er.est", "value": 42}).passed
    assert evaluated({"type": "output.equals", "path": "outputs.main.data", "value": {"b": "é", "a": 1}}).passed
    wrong = evaluated({"type": "output.equals", "path": "outputs.main.count", "value": 10})
    assert (wrong.passed, wrong.actual) == (False, 5)
    assert wrong.message == '"outputs.main.count" is 5, expected 10'


def test_no_value_means_that_nothing_is_there_and_null_is_a_value() -> None:
    assert evaluated({"type": "output.equals", "path": "outputs.nobody"}).passed
    assert not evaluated({"type": "output.equals", "path": "outputs.main.count"}).passed
    assert not evaluated({"type": "output.equals", "path": "outputs.main.none"}).passed
    assert evaluated({"type": "output.equals", "path": "outputs.main.none", "value": None}).passed
    assert not evaluated({"type": "output.equals", "path": "outputs.nobody", "value": None}).passed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, "1", False),
        (1, True, False),
        (0, False, False),
        (None, None, True),
        (None, 0, False),
        ("", None, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([{"a": [True]}], [{"a": [1]}], False),
        # The original took these two for equal, and NaN for different from itself.
        ({"a": None}, {"b": 1}, False),
        (NAN, float("nan"), True),
        ([NAN], [1.0], False),
    ],
)
def test_equality_is_strict_all_the_way_down(one: Any, other: Any, same: bool) -> None:
    assert equals(one, other) is same
    assert equals(other, one) is same


@pytest.mark.parametrize(
    ("type_", "limit", "amounts", "actual", "message"),
    [
        ("metric.latency_ms.max", 30000, {"durationMs": 45000}, 45000, "Latency 45000 ms exceeds 30000 ms"),
        (
            "metric.latency_ms.max",
            100,
            {"durationMs": 319.880153999975},
            319.880153999975,
            "Latency 319.9 ms exceeds 100 ms",
        ),
        ("metric.latency_ms.max", 100, {"durationMs": 100.004}, 100.004, "Latency 100.004 ms exceeds 100 ms"),
        ("metric.total_cost_usd.max", 1.0, {"totalCostUsd": 2.5}, 2.5, "Cost $2.5000 exceeds $1.0000"),
        ("metric.tokens.input.max", 10000, {"usage": {"inputTokens": 50000}}, 50000, "Input tokens 50000 exceed 10000"),
        (
            "metric.tokens.output.max",
            5000,
            {"usage": {"outputTokens": 25000}},
            25000,
            "Output tokens 25000 exceed 5000",
        ),
    ],
)
def test_budgets(type_: str, limit: float, amounts: dict[str, Any], actual: float, message: str) -> None:
    """A value exactly at the limit is allowed."""
    result = evaluated({"type": type_, "value": limit}, completed("coder", **amounts))
    assert (result.passed, result.actual, result.message) == (False, actual, message)
    allowed = evaluated({"type": type_, "value": actual}, completed("coder", **amounts))
    assert (allowed.passed, allowed.message) == (True, "")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (0.3, ""),
        (0.3 * (1 - 1e-12), ""),
        (0.29999, "Cost $0.3 exceeds $0.29999"),
        (0.29, "Cost $0.3000 exceeds $0.2900"),
        (0, "Cost $0.3000 exceeds $0.0000"),
    ],
)
def test_rounding_alone_exceeds_no_limit(limit: float, message: str) -> None:
    """0.1 + 0.2 is slightly more than 0.3, and used to be reported as `$0.3000 exceeds $0.3000`."""
    spent = (completed("a", totalCostUsd=0.1), completed("b", totalCostUsd=0.2))
    assert evaluated({"type": "metric.total_cost_usd.max", "value": limit}, *spent).message == message


def test_no_errors_shows_how_many_and_the_first_three() -> None:
    events = [{"type": "agent:error", "nodeId": "coder", "message": f"e{number}"} for number in range(4)]
    result = evaluated({"type": "behavior.no_errors"}, *events)
    assert (result.passed, result.actual) == (False, ["e0", "e1", "e2", "e3"])
    assert result.message == "4 errors: e0; e1; e2..."
    assert evaluated({"type": "behavior.no_errors"}, completed("coder")).passed


@pytest.mark.parametrize(
    "event",
    [
        {"type": "node:error", "nodeId": "disk", "error": "full"},
        {"type": "flow:complete", "flowName": "review", "status": "failed"},
    ],
)
def test_no_errors_sees_nodes_and_workflows_that_failed(event: dict[str, Any]) -> None:
    """Such runs passed in the original."""
    assert not evaluated({"type": "behavior.no_errors"}, event).passed


def test_node_executed() -> None:
    """A node without an agent was executed if it was started; the original wanted agent:complete."""
    wanted = {"type": "behavior.node_executed", "nodeId": "coder"}
    assert evaluated(wanted, completed("coder")).passed
    assert evaluated(wanted, {"type": "node:start", "nodeId": "coder"}).passed
    assert evaluated(wanted, {"type": "node:complete", "nodeId": "coder"}).passed
    assert not evaluated(wanted, {"type": "node:skipped", "nodeId": "coder"}).passed
    unfinished = ({"type": "node:start", "nodeId": "coder"}, {"type": "agent:start", "nodeId": "coder"})
    assert not evaluated(wanted, *unfinished).passed
    result = evaluated(wanted, completed("reviewer"))
    assert (result.passed, result.message) == (False, 'Node "coder" was not executed')


def test_node_invocations() -> None:
    """An unknown node was invoked 0 times."""
    limit = {"type": "behavior.node_invocations.max", "nodeId": "coder", "value": 2}
    result = evaluated(limit, *[completed("coder")] * 3)
    assert (result.passed, result.actual) == (False, 3)
    assert evaluated(limit, *[completed("coder")] * 2).passed
    assert evaluated(limit, completed("reviewer")).passed
    assert not evaluated(limit, *[{"type": "node:start", "nodeId": "coder"}] * 3).passed


def test_every_assertion_is_looked_at_in_the_given_order() -> None:
    assertions: list[dict[str, Any]] = [
        {"type": "output.equals", "path": "outputs.a", "value": 1},
        {"type": "behavior.no_errors"},
        {"type": "behavior.node_executed", "nodeId": "coder"},
    ]
    results = evaluate_assertions({"runId": "r", "snapshot": {"outputs": {}}, "events": []}, assertions)
    assert [result.passed for result in results] == [False, True, False]
    assert [result.assertion.model_dump(by_alias=True) for result in results] == assertions


def test_what_cannot_be_read_fails_with_a_reason_and_raises_nothing() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    artifact = EvalArtifact(snapshot={"outputs": {"deep": nested, "long": 10**5000}}, events=())
    for path in ("outputs.deep", "outputs.long"):
        [result] = evaluate_assertions(artifact, [{"type": "output.contains", "path": path, "value": "x"}])
        assert not result.passed
        assert "cannot be read" in result.message


def test_keys_that_an_assertion_does_not_know_are_passed_over_as_in_a_dataset() -> None:
    assert evaluated({"type": "behavior.no_errors", "nodeId": "a", "comment": 5}).passed


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"type": "output.contain"}, "assertion 0: unknown assertion 'output.contain'. Did you mean 'output.contains'"),
        ({"type": []}, "assertion 0: unknown assertion"),
        ({"type": "metric.latency_ms.max"}, r"assertion 0 \(metric.latency_ms.max\): value: is missing"),
        ({"type": "metric.latency_ms.max", "value": 0}, "value: must be greater than 0"),
        (5, "assertion 0: an assertion must be a mapping with a type"),
    ],
)
def test_what_is_not_an_assertion_is_a_wrong_call(written: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        evaluated(written)


class TestReading:
    def test_there_are_nine(self) -> None:
        assert len(ASSERTIONS) == 9
        assert set(ASSERTIONS) >= {"output.contains", "metric.tokens.input.max", "behavior.node_invocations.max"}

    @pytest.mark.parametrize(
        ("written", "problem"),
        [
            ({"type": "output.contain", "path": "a", "value": "b"}, "Did you mean 'output.contains'"),
            ({"path": "a"}, "unknown assertion None"),
            ("behavior.no_errors", "a mapping with a type"),
            ({"type": "output.contains", "path": "", "value": "b"}, "path"),
            ({"type": "output.contains", "path": "a", "value": 5}, "value"),
            ({"type": "metric.latency_ms.max", "value": 0}, "value"),
            ({"type": "metric.latency_ms.max", "value": "30"}, "value"),
            ({"type": "metric.latency_ms.max", "value": True}, "value"),
            ({"type": "metric.total_cost_usd.max", "value": -0.1}, "value"),
            ({"type": "metric.tokens.input.max", "value": 1.5}, "value"),
            ({"type": "metric.tokens.output.max", "value": 0}, "value"),
            ({"type": "behavior.node_executed"}, "nodeId"),
            ({"type": "behavior.node_invocations.max", "nodeId": "a"}, "value"),
            ({"type": "behavior.no_errors", "nodeId": "a"}, "nodeId"),
        ],
    )
    def test_what_is_none_is_refused(self, written: Any, problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            parse_assertion(written)

    def test_spellings(self) -> None:
        assert parse_assertion({"type": "metric.total_cost_usd.max", "value": 0})
        assert parse_assertion({"type": "metric.tokens.input.max", "value": 10.0}).model_dump()["value"] == 10
        one = parse_assertion({"type": "behavior.node_executed", "nodeId": "a"})
        assert one == parse_assertion({"type": "behavior.node_executed", "node_id": "a"})

    def test_a_value_that_was_not_given_is_not_written_down_as_null(self) -> None:
        assert "value" not in OutputEquals(path="a").model_dump()
        assert OutputEquals(path="a", value=None).model_dump()["value"] is None


class TestExamples:
    def test_an_artifact_about_which_all_are_true(self) -> None:
        assertions = [
            parse_assertion(written)
            for written in (
                {"type": "output.contains", "path": "outputs.main.text", "value": "hello"},
                {"type": "output.contains", "path": "outputs.main.text", "value": "world"},
                {"type": "output.equals", "path": "outputs.list.0.id", "value": [1, None]},
                {"type": "output.equals", "path": "outputs.nothing"},
                {"type": "output.equals", "path": "primaryOutput", "value": 0},
                {"type": "output.contains", "path": "state.step", "value": "done"},
                {"type": "behavior.node_executed", "nodeId": "coder"},
                {"type": "behavior.node_invocations.max", "nodeId": "coder", "value": 1},
                {"type": "behavior.no_errors"},
                {"type": "metric.total_cost_usd.max", "value": 0},
            )
        ]
        artifact = artifact_for(assertions)
        assert artifact is not None
        assert artifact.outputs["main"] == {"text": "hello world"}
        assert artifact.outputs["primaryOutput"] == 0

    @pytest.mark.parametrize(
        "written",
        [
            [
                {"type": "output.equals", "path": "outputs.a", "value": 1},
                {"type": "output.equals", "path": "outputs.a", "value": 2},
            ],
            [
                {"type": "output.equals", "path": "outputs.a", "value": {"b": 1}},
                {"type": "output.contains", "path": "outputs.a.c", "value": "d"},
            ],
            [{"type": "output.equals", "path": "metrics.workflow.durationMs", "value": 2}],
        ],
    )
    def test_none_where_they_contradict_each_other(self, written: list[dict[str, Any]]) -> None:
        assert artifact_for([parse_assertion(each) for each in written]) is None


def test_a_plain_answer_can_be_asserted_about() -> None:
    assertions: list[dict[str, Any]] = [
        {"type": "output.contains", "path": "outputs.main.text", "value": "hello"},
        {"type": "metric.latency_ms.max", "value": 500},
        {"type": "behavior.node_executed", "nodeId": "main"},
    ]
    results = evaluate_assertions(artifact_of(Transcript(output="hello you"), duration_s=0.6), assertions)
    assert [result.passed for result in results] == [True, False, True]
