"""The view of an artifact: its outputs, state, metrics and errors by node, and the paths that lead to them.

Nothing an artifact holds can make this raise: what has the wrong shape counts as not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from pydantic.alias_generators import to_camel, to_snake

from evalharness.documents.artifact import (
    AGENT_COMPLETE,
    PRIMARY_OUTPUT,
    Artifact,
    EvalArtifact,
    Event,
    Metrics,
    RunSnapshot,
    as_artifact,
    extract_metrics,
    node_of,
    read_metrics,
    said,
    workflow_metrics,
)
from evalharness.domain.transcript import Answer, Transcript, Usage
from evalharness.values.json_value import MISSING, Json, step_into


@dataclass(frozen=True, slots=True)
class Errors:
    """`flow_errors` holds what the workflow alone knows: that it failed, where no node said why."""

    node_errors: dict[str, list[str]] = field(default_factory=dict)
    flow_errors: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        return [*(message for messages in self.node_errors.values() for message in messages), *self.flow_errors]


@dataclass(frozen=True, slots=True)
class ArtifactView:
    run_id: str
    outputs: dict[str, Json]
    state: dict[str, Json]
    metrics: Metrics
    errors: Errors
    primary_output: Json = None

    def at(self, path: str) -> Any:
        """What stands at `outputs.a.0.b`, `state.x`, `metrics.byNode.coder.durationMs`, `primaryOutput`, as JSON.

        MISSING where the path leads nowhere.
        """
        steps = path.split(".")
        if steps[0] in (PRIMARY_OUTPUT, "primary_output"):
            return value_at(self.outputs, [PRIMARY_OUTPUT, *steps[1:]])
        found = value_at(self, steps)
        return _as_json(found) if steps[0] in ("metrics", "errors") else found


def create_artifact_view(artifact: Artifact) -> ArtifactView:
    artifact = as_artifact(artifact)
    return ArtifactView(
        run_id=artifact.run_id,
        outputs=artifact.outputs,
        state=artifact.state,
        metrics=extract_metrics(artifact),
        errors=_errors(artifact.events),
        primary_output=artifact.outputs.get(PRIMARY_OUTPUT),
    )


def _errors(events: Iterable[Event]) -> Errors:
    by_node: dict[str, list[str]] = {}
    failed_flows = []
    for event in events:
        kind = event.get("type")
        if kind in ("agent:error", "node:error"):
            message = _message(event)
            messages = by_node.setdefault(node_of(event), [])
            if kind == "agent:error" or message not in messages:  # a node repeats what its agent said
                messages.append(message)
        elif kind == "flow:complete" and event.get("status") == "failed":
            name = said(event, "flowName", "flow_name")
            failed_flows.append(f"workflow {name} failed" if isinstance(name, str) and name else "the workflow failed")
    return Errors(by_node, [] if by_node else failed_flows)


def _message(event: Event) -> str:
    for found in (event.get("message"), event.get("error")):
        text = found.get("message") if isinstance(found, Mapping) else found
        if isinstance(text, str) and text:
            return text
    return "unknown error"


def value_at(value: Any, steps: Iterable[str]) -> Any:
    """Follow the steps through mappings, lists (by index, or their `length`) and the records of a view."""
    for step in steps:
        if is_dataclass(value):
            value = _in_record(value, step)
        elif step == "length" and isinstance(value, list | tuple):
            value = len(value)
        else:
            value = step_into(value, step)
    return value


def output_at(artifact: Artifact, path: str) -> Any:
    """What stands at a path inside the outputs: `main.text`; `outputs.main.text` is the same place. Or MISSING."""
    outputs, steps = as_artifact(artifact).outputs, path.split(".")
    found = value_at(outputs, steps)
    return value_at(outputs, steps[1:]) if found is MISSING and steps[0] == "outputs" else found


def _in_record(record: Any, step: str) -> Any:
    name = to_snake(step)
    value = getattr(record, name) if name in {each.name for each in fields(record)} else None
    return MISSING if value is None else value


def _as_json(value: Any) -> Any:
    """The records of a view as JSON writes them; what is not known is left out."""
    if is_dataclass(value):
        known = {each.name: getattr(value, each.name) for each in fields(value)}
        return {to_camel(name): _as_json(item) for name, item in known.items() if item is not None}
    return {key: _as_json(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def compact_text(value: Any) -> str:
    """A text as it is, anything else as compact JSON, in which a whole number has no `.0`.

    Raises RecursionError or ValueError for what has no text: a value nested too deeply, a number of 5,000 digits.
    """
    if isinstance(value, str):
        return value
    return json.dumps(_without_point(value), ensure_ascii=False, separators=(",", ":"), default=str)


def _without_point(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _without_point(item) for key, item in value.items()}
    return [_without_point(item) for item in value] if isinstance(value, list | tuple) else value


# Between answers and artifacts: any answer can be looked at as an artifact, and an artifact is an answer.

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
    snapshot = RunSnapshot(snapshot)
    return EvalArtifact(run_id=snapshot.run_id, snapshot=snapshot, events=events)


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


def reported_duration_s(answer: Answer) -> float | None:
    """How long a target says that it took: what it says itself, else its agents in all, else its workflow.

    None where nothing says so: an agent that completed need not say how long it took.
    """
    if answer.duration_s is not None or not answer.events:
        return answer.duration_s
    completed = [event for event in answer.events if event.get("type") == AGENT_COMPLETE]
    if any(said(event, "durationMs", "duration_ms") is not None for event in completed):
        return read_metrics(completed).total.duration_ms / 1000
    workflow_ms = workflow_metrics(answer.events).duration_ms
    return None if workflow_ms is None else workflow_ms / 1000


def artifact_answer(artifact: EvalArtifact) -> Answer:
    """Its primary output, else all its outputs; usage and cost as far as its agents report them."""
    outputs, snapshot = artifact.outputs, artifact.snapshot
    if artifact.run_id and said(snapshot, "runId", "run_id") is None:
        snapshot = RunSnapshot(snapshot, runId=artifact.run_id)
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
