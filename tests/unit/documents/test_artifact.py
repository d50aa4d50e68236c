"""Artifacts: how they are read, their view and their metrics, and how a plain answer becomes one."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.artifact import EvalArtifact, extract_metrics, parse_artifact
from evalharness.documents.artifact_view import artifact_answer, artifact_of, create_artifact_view
from evalharness.domain.transcript import Transcript, Usage
from evalharness.errors import UsageError
from evalharness.values.json_value import MISSING


def completed(node: str, ms: Any = 0, usd: Any = 0, tokens_in: Any = 0, tokens_out: Any = 0) -> dict[str, Any]:
    usage = {"inputTokens": tokens_in, "outputTokens": tokens_out}
    return {"type": "agent:complete", "nodeId": node, "durationMs": ms, "totalCostUsd": usd, "usage": usage}


def artifact(*events: dict[str, Any], **snapshot: Any) -> EvalArtifact:
    return EvalArtifact(run_id="run-1", snapshot=snapshot, events=events)


def flow(start: Any, end: Any, status: str = "complete") -> tuple[dict[str, Any], ...]:
    return (
        {"type": "flow:start", "flowName": "review", "timestamp": start},
        {"type": "flow:complete", "flowName": "review", "timestamp": end, "status": status},
    )


class TestReading:
    def test_both_spellings_are_read_and_unknown_keys_ignored(self) -> None:
        written = {"snapshot": {"outputs": {}}, "events": [], "more": 1}
        assert parse_artifact({**written, "runId": "r"}) == parse_artifact({**written, "run_id": "r"})

    def test_a_snapshot_is_json_and_has_what_is_documented_of_it(self) -> None:
        written = {
            "runId": "r",
            "status": "complete",
            "outputs": {"main": {"text": "hi"}},
            "nodeStatus": {"main": "done"},
        }
        snapshot = parse_artifact({"snapshot": written, "events": []}).snapshot
        assert snapshot == written
        assert snapshot["outputs"] == snapshot.outputs == {"main": {"text": "hi"}}
        assert (snapshot.run_id, snapshot.status, snapshot.node_status) == ("r", "complete", {"main": "done"})
        empty = (snapshot.state, snapshot.edge_status, snapshot.loop_counters, snapshot.inbox, snapshot.agent_sessions)
        assert empty == ({}, {}, {}, [], {})
        assert parse_artifact({"snapshot": {"outputs": 5}, "events": []}).snapshot.outputs == {}

    @pytest.mark.parametrize(
        ("written", "problem"),
        [
            ([], "a mapping with snapshot and events"),
            ({}, "snapshot is missing; events is missing"),
            ({"snapshot": {}}, "events is missing"),
            ({"snapshot": [], "events": []}, "snapshot must be a mapping"),
            ({"snapshot": {}, "events": {"a": 1}}, "events must be a list"),
            ({"snapshot": {}, "events": [{}, "x"]}, r"events\.1 must be a mapping"),
            ({"snapshot": {}, "events": [], "runId": 5}, "runId must be text"),
        ],
    )
    def test_a_wrong_shape_says_what_is_wrong(self, written: Any, problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            parse_artifact(written)


class TestMetrics:
    def test_agents_add_up_and_are_kept_by_node(self) -> None:
        metrics = extract_metrics(
            artifact(completed("coder", 2000, 0.02, 500, 200), completed("reviewer", 1500, 0.015, 400, 100))
        )
        total = metrics.total
        assert (total.duration_ms, total.total_cost_usd) == (3500, 0.035)
        assert (total.input_tokens, total.output_tokens, total.invocations) == (900, 300, 2)
        assert metrics.by_node["coder"].duration_ms == 2000
        assert metrics.by_node["reviewer"].output_tokens == 100

    def test_invocations_in_all_are_those_of_the_nodes(self) -> None:
        """A node with an agent ran when its agent completed, any other when it was started or completed."""
        events = (
            *({"type": "node:start", "nodeId": node} for node in ("coder", "format", "format", "stuck")),
            {"type": "agent:start", "nodeId": "coder"},
            {"type": "agent:start", "nodeId": "stuck"},
            completed("coder", 5),
            {"type": "node:complete", "nodeId": "coder"},
            {"type": "node:complete", "nodeId": "format"},
            {"type": "agent:complete", "durationMs": 7},
        )
        view = create_artifact_view(artifact(*events))
        assert {node: each.invocations for node, each in view.metrics.by_node.items()} == {"coder": 1, "format": 2}
        assert view.at("metrics.total.invocations") == 3
        assert view.at("metrics.total.durationMs") == 12
        without_agents = extract_metrics(artifact(*flow(0, 9), {"type": "node:start", "nodeId": "format"}))
        assert (without_agents.total.invocations, without_agents.total.duration_ms) == (1, 9)

    def test_the_workflows_time_counts_only_where_no_agent_completed(self) -> None:
        """The documented time is the sum of the agents' times; the original had nothing else."""
        assert extract_metrics(artifact(*flow(100, 5100), completed("coder", 900))).total.duration_ms == 900
        assert extract_metrics(artifact(*flow(100, 5100))).total.duration_ms == 5000
        assert extract_metrics(artifact()).total.duration_ms == 0

    def test_a_workflow_may_start_at_0(self) -> None:
        """The original took a timestamp of 0 for a missing one."""
        workflow = extract_metrics(artifact(*flow(0, 40))).workflow
        assert (workflow.started_at, workflow.ended_at, workflow.duration_ms) == (0, 40, 40)

    @pytest.mark.parametrize("odd", [None, "5", -3, float("nan"), float("inf"), 10**400, True, [], {}])
    def test_what_is_not_a_number_counts_as_nothing(self, odd: Any) -> None:
        """The original raised on malformed usage."""
        events = (completed("coder", odd, odd, odd, odd), {**completed("coder", 7), "usage": odd}, *flow(odd, odd))
        total = extract_metrics(artifact(*events)).total
        assert (total.duration_ms, total.total_cost_usd, total.input_tokens, total.output_tokens) == (7, 0, 0, 0)

    def test_snake_case_events_are_read_too(self) -> None:
        event = {
            "type": "agent:complete",
            "node_id": "coder",
            "duration_ms": 5,
            "total_cost_usd": 0.5,
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }
        assert extract_metrics(artifact(event)) == extract_metrics(artifact(completed("coder", 5, 0.5, 3, 4)))


