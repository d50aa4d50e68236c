"""Between answers and artifacts: any answer can be looked at as an artifact, and an artifact is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalharness.domain.artifact import AGENT_COMPLETE, PRIMARY_OUTPUT, EvalArtifact, Event, said
from evalharness.domain.artifact_metrics import read_metrics
from evalharness.domain.artifact_view import compact_text
from evalharness.domain.record import Json
from evalharness.domain.transcript import Answer, Transcript, Usage

PLAIN_NODE = "main"
"""A plain answer counts as the output of a workflow of one node."""


def artifact_of(transcript: Transcript, duration_s: float) -> EvalArtifact:
    """What assertions and scorers look at.

    Where no agent said what it took, one event tells what the harness knows of it: usage, cost and time. In the
    artifact of a workflow that event belongs to no node.
    """
    events = transcript.events
    snapshot = transcript.snapshot
    is_plain = snapshot is None
    if snapshot is None:
        snapshot = {"status": "complete", "outputs": _plain_outputs(transcript.output)}
    if not any(event.get("type") == AGENT_COMPLETE for event in events):
        node = {"nodeId": PLAIN_NODE} if is_plain else {}
        events = (*events, {"type": AGENT_COMPLETE, **node, **_taken(transcript, duration_s)})
    run_id = said(snapshot, "runId", "run_id")
    return EvalArtifact(run_id=run_id if isinstance(run_id, str) else "", snapshot=snapshot, events=events)


def _plain_outputs(output: Json) -> dict[str, Json]:
    if not isinstance(output, Mapping):
        return {PLAIN_NODE: {"text": "" if output is None else compact_text(output)}}
    outputs = output.get("outputs")
    return dict(outputs) if isinstance(outputs, Mapping) else dict(output)


def _taken(transcript: Transcript, duration_s: float) -> Event:
    usage = transcript.usage or Usage()
    workflow_ms = read_metrics(transcript.events).workflow.duration_ms
    return {
        "durationMs": duration_s * 1000 if workflow_ms is None else workflow_ms,
        "usage": {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens},
        "totalCostUsd": transcript.cost_usd or 0.0,
    }


def answer_of(artifact: EvalArtifact) -> Answer:
    """Its primary output, else all its outputs; usage and cost as far as its agents told them."""
    outputs, snapshot = artifact.outputs, artifact.snapshot
    if artifact.run_id and said(snapshot, "runId", "run_id") is None:
        snapshot = {**snapshot, "runId": artifact.run_id}
    output = outputs.get(PRIMARY_OUTPUT, outputs)
    return Answer(output=output, snapshot=snapshot, events=artifact.events, **_spent(artifact))


def _spent(artifact: EvalArtifact) -> dict[str, Any]:
    completed = [event for event in artifact.events if event.get("type") == AGENT_COMPLETE]
    total = read_metrics(completed).total
    spent: dict[str, Any] = {}
    if any(isinstance(event.get("usage"), Mapping) for event in completed):
        spent["usage"] = Usage(input_tokens=int(total.input_tokens), output_tokens=int(total.output_tokens))
    if any(said(event, "totalCostUsd", "total_cost_usd") is not None for event in completed):
        spent["cost_usd"] = total.total_cost_usd
    return spent