class TestView:
    VIEW = create_artifact_view(
        artifact(
            completed("coder", 5),
            {"type": "agent:error", "nodeId": "coder", "message": "boom"},
            outputs={"a": [{"b": "x"}, None], "main": {"text": "hi"}, "primaryOutput": 0},
            state={"step": 2},
        )
    )

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("outputs.main.text", "hi"),
            ("outputs.a.0.b", "x"),
            ("outputs.a.1", None),
            ("outputs.a.length", 2),
            ("outputs.main.text.length", MISSING),
            ("outputs.a.2", MISSING),
            ("outputs.a.-1", MISSING),
            ("outputs.a.1.b", MISSING),
            ("outputs.nobody", MISSING),
            ("nobody", MISSING),
            ("", MISSING),
            ("state.step", 2),
            ("runId", "run-1"),
            ("metrics.byNode.coder.durationMs", 5),
            ("metrics.by_node.coder.duration_ms", 5),
            ("metrics.workflow.durationMs", MISSING),
            ("errors.nodeErrors.coder.0", "boom"),
            ("errors.messages", MISSING),
            ("__class__", MISSING),
        ],
    )
    def test_paths(self, path: str, value: Any) -> None:
        assert self.VIEW.at(path) == value

    def test_metrics_and_errors_are_json_as_documented(self) -> None:
        """They used to be Python's own objects, printed as such."""
        node = {"durationMs": 5, "totalCostUsd": 0, "inputTokens": 0, "outputTokens": 0, "invocations": 1}
        assert self.VIEW.at("metrics.byNode") == {"coder": node}
        assert self.VIEW.at("metrics") == {"workflow": {}, "total": node, "byNode": {"coder": node}}
        assert self.VIEW.at("errors") == {"nodeErrors": {"coder": ["boom"]}, "flowErrors": []}

    def test_the_json_of_an_artifact_is_looked_at_like_one(self) -> None:
        written = {"runId": "r", "snapshot": {"outputs": {"a": 1}}, "events": [completed("coder", 5)]}
        assert create_artifact_view(written) == create_artifact_view(parse_artifact(written))
        assert extract_metrics(written).total.duration_ms == 5
        with pytest.raises(UsageError, match="not an artifact: events is missing"):
            create_artifact_view({"snapshot": {}})

    def test_the_primary_output_is_at_the_top_even_when_it_is_falsy(self) -> None:
        """Documented as a top-level path, but only `outputs.primaryOutput` existed, and not for 0."""
        assert self.VIEW.at("primaryOutput") == 0
        assert self.VIEW.at("outputs.primaryOutput") == 0
        assert self.VIEW.primary_output == 0
        assert create_artifact_view(artifact(outputs={})).at("primaryOutput") is MISSING

    def test_errors_by_node(self) -> None:
        """The original saw only agent:error. A node that repeats its agent's error does not add a second one."""
        errors = create_artifact_view(
            artifact(
                {"type": "agent:error", "nodeId": "coder", "message": "boom"},
                {"type": "node:error", "nodeId": "coder", "error": {"message": "boom"}},
                {"type": "node:error", "nodeId": "disk", "error": "full"},
                {"type": "node:error", "nodeId": "odd", "error": 5},
                *flow(0, 1, "failed"),
            )
        ).errors
        assert errors.node_errors == {"coder": ["boom"], "disk": ["full"], "odd": ["unknown error"]}
        assert errors.messages == ["boom", "full", "unknown error"]

    def test_a_failed_workflow_is_an_error_where_no_node_said_why(self) -> None:
        assert create_artifact_view(artifact(*flow(0, 1, "failed"))).errors.messages == ["workflow review failed"]

    @pytest.mark.parametrize("odd", [None, 5, "x", [1]])
    def test_an_odd_snapshot_has_nothing_in_it(self, odd: Any) -> None:
        view = create_artifact_view(artifact({"type": odd, "nodeId": odd}, {}, outputs=odd, state=odd))
        assert (view.outputs, view.state, view.errors.messages) == ({}, {}, [])


class TestAnswers:
    def test_a_text_is_the_output_of_the_node_main(self) -> None:
        plain = artifact_of(Transcript(output="hi", usage=Usage(input_tokens=3, output_tokens=4), cost_usd=0.5), 0.25)
        assert plain.outputs == {"main": {"text": "hi"}}
        node = extract_metrics(plain).by_node["main"]
        assert (node.duration_ms, node.total_cost_usd, node.input_tokens, node.output_tokens) == (250, 0.5, 3, 4)

    @pytest.mark.parametrize(
        ("output", "outputs"),
        [
            ({"main": {"text": "hi"}}, {"main": {"text": "hi"}}),
            ({"outputs": {"a": 1}, "more": 2}, {"a": 1}),
            ({"outputs": "none"}, {"outputs": "none"}),
            ([1, 2.0], {"main": {"text": "[1,2]"}}),
            (None, {"main": {"text": ""}}),
        ],
    )
    def test_other_answers_are_outputs_themselves(self, output: Any, outputs: Any) -> None:
        assert artifact_of(Transcript(output=output), 0).outputs == outputs

    def test_what_an_agent_said_of_itself_is_not_said_again(self) -> None:
        events = (completed("coder", 10),)
        assert artifact_of(Transcript(output="hi", events=events, cost_usd=3.0), 99).events == events

    def test_a_workflow_without_agents_is_charged_its_own_time_else_the_trials(self) -> None:
        timed = artifact_of(Transcript(snapshot={"outputs": {}}, events=flow(10, 30)), 9)
        assert extract_metrics(timed).total.duration_ms == 20
        untimed = artifact_of(Transcript(snapshot={"runId": "r"}, usage=Usage(input_tokens=7)), 9)
        assert extract_metrics(untimed).total.duration_ms == 9000
        assert extract_metrics(untimed).total.input_tokens == 7
        assert extract_metrics(untimed).by_node == {}
        assert untimed.run_id == "r"

    def test_an_artifact_is_an_answer(self) -> None:
        answer = artifact_answer(
            artifact(completed("a", 1, 0.5, 3, 4), completed("b", 1, 0.25, 1, 1), outputs={"a": 1})
        )
        assert answer.output == {"a": 1}
        assert answer.usage == Usage(input_tokens=4, output_tokens=5)
        assert answer.cost_usd == 0.75
        assert artifact_of(Transcript(**answer.given()), 0).run_id == "run-1"
        assert artifact_answer(artifact(outputs={"a": 1, "primaryOutput": "hi"})).output == "hi"

    def test_what_no_agent_reported_is_not_made_up(self) -> None:
        answer = artifact_answer(artifact({"type": "agent:complete", "nodeId": "a"}))
        assert (answer.usage, answer.cost_usd) == (None, None)
